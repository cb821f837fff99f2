"""A ranking for a terminal: for each change its rank, place, reasons and fix."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.model.ranking import ChangePlace, RankedChange, Ranking
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.nics import ARROW
from vnicaudit.reports.safe import encode, safe, wrap
from vnicaudit.reports.writers import Options

_RULES = 3
"""Maximum rules to name; beyond that, only their number."""


def ranking_text(ranking: Ranking, options: Options) -> Iterator[str]:
    """The ranked changes, followed by a summary."""
    width, pen = len(str(len(ranking.changes))), Pen(options)
    for one in ranking.changes:
        severity = f"{pen.paint(one.severity, one.severity)}  "
        head = safe(f"{change_title(one)}{change_place(one)}  {_rules(one)}")
        indent = width + 2
        yield wrap(f"{severity}{head}", pen.width, f"{one.rank:>{width}}  ", " " * indent)
        yield pen.say(one.reason, indent)
        yield pen.say(f"Fix: {one.fix}", indent) if one.fix else ""
        yield "\n"
    yield from (pen.say(f"Note: {note}") for note in ranking.notes)
    yield pen.say(_summary(ranking))


def change_title(one: RankedChange) -> str:
    """``model → virtio``; the name of the rule if no change can be proposed."""
    if one.field is None:
        return one.names[0]
    return new_value(one.field, one.value)


def new_value(field: str, value: str | None) -> str:
    """``model → virtio``."""
    if (field, value) == ("driver_name", None):
        return "remove <driver name='qemu'>: vhost on"
    return f"remove {field}" if value is None else f"{field} {ARROW} {value}"


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
