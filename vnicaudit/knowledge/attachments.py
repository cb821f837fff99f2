"""The decision table of attachments, ``attachments.toml``: its rows, and whether they hold.

How rows compete is said at the head of the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from functools import cache

import msgspec

from vnicaudit.base.opening import read_beside
from vnicaudit.model.advice import Placement, Rfs, RowKind
from vnicaudit.model.decoding import converted
from vnicaudit.model.host import Version
from vnicaudit.model.scenario import AttachmentKind
from vnicaudit.text.beginning import toml_values

Value = bool | int | str
Facts = Mapping[str, Value | None]
"""``flow.nodes`` -> its value; None: not said."""
Condition = Value | tuple[Value, ...]
UNSAID = "unsaid"

_COMPARISON = re.compile(r"(<=|>=|<|>)(\S+)")


class _Conditions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions that hold together."""

    platform: dict[str, Condition] = {}
    needs: dict[str, Condition] = {}
    flow: dict[str, Condition] = {}
    advice: dict[str, Condition] = {}

    def conditions(self) -> Iterator[tuple[str, Condition]]:
        """Name of a fact -> what it must be."""
        for part in ("flow", "platform", "needs", "advice"):
            for key, condition in getattr(self, part).items():
                yield f"{part}.{key}", condition


class RowCase(_Conditions, frozen=True):
    """One of several cases of a row; None: as the row says."""

    gives: tuple[AttachmentKind, ...] | None = None
    excludes: tuple[AttachmentKind, ...] | None = None
    over: tuple[AttachmentKind, ...] | None = None
    beats: tuple[str, ...] | None = None
    answer: str | None = None
    limits: str | None = None


class AttachmentRow(_Conditions, frozen=True, kw_only=True):
    """A row of the table. ``id`` is its name there."""

    id: str = ""
    kind: RowKind
    answer: str
    figure: str = ""
    direction: str = ""
    quotations: tuple[str, ...] = ()
    source: str
    section: str = ""
    limits: str = ""
    gives: tuple[AttachmentKind, ...] = ()
    excludes: tuple[AttachmentKind, ...] = ()
    over: tuple[AttachmentKind, ...] = ()
    open: bool = False
    rfs: Rfs = ""
    placement: Placement = ""
    infra: str = ""
    beats: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    decides: str = ""
    command: str = ""
    case: tuple[RowCase, ...] = ()

    @property
    def cases(self) -> tuple[RowCase | AttachmentRow, ...]:
        """The cases; a row with conditions of its own is the only one."""
        return self.case or (self,)

    def about(self) -> str:
        """The part of a scenario that it is about: ``flow``, ``advice`` (the answers themselves) or
        ``platform``."""
        case = self.cases[0]
        return "advice" if case.advice else "flow" if case.flow else "platform"

    def fired(self, facts: Facts) -> AttachmentRow | None:
        """The row as the first case that holds words it; None if none holds."""
        for case, conditions in zip(self.cases, _conditions(self.id), strict=True):
            if _all_hold(conditions, facts):
                fields = ("gives", "excludes", "over", "beats", "answer", "limits")
                changes = {key: getattr(case, key) for key in fields}
                found = {key: value for key, value in changes.items() if value is not None}
                return msgspec.structs.replace(self, **found)
        return None

    def measured_on(self) -> list[str]:
        """Facts on which it depends whether its figure may be shown."""
        source = attachment_table().source[self.source]
        return list(source.excluded) if self.figure else []

    def waits_for(self, facts: Facts, removed: Set[AttachmentKind]) -> set[str]:
        """Facts that are not said, of the case that needs the fewest to hold and gives more than
        what is removed; empty: no case can hold any more, or one does."""
        open_cases = [
            {name for name, condition in conditions if holds(condition, facts[name]) is None}
            for case, conditions in zip(self.cases, _conditions(self.id), strict=True)
            if _all_hold(conditions, facts) is None
            if not {*(case.gives or self.gives)} <= removed
        ]
        return min(open_cases, key=len, default=set())


class FigureSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source, and where its figures hold."""

    title: str
    measured: str = ""
    excluded: dict[str, dict[str, str]] = msgspec.field(name="not", default={})

    def objections(self, facts: Facts) -> list[str]:
        """Reasons why its figures must not be shown; empty: they may."""
        said = [(words, facts[name]) for name, words in self.excluded.items()]
        found = [words[str(value)] for words, value in said if str(value) in words]
        return found or [self.measured] * any(value is None for _, value in said)


class AttachmentTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    source: dict[str, FigureSource]
    meets: dict[str, tuple[AttachmentKind, ...]]
    command: dict[str, str]
    row: dict[str, AttachmentRow]


@cache
def attachment_table() -> AttachmentTable:
    """The table that comes with this program."""
    name = "attachments.toml"
    table = converted(toml_values(name, read_beside(__file__, name).decode()), AttachmentTable)
    rows = {key: msgspec.structs.replace(row, id=key) for key, row in table.row.items()}
    return msgspec.structs.replace(table, row=rows)


def values_tried(condition: Condition) -> Iterator[Value]:
    """Values of a fact for which a condition may hold, and values for which it may not."""
    for allowed in condition if isinstance(condition, tuple) else (condition,):
        if isinstance(allowed, bool):
            yield from (True, False)
        elif isinstance(allowed, str) and allowed[0] in "<>":
            for _operator, limit in _comparisons(allowed):
                yield from _around(limit)
        elif allowed != UNSAID:
            yield allowed


def _around(limit: str) -> tuple[Value, ...]:
    if "." not in limit:
        return tuple(
            number for number in (int(limit) - 1, int(limit), int(limit) + 1) if number >= 0
        )
    version = Version.parse(limit)
    return limit, f"{version.major}.{version.minor - 1}"


@cache
def _conditions(row: str) -> tuple[tuple[tuple[str, Condition], ...], ...]:
    """Conditions of each case of a row: they are asked thousands of times."""
    return tuple(tuple(case.conditions()) for case in attachment_table().row[row].cases)


def _all_hold(conditions: tuple[tuple[str, Condition], ...], facts: Facts) -> bool | None:
    """True if all conditions hold; None: that depends on facts that are not said."""
    answer: bool | None = True
    for name, condition in conditions:
        one = holds(condition, facts[name])
        if one is False:
            return False
        answer = None if one is None else answer
    return answer


def holds(condition: Condition, value: Value | None) -> bool | None:
    """True if a fact is as a condition asks for; None if it is not said, and that matters."""
    allowed = condition if isinstance(condition, tuple) else (condition,)
    if value is None:
        return True if UNSAID in allowed else None
    return value in allowed or any(_is_within(each, value) for each in allowed)


def _is_within(wanted: Value, value: Value) -> bool:
    if not isinstance(wanted, str) or wanted[0] not in "<>":
        return False
    return all(_is_so(operator, limit, value) for operator, limit in _comparisons(wanted))


@cache
def _comparisons(condition: str) -> tuple[tuple[str, str], ...]:
    """``>=25 <=100`` -> its operators and limits."""
    return tuple(_COMPARISON.findall(condition))


def _is_so(operator: str, limit: str, value: Value) -> bool:
    """Numbers as numbers, text as versions."""
    if isinstance(value, str):
        order = (Version.parse(value) > Version.parse(limit)) - (
            Version.parse(value) < Version.parse(limit)
        )
    else:
        order = (value > int(limit)) - (value < int(limit))
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]
