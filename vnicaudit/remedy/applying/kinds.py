"""The table of kinds of units, as the command line hands it in, and the drivers of one command."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from vnicaudit.base.clock import Clock
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import Step, Unit
from vnicaudit.remedy.applying.driver import Driver, Kind
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.session import Session


class OfKind(Protocol):
    """A unit, or what became of one."""

    @property
    def kind(self) -> str:
        """The name of its :class:`Kind`."""

    @property
    def target(self) -> str:
        """Where it is."""


class KindTable:
    """All kinds there are; the first one that claims a step has it. Raises ValueError where two
    have one name."""

    def __init__(self, kinds: Iterable[Kind[Unit]]) -> None:
        self._kinds = tuple(kinds)
        self._by_name = {kind.name: kind for kind in self._kinds}
        if len(self._by_name) < len(self._kinds):
            raise ValueError("two kinds of units of one name")

    def by_name(self, name: str) -> Kind[Unit]:
        """Raises UsageError where there is none of that name."""
        kind = self._by_name.get(name)
        if kind is None:
            known = ", ".join(sorted(self._by_name))
            raise UsageError(f"unknown kind of unit {name!r}; known are {known}")
        return kind

    def of(self, step: Step) -> Kind[Unit]:
        """The kind of unit that a step is on. Raises UsageError for a step that an edit made one of
        no kind."""
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
        """The targets of those that are changed on the controller that the user names."""
        names = {kind.name for kind in self._kinds if kind.by_controller}
        return [unit.target for unit in units if unit.kind in names]

    def may_have_moved(self, units: Iterable[OfKind]) -> bool:
        """True where one of these units, which are gone, is of a kind that may run elsewhere as
        before."""
        names = {kind.name for kind in self._kinds if kind.may_move}
        return any(unit.kind in names for unit in units)

    def is_same(self, unit: UnitRequest, other: UnitRequest) -> bool:
        """True where two units may be one thing. A UUID, or a file of this machine, identifies one
        thing however it is reached: by another URI of its host, another name of its cloud, or
        libvirt below Nova. Any other id is unique among units of its kind and place only, or of its
        kind where they may move."""
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
        """The units that the steps are on, in their order; sources before all others, so that
        nobody makes a guest of the old ones meanwhile. Raises UsageError for a step that an edit
        made one of no kind."""
        found = [(self.of(group[0]), key, group) for key, group in self.by_unit(steps).items()]
        units = [(kind.sources, kind.unit(key, group)) for kind, key, group in found]
        return [unit for _, unit in sorted(units, key=lambda one: not one[0])]

    def by_unit(self, steps: Iterable[Step]) -> dict[str, tuple[Step, ...]]:
        """Key of a unit -> its steps: for many units, where :meth:`steps_of` would look through all
        steps for each."""
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
    """The drivers of one command, each made for ``session`` when a unit of its kind comes."""

    def __init__(self, kinds: KindTable, session: Session) -> None:
        self.kinds = kinds
        self._session = session

    @property
    def clock(self) -> Clock:
        """The clock that drivers wait by."""
        return self._session.adapters.clock

    def of(self, unit: UnitRequest) -> Driver[Unit]:
        """The driver of a unit. Raises UsageError for a kind that there is none of."""
        return self._session.once(self.kinds.by_name(unit.kind).driver)

    def check(self, units: Iterable[UnitRequest]) -> None:
        """Raises RefusedError where the place of one of these units is not to be reached."""
        for unit in units:
            self.of(unit).check(unit)

    def open(self, units: Iterable[UnitRequest]) -> None:
        """Reach the places of these units, and keep other runs away from them. Raises TargetError
        and RefusedError."""
        units = tuple(units)
        self.check(units)  # all of them, before one is dialled
        for unit in units:
            self.of(unit).open(unit)

    def leave_all_but(self, places: Collection[str], run: str = "") -> None:
        """Leave the places of all other targets, if they are opened one by one. ``run``: the id of
        the one that has nothing half done there."""
        self._session.leave_all_but(places, run)
