"""The part of the page on what was not checked, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice

from vnicaudit.reports.coverage import percent
from vnicaudit.reports.page.data import PageAbout, PageEnd, PageNote
from vnicaudit.reports.table.html import text

_NOTES = 400


def sample_of(about: PageAbout) -> str:
    """``Only a part was audited: 5% of hosts``; empty if everything was to be audited."""
    coverage = about.coverage
    if coverage is None or coverage.is_whole:
        return ""
    shares = ((coverage.host_share, "hosts"), (coverage.nic_share, "NICs"))
    parts = [f"{percent(share)} of {name}" for share, name in shares if share != 1.0]
    if coverage.limit:
        parts.append(f"hosts that match {coverage.limit}")
    seed = "" if coverage.seed is None else f" (seed {coverage.seed})"
    return f"Only a part was audited: {', '.join(parts)}{seed}. All numbers are for that part."


def coverage_parts(about: PageAbout, end: PageEnd) -> Iterator[str]:
    """The section as HTML, in pieces."""
    yield '<section>\n<h1 class="plain">What was not checked, and why</h1>\n'
    sample = sample_of(about)
    yield f'<p class="notice">{text(sample)}</p>\n' if sample else ""
    notes = [*unread_hosts(end), *end.notes]
    if not notes and not sample:
        yield "<p>Everything named was read and judged.</p>\n"
    for kind, title in _TITLES.items():
        yield from _notes(title, [note for note in notes if note.kind == kind])
    yield from _rules("Rules skipped", end.rules_left_out)
    yield from _rules("Rules checked", end.rules_asked)
    yield "</section>"


_TITLES = {
    "not read": "Not read", "crashed": "Not judged: a rule failed", "not judged": "Not judged",
    "note": "Notes",
}  # fmt: skip


def _rules(title: str, rules: Sequence[str]) -> Iterator[str]:
    if rules:
        yield f'<h2>{title} <span class="quiet small">{len(rules):,}</span></h2>\n'
        yield f"<p>{text(', '.join(rules))}</p>\n"


def unread_hosts(end: PageEnd) -> Iterator[PageNote]:
    """Hosts that could not be read, so that their last state is shown. Hosts excluded from this
    audit are counted in a note of the audit."""
    for host in end.hosts:
        if host.stale_since and host.was_tried:
            message = f"{host.error or 'not read'}; shown as read on {moment(host.stale_since)}"
            yield PageNote("not read", host.name, message)


def _notes(title: str, notes: list[PageNote]) -> Iterator[str]:
    if not notes:
        return
    yield f'<h2>{text(title)} <span class="quiet small">{len(notes):,}</span></h2>\n'
    yield '<ul class="notes">\n'
    for note in islice(notes, _NOTES):
        place = f"<code>{text(note.place)}</code> " if note.place else ""
        yield f"<li>{place}{text(note.message)}</li>\n"
    if (more := len(notes) - _NOTES) > 0:
        yield f"<li>{more:,} more: the JSON report has each</li>\n"
    yield "</ul>\n"


def moment(stamp: str) -> str:
    """``26 Nov 2026 11:20 UTC``; anything that is not a time stamp is unchanged."""
    try:
        read = datetime.fromisoformat(stamp.replace("Z", "+00:00")).astimezone(timezone.utc)
    except ValueError:
        return stamp
    return f"{read.day} {_MONTHS[read.month - 1]} {read:%Y %H:%M} UTC"


_MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
