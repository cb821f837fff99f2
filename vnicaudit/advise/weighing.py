"""The facts of one flow in, the rows that fire and what follows from those that count out.

How rows compete is data, described at the head of ``knowledge/attachments.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple, get_args

from vnicaudit.knowledge.attachments import (
    AttachmentRow,
    Facts,
    Value,
    attachment_table,
    holds,
    values_tried,
)
from vnicaudit.model.advice import Answer, Excluded, Placement, Rfs
from vnicaudit.model.scenario import AttachmentKind

_GIVEN = ("flow.present", "flow.name", "flow.source", "flow.to", "platform.pods_below_nodes")
"""Facts that are never asked for: names, and what somebody complains of or proposes."""


class FlowDecision(NamedTuple):
    """The answer for a flow, and the rows behind it."""

    answer: Answer
    attachments: tuple[AttachmentKind, ...]
    rfs: Rfs
    placement: Placement
    fired: tuple[AttachmentRow, ...]
    excluded: tuple[Excluded, ...]
    beaten_by: Mapping[str, str]
    """Row that does not count -> row that takes precedence or excludes what it gives, or need that
    nothing of what it gives meets."""
    needs: tuple[str, ...]
    """Needs of the flow that not every attachment meets."""

    def outcome(self) -> tuple[object, ...]:
        """All that another value of a fact may change."""
        return self.answer, self.attachments, self.rfs, self.placement

    def counting(self) -> list[AttachmentRow]:
        """The rows that were not beaten."""
        return [row for row in self.fired if row.id not in self.beaten_by]


class FactChange(NamedTuple):
    """A fact that is not said, and that changes the answer for some value."""

    fact: str
    rows: tuple[str, ...]
    """Rows that fire then, or no more."""
    settles: bool
    """True if for some value the answer is one of the attachments that are possible now."""


def decide(facts: Facts, *, rows: tuple[AttachmentRow, ...] | None = None) -> FlowDecision:
    """Placement is decided first: other rows then know whether both ends are on one node."""
    rows = rows_about("flow") if rows is None else rows
    placing = fired_rows([row for row in rows if row.placement], facts)
    placement = _placement(placing)
    if facts["flow.nodes"] in ("either", "same") and placement:
        facts = {**facts, "flow.nodes": "same" if placement == "same-node" else "cross"}
    others = fired_rows([row for row in rows if not row.placement], facts)
    fired = tuple(sorted((*placing, *others), key=lambda row: row.id))
    excluded = tuple(
        Excluded(attachment, row.id, row.answer) for row in fired for attachment in row.excludes
    )
    removed = _unsuitable(facts) | {each.attachment: each.row for each in reversed(excluded)}
    beaten = _beaten(fired, set(removed))
    counting = [row for row in fired if row.id not in beaten]
    void = _without_attachment(counting, removed)
    needs = _needs(facts)
    answer, attachments = _answer(
        [row for row in counting if row.id not in void], removed, bool(void), bool(needs)
    )
    return FlowDecision(
        answer, attachments, _rfs(counting), placement, fired, excluded, void | beaten, needs
    )


def _unsuitable(facts: Facts) -> dict[AttachmentKind, str]:
    """Attachments that do not meet a need -> the need."""
    return {
        attachment: need
        for need, meeting in attachment_table().meets.items()
        if facts[need] is True
        for attachment in get_args(AttachmentKind)
        if attachment not in meeting
    }


def _needs(facts: Facts) -> tuple[str, ...]:
    """All needs if the flow has one of its own: a NetworkPolicy alone leaves the pod network."""
    stated = tuple(need for need in attachment_table().meets if facts[need] is True)
    return stated if any(need.startswith("flow.") for need in stated) else ()


def _placement(fired: tuple[AttachmentRow, ...]) -> Placement:
    beaten = _beaten(fired, set())
    return next((row.placement for row in fired if row.id not in beaten), "")


def _beaten(fired: tuple[AttachmentRow, ...], removed: set[AttachmentKind]) -> dict[str, str]:
    """Rows that do not count -> the first row that takes precedence. A row all of whose attachments
    are excluded beats none."""
    names = {row.id for row in fired}
    return {
        beaten: row.id
        for row in reversed(fired)
        if not row.gives or not removed.issuperset(row.gives)
        for beaten in row.beats
        if beaten in names
    }


def _without_attachment(
    counting: list[AttachmentRow], removed: Mapping[AttachmentKind, str]
) -> dict[str, str]:
    """Rows none of whose attachments is possible -> the hard row, or the need, that removes the
    first one."""
    return {
        row.id: removed[row.gives[0]]
        for row in counting
        if row.kind != "hard" and row.gives and all(one in removed for one in row.gives)
    }


def _answer(
    counting: list[AttachmentRow],
    removed: Mapping[AttachmentKind, str],
    has_void: bool,
    has_needs: bool,
) -> tuple[Answer, tuple[AttachmentKind, ...]]:
    """The attachments that rows choose, without the removed ones; if none is left, those that hard
    rows leave, which no source measured."""
    chosen = (one for row in counting if row.kind != "hard" for one in row.gives)
    candidates = tuple(dict.fromkeys(one for one in chosen if one not in removed))
    is_open = any(
        row.open or (row.kind == "depends" and not (row.gives or row.rfs)) for row in counting
    )
    if candidates:
        return "depends" if is_open or len(candidates) > 1 else "advised", candidates
    if not has_void:
        return "depends" if is_open else "unknown", ()
    rest = (one for row in counting if row.kind == "hard" for one in row.gives)
    left = tuple(dict.fromkeys(one for one in rest if one not in removed))
    if not left and has_needs:
        return "unknown", ()
    return "advised" if len(left) == 1 else "depends", left


def _rfs(counting: list[AttachmentRow]) -> Rfs:
    """Hard rows only make a recommendation depend."""
    words: set[Rfs] = {row.rfs for row in counting if row.rfs and row.kind != "hard"}
    warned = any(row.rfs for row in counting if row.kind == "hard")
    return "depends" if len(words) > 1 or (words and warned) else words.pop() if words else ""


def fired_rows(rows: Iterable[AttachmentRow], facts: Facts) -> tuple[AttachmentRow, ...]:
    """The rows that hold, as the case that holds words them."""
    return tuple(fired for row in rows if (fired := row.fired(facts)))


@cache
def rows_about(part: str) -> tuple[AttachmentRow, ...]:
    """Rows about a flow, the platform, or the answers (``advice``)."""
    return tuple(row for row in attachment_table().row.values() if row.about() == part)


@cache
def _choosing_rows(between: str) -> tuple[AttachmentRow, ...]:
    """Rows that can change the answer for flows of a kind."""
    return tuple(
        row
        for row in rows_about("flow")
        if (row.rfs or row.placement or row.gives or row.excludes or row.beats)
        or any(case.gives or case.excludes for case in row.cases)
        if any(holds(case.flow["between"], between) for case in row.cases)
    )


@cache
def _values(between: str) -> dict[str, tuple[Value, ...]]:
    """Fact -> values that make a difference to some row, for flows of a kind."""
    found: dict[str, dict[Value, None]] = {}
    for row in _choosing_rows(between):
        for case in row.cases:
            for name, condition in case.conditions():
                found.setdefault(name, {}).update(dict.fromkeys(values_tried(condition)))
    of_vms = attachment_table().meets if between != "vm" else {}
    unasked = {*_GIVEN, *(name for name in of_vms if name.startswith("flow."))}
    return {name: tuple(values) for name, values in found.items() if name not in unasked}


def changes(facts: Facts) -> Iterator[FactChange]:
    """Facts that are not said and that change the answer, each by itself; where no attachment meets
    the needs, those with which one does."""
    between = str(facts["flow.between"])
    rows = _choosing_rows(between)
    now = decide(facts, rows=rows)
    for name, values in _values(between).items():
        if facts[name] is not None:
            continue
        tried = [decide({**facts, name: value}, rows=rows) for value in values]
        others = [each for each in tried if each.outcome() != now.outcome()]
        if now.needs and now.answer == "unknown":
            others = [each for each in others if each.answer != "unknown"]
        if others:
            before = {row.id for row in now.fired}
            changed = {row for each in others for row in before ^ {one.id for one in each.fired}}
            settles = any(
                each.answer == "advised"
                and each.excluded == now.excluded
                and (not now.attachments or {*each.attachments} <= {*now.attachments})
                for each in others
            )
            yield FactChange(name, tuple(sorted(changed)), settles)


def facts_to_begin_with(facts: Facts) -> Iterator[FactChange]:
    """For a flow for which no row decides: the facts for which the nearest rows wait together."""
    nearest = _nearest(facts)
    for name in sorted({name for names in nearest.values() for name in names} - set(_GIVEN)):
        yield FactChange(name, tuple(row for row in nearest if name in nearest[row]), settles=False)


def facts_of_figures(facts: Facts, decision: FlowDecision) -> Iterator[FactChange]:
    """Facts on which it depends whether figures of the rows that fire, or wait, may be shown."""
    waiting = _nearest(facts) if decision.answer == "unknown" else {}
    rows = [*decision.fired, *(row for row in rows_about("flow") if row.id in waiting)]
    names = {name: None for row in rows for name in row.measured_on() if facts[name] is None}
    for name in names:
        bound = (row.id for row in rows if name in row.measured_on())
        yield FactChange(name, tuple(bound), settles=False)


def _nearest(facts: Facts) -> dict[str, set[str]]:
    """The rows that would choose an attachment if the fewest facts were said -> these facts."""
    rows = _choosing_rows(str(facts["flow.between"]))
    removed = _unsuitable(facts).keys()
    giving = (row for row in rows if row.gives)
    waiting = {row.id: names for row in giving if (names := row.waits_for(facts, removed))}
    fewest = min(map(len, waiting.values()), default=0)
    return {row: names for row, names in waiting.items() if len(names) == fewest}
