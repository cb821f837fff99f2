"""A ranking for a terminal: for each change its rank, place, reasons and fix."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.model.ranking import ChangePlace, RankedChange, Ranking
from vnicaudit.reports.nics.text import ARROW
from vnicaudit.reports.safe import Paint, Piece, encode, safe, with_lead, wrap
from vnicaudit.reports.writers import Options

_RULES = 3
"""Maximum rules to name; beyond that, only their number."""


def ranking_text(ranking: Ranking, options: Options) -> Iterator[str]:
    """The ranked changes, followed by a summary."""
    width = len(str(len(ranking.changes)))
    paint = Paint(color=options.color)
    for one in ranking.changes:
        yield from _change(one, width, options, paint)
    for note in ranking.notes:
        yield wrap(safe(f"Note: {note}"), options.width, "", "  ")
    yield wrap(safe(_summary(ranking)), options.width, "", "  ")


def _change(one: RankedChange, width: int, options: Options, paint: Paint) -> Iterator[str]:
    indent = " " * (width + 2)
    lead = f"{one.rank:>{width}}  "
    head = f"{change_title(one)}{change_place(one)}  {_rules(one)}"
    severity = Piece(f"{one.severity}  ", f"{paint(one.severity, one.severity)}  ")
    yield with_lead(severity, safe(head), options.width, lead, indent)
    yield wrap(safe(one.reason), options.width, indent, f"{indent}  ")
    if one.fix:
        yield wrap(safe(f"Fix: {one.fix}"), options.width, indent, f"{indent}  ")
    yield "\n"


def change_title(one: RankedChange) -> str:
    """``model → virtio``; the name of the rule if no change can be proposed."""
    if one.field is None:
        return one.names[0]
    return f"{one.field} {ARROW} {'not set' if one.value is None else one.value}"


def change_place(one: RankedChange) -> str:
    """`` in web01 on kvm7``; `` in 40 places``."""
    if one.places > 1:
        return f" in {one.places:,} places on {count(one.hosts, 'host')}"
    return f" in {_place(one.place)}"


def _place(place: ChangePlace) -> str:
    name = place.name or place.id
    if place.kind in ("domain", "server"):
        return f"{name} on {place.host}" if place.host else name
    return f"{place.kind} {name}"


def _rules(one: RankedChange) -> str:
    named = [f"{rule} {name}" for rule, name in zip(one.rules, one.names, strict=True)]
    more = f" and {len(named) - _RULES} more" if len(named) > _RULES else ""
    return f"{', '.join(named[:_RULES])}{more}"


def _summary(ranking: Ranking) -> str:
    """``2 of 40 changes, for 65 problems on 3 of 3 hosts, audited 2026-11-26T02:00:14Z``."""
    if not ranking.candidates:
        return f"Nothing to change on {count(ranking.hosts, 'host')}, audited {ranking.started}"
    shown = f"{len(ranking.changes):,} of {count(ranking.candidates, 'change')}"
    problems = count(ranking.findings, "problem")
    hosts = f"{ranking.hosts:,} of {count(ranking.of_hosts, 'host')}"
    return f"{shown}, for {problems} on {hosts}, audited {ranking.started}"


# ``vnicaudit.top/1``.


def ranking_json(ranking: Ranking) -> str:
    """The document, indented, with a line break at its end."""
    return msgspec.json.format(encode(ranking), indent=1) + "\n"
