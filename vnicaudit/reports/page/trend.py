"""The last audits as a small chart of open problems; those not checked are drawn separately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.base.wording import count
from vnicaudit.model.history import AuditSummary
from vnicaudit.reports.page.coverage import moment
from vnicaudit.reports.table.html import text

_MOST = 60
_HEIGHT = 100
_BAR = 10
_GAP = 2
_LEAST = 30
"""Minimum room in bars, so that a few bars are not stretched over the page."""


def trend_parts(audits: Sequence[AuditSummary]) -> Iterator[str]:
    """A bar for each audit, oldest first, and the same as a table; nothing if there are fewer than
    two."""
    audits = audits[-_MOST:]
    if len(audits) < 2:
        return
    first, last = audits[0], audits[-1]
    label = (
        f"Open problems of {len(audits)} audits: {_known(first):,} on {moment(first.started)}, "
        f"{_known(last):,} on {moment(last.started)}"
    )
    yield f'<section class="trend">\n<h2>The last {len(audits)} audits</h2>\n'
    yield from _chart(audits, label)
    yield '<p class="quiet small"><span class="key key-open">open</span> '
    yield '<span class="key key-stale">open as last read, not checked by that audit</span> '
    yield f"The highest is {max(map(_known, audits)):,}</p>\n"
    yield from _table(audits)
    yield "</section>\n"


def _known(one: AuditSummary) -> int:
    return one.open + one.stale


def _chart(audits: Sequence[AuditSummary], label: str) -> Iterator[str]:
    """Chart of the audits. Widths and heights are attributes, because inline styles are not
    allowed."""
    most = max(1, *map(_known, audits))
    width = max(len(audits), _LEAST) * _BAR
    yield f'<svg class="chart" viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" '
    yield f'role="img" aria-label="{text(label)}">'
    for place, one in enumerate(audits):
        at = place * _BAR
        stale = round(_HEIGHT * one.stale / most, 2)
        met = round(_HEIGHT * one.open / most, 2)
        yield f"<g><title>{text(_told(one))}</title>"
        yield _bar("hit", at, 0, _HEIGHT, _BAR)
        yield _bar("met", at, _HEIGHT - met, met, _BAR - _GAP)
        yield _bar("stale", at, _HEIGHT - met - stale, stale, _BAR - _GAP) + "</g>"
    yield "</svg>\n"


def _bar(kind: str, at: int, top: float, height: float, width: int) -> str:
    if not height:
        return ""
    place = f'x="{at}" y="{round(top, 2)}" width="{width}" height="{height}"'
    return f'<rect class="{kind}" {place}/>'


def _told(one: AuditSummary) -> str:
    unseen = f", {one.stale:,} not checked" if one.stale else ""
    return (
        f"{moment(one.started)}: {count(one.open, 'open problem')}{unseen}; {one.new:,} new, "
        f"{one.reopened:,} reopened, {one.fixed:,} fixed"
    )


_HEADS = ("Audit", "Hosts read", "NICs", "Open", "Not checked", "New", "Reopened", "Fixed")


def _table(audits: Sequence[AuditSummary]) -> Iterator[str]:
    yield "<details><summary>As a table</summary>\n"
    yield '<div class="scroll" role="region" tabindex="0" aria-label="The last audits"><table>\n'
    yield "<thead><tr>" + "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    yield "</tr></thead><tbody>\n"
    for one in reversed(audits):
        hosts = f"{one.ok + one.partial:,} of {one.hosts:,}"
        numbers = (one.nics, one.open, one.stale, one.new, one.reopened, one.fixed)
        cells = "".join(f"<td>{number:,}</td>" for number in numbers)
        yield f'<tr><th scope="row">{text(moment(one.started))}</th><td>{hosts}</td>{cells}</tr>\n'
    yield "</tbody></table></div></details>\n"
