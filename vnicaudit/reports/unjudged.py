"""Words for what an audit could not read or not judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE
from vnicaudit.model.report import TargetResult
from vnicaudit.reports.tally import Tally

_REASONS = 5
"""Maximum reasons shown for subjects for which no rule was judged."""


class Unread(msgspec.Struct, frozen=True):
    """Something that could not be read. ``place``: ``file:line`` if known, else the target."""

    place: str
    message: str
    file: str | None = None
    line: int | None = None


def unread_of(target: TargetResult) -> Iterator[Unread]:
    """Everything of a target that could not be read, as far as it was recorded."""
    named = target.name or target.target
    for error in target.errors:
        of_host = target.name and target.status == "failed"
        place = named if of_host or error.file is None else error.file
        shown = place if error.line is None else f"{place}:{error.line}"
        yield Unread(shown, error.message, error.file, error.line)
    if target.errors and target.unread > len(target.errors):
        yield Unread(named, f"{target.unread - len(target.errors):,} more were not read")
    if target.status != "ok" and not target.errors:
        yield Unread(named, target.error or "could not be read")


def not_judged_of(target: TargetResult) -> Iterator[Unread]:
    """Parts of a target's files that were not judged, as far as they were recorded."""
    for part in target.not_judged:
        yield Unread(f"{part.file}:{part.line}", part.message, part.file, part.line)
    if (more := target.not_judged_count - len(target.not_judged)) > 0:
        yield Unread(target.target, f"{more:,} more parts were not judged")


def calls_sentence(target: TargetResult) -> str:
    """``openstack:prod: 14 API calls (compute 5, network 4)``, the most frequent first; empty if no
    calls were counted."""
    if not target.calls:
        return ""
    services = sorted(target.calls.items(), key=lambda item: (-item[1], item[0]))
    parts = ", ".join(f"{service} {number:,}" for service, number in services)
    return f"{target.target}: {count(sum(target.calls.values()), 'API call')} ({parts})"


def skip_sentences(tally: Tally) -> Iterator[str]:
    """``VNIC020 was not judged for 24 NICs: needs …``. Rules that lack the same thing for as many
    NICs share a sentence; the most frequent comes first."""
    groups: dict[tuple[int, str, str], list[str]] = {}
    for (rule, needs, kind), number in tally.skipped.items():
        if rule != EVERY_RULE:
            groups.setdefault((number, needs, kind), []).append(rule)
    yield from _without_any_rule(tally)
    for (number, needs, kind), rules in sorted(
        groups.items(), key=lambda group: (-group[0][0], sorted(group[1]))
    ):
        where = f"not judged for {count(number, kind)}"
        if rules == [ALL_BUT_THE_MODEL]:
            yield f"Only the model was judged for {count(number, kind)}: the rest needs {needs}"
        elif len(rules) == 1:
            yield f"{rules[0]} was {where}: needs {needs}"
        else:
            yield f"{', '.join(sorted(rules))} were {where}: need {needs}"


def _without_any_rule(tally: Tally) -> Iterator[str]:
    """``No rule was judged for 5 domains: needs … (3 domains); … (2 domains)``, in one sentence."""
    found = [(needs, kind, number) for (rule, needs, kind), number in tally.skipped.items()
             if rule == EVERY_RULE]  # fmt: skip
    if not found:
        return
    kinds: Counter[str] = Counter()
    for _needs, kind, number in found:
        kinds[kind] += number
    total = ", ".join(count(number, kind) for kind, number in kinds.most_common())
    if len(found) == 1:
        yield f"No rule was judged for {total}: needs {found[0][0]}"
        return
    found.sort(key=lambda one: -one[2])
    reasons = [f"{needs} ({count(number, kind)})" for needs, kind, number in found[:_REASONS]]
    if (more := len(found) - _REASONS) > 0:
        reasons.append(f"{count(more, 'other thing')} (the JSON report has each)")
    yield f"No rule was judged for {total}: needs {'; '.join(reasons)}"
