"""The table of all kinds of units, passed in by the command line, and the drivers of one
command."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from typing import Protocol

from vnicaudit.base.waiting import Clock
from vnicaudit.errors import UsageError, VnicauditError
from vnicaudit.model.plan import Step, Unit
from vnicaudit.remedy.applying.driver import Driver, Kind
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.session import Session


class OfKind(Protocol):
    """A unit, or the result of one."""

    @property
    def kind(self) -> str:
        """The name of its :class:`Kind`."""

    @property
    def target(self) -> str:
        """The target that it is on."""


class KindTable:
    """All kinds of units; a step belongs to the first kind that claims it. Raises ValueError if two
    kinds have the same name."""

    def __init__(self, kinds: Iterable[Kind[Unit]]) -> None:
        self._kinds = tuple(kinds)
        self._by_name = {kind.name: kind for kind in self._kinds}
        if len(self._by_name) < len(self._kinds):
            raise ValueError("two kinds of units of one name")

    def by_name(self, name: str) -> Kind[Unit]:
        """The kind of that name. Raises UsageError if there is none."""
        kind = self._by_name.get(name)
        if kind is None:
            known = ", ".join(sorted(self._by_name))
            raise UsageError(f"unknown kind of unit {name!r}; known are {known}")
        return kind

    def of(self, step: Step) -> Kind[Unit]:
        """The kind of unit that a step is on. Raises UsageError for a step of no known kind, as
        from an edited plan."""
        found = self._claiming(step)
        if found is None:
            raise UsageError(
                f"step {step.id}: {step.target[:200]!r} has no units of kind {step.unit.kind!r} "
                "that can be changed: undo your edits of the plan, or make a new one"
            )
        return found

    def unit_name(self, step: Step) -> str:
        """The name of the unit that a step changes; for a step of no known kind, the name of its
        domain (empty: it has none)."""
        found = self._claiming(step)
        return step.about.name or "" if found is None else found.unit("", (step,)).name

    def by_controller(self, units: Iterable[OfKind]) -> list[str]:
        """The targets of the units that are changed on the controller that the user names."""
        names = {kind.name for kind in self._kinds if kind.by_controller}
        return [unit.target for unit in units if unit.kind in names]

    def may_have_moved(self, units: Iterable[OfKind]) -> bool:
        """True if one of these missing units is of a kind that may be running elsewhere,
        unchanged."""
        names = {kind.name for kind in self._kinds if kind.may_move}
        return any(unit.kind in names for unit in units)

    def is_same(self, unit: UnitRequest, other: UnitRequest) -> bool:
        """True if two units may be the same thing. A UUID, or a file of this machine, identifies
        one thing however it is reached: by another URI of its host, another name of its cloud, or
        through libvirt below Nova. Any other id is unique only among units of its kind and place,
        or of its kind if they may move."""
        if (unit.uuid, unit.file) != (other.uuid, other.file):
            return False
        if unit.is_unique:
            return True
        if unit.kind != other.kind:
            return False
        if unit.uuid is None:
            return unit.identity == other.identity
        return unit.target == other.target or self.by_name(unit.kind).may_move

    def units(self, steps: Iterable[Step]) -> list[UnitRequest]:
        """The units that the steps are on, in their order, but sources first, so that nobody
        creates a guest from the old ones meanwhile. Raises UsageError for a step of no known kind,
        as from an edited plan."""
        found = [(self.of(group[0]), key, group) for key, group in self.by_unit(steps).items()]
        units = [(kind.sources, kind.unit(key, group)) for kind, key, group in found]
        return [unit for _, unit in sorted(units, key=lambda one: not one[0])]

    def by_unit(self, steps: Iterable[Step]) -> dict[str, tuple[Step, ...]]:
        """Key of a unit -> its steps. For many units, as :meth:`steps_of` goes through all steps
        for each."""
        found: dict[str, list[Step]] = {}
        for step in steps:
            found.setdefault(self.of(step).key(step), []).append(step)
        return {key: tuple(group) for key, group in found.items()}

    def steps_of(self, unit: UnitRequest, steps: Iterable[Step]) -> tuple[Step, ...]:
        """The steps on that unit."""
        return self.by_unit(steps).get(unit.key, ())

    def _claiming(self, step: Step) -> Kind[Unit] | None:
        return next((kind for kind in self._kinds if kind.claims(step)), None)


class Drivers:
    """The drivers of one command; each is made for ``session`` when the first unit of its kind
    needs it."""

    def __init__(self, kinds: KindTable, session: Session) -> None:
        self.kinds = kinds
        self._session = session
        self._turns: dict[tuple[str, str], threading.Lock] = {}
        self._not_usable: dict[tuple[str, str], VnicauditError] = {}

    @property
    def clock(self) -> Clock:
        """The clock that drivers use for waiting."""
        return self._session.adapters.clock

    def of(self, unit: UnitRequest) -> Driver[Unit]:
        """The driver of a unit. Raises UsageError for an unknown kind."""
        return self._session.once(self.kinds.by_name(unit.kind).driver)

    def check(self, units: Iterable[UnitRequest]) -> None:
        """Raises RefusedError if the place of one of these units must not be contacted."""
        for unit in units:
            self.of(unit).check(unit)

    def open(self, units: Iterable[UnitRequest]) -> None:
        """Connect to the places of these units, and keep other runs away from them. A place that
        cannot be opened is not tried again. Raises TargetError, SilentError and RefusedError."""
        units = tuple(units)
        self.check(units)  # all of them, before any is contacted
        for unit in units:
            place = unit.kind, unit.target
            with self._turns.setdefault(place, threading.Lock()):
                if place in self._not_usable:
                    raise self._not_usable[place]
                try:
                    self.of(unit).open(unit)
                except VnicauditError as error:
                    self.give_up(unit, error)
                    raise

    def give_up(self, unit: UnitRequest, error: VnicauditError) -> None:
        """Have the place of this unit not tried again: opening it raises that error."""
        self._not_usable[unit.kind, unit.target] = error

    def leave_all_but(self, places: Collection[str], run: str = "") -> None:
        """Leave the places of all other targets, if they are opened one by one. ``run``: the id of
        the calling run, which has nothing half done there."""
        self._session.leave_all_but(places, run)
