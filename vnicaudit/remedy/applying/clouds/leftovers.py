"""Servers that earlier runs left powered off or with half-set properties."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from vnicaudit.remedy.applying.clouds.nova_manage_journal import doubtful
from vnicaudit.remedy.applying.downtime import may_be_off
from vnicaudit.remedy.applying.journal.journal_line import Entry, begin_of
from vnicaudit.remedy.applying.journal.past_run import PastRun

Past = Callable[[], Iterable[PastRun]]
"""All recorded runs, newest first."""


class Leftovers(NamedTuple):
    """The condition in which earlier runs left a server. ``off``: it was stopped and never started
    again; ``in_doubt``: its properties may be half set."""

    off: bool = False
    in_doubt: bool = False


class EarlierRuns:
    """The conditions in which earlier runs left units of one kind; the runs are read once for all
    units."""

    def __init__(self, kind: str, past: Past) -> None:
        self._kind = kind
        self._past = past

    def leftovers(self, id: str | None) -> Leftovers:
        """The condition in which earlier runs left the unit with that id."""
        return Leftovers(id in self.off, id in self.in_doubt)

    @cached_property
    def off(self) -> frozenset[str]:
        """Ids of the servers that the last run on them stopped and left off, although they ran
        before."""
        off: dict[str, bool] = {}
        for id, entries in self._units():
            if begin_of(entries) is not None:
                off.setdefault(id, bool(may_be_off(entries)))
        return frozenset(id for id, is_off in off.items() if is_off)

    @cached_property
    def in_doubt(self) -> frozenset[str]:
        """Ids of the servers for which the last run that set a property does not know whether all
        of it was set."""
        known: dict[str, bool] = {}
        for id, entries in self._units():
            doubts = doubtful(entries)
            if doubts is not None:
                known.setdefault(id, bool(doubts))
        return frozenset(id for id, doubt in known.items() if doubt)

    def _units(self) -> Iterator[tuple[str, tuple[Entry, ...]]]:
        for run in self._past():
            for unit in run.request.units:
                if unit.kind == self._kind and unit.uuid is not None:
                    yield unit.uuid, run.of(unit.key)
