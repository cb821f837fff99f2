"""The interface between runs and what they change: units of one kind, and the driver that changes
them.

A run knows units (``UnitRequest``), their lines in the journal, and the driver of their kind. Only
its driver knows what a unit is, how it is reached, what is recorded about it and how it is changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from vnicaudit.base.deadlines import Clock
from vnicaudit.errors import GoneError, UsageError, VnicauditError
from vnicaudit.model.plan import Mode, Step, Unit, UnitStep, UnitT_co
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    NicChanges,
    Result,
    Transaction,
    Undoing,
    UnitRequest,
)
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.applying.verifying import BegunUnit

T = TypeVar("T")
UnitT_contra = TypeVar("UnitT_contra", bound=Unit, contravariant=True)

StateName = Literal["in-effect", "waiting", "differs", "gone", "moved", "unknown", "taken-back"]
"""State of a unit. ``waiting``: defined, but not in effect until the guest is powered off and on.
``differs``: not as planned, or the guest has problems with it. ``moved``: the unit is now in
another place of the run. ``taken-back``: undone by a later run."""


class Prepared(NamedTuple):
    """The prepared change of a unit. ``transaction``: everything that its driver has to record;
    None: there is nothing left to do. ``before`` and ``goal``: the two texts, stored in the run's
    folder if ``keeps_texts`` is true. ``note``: a message to show when work on the unit starts."""

    transaction: Transaction | None
    before: bytes = b""
    goal: bytes = b""
    keeps_texts: bool = True
    note: str = ""


class PrepareRequest(NamedTuple):
    """The context for preparing a unit. ``earlier``: earlier runs of the same plan, newest first;
    ``past``: all recorded runs."""

    mode: Mode
    earlier: Callable[[], Sequence[PastRun]]
    past: Callable[[], Iterable[PastRun]]


class UndoRequest(NamedTuple):
    """A request to roll back a unit. ``run``: the run that changed it; ``since``: that run, and
    those that rolled back part of it; ``past``: all recorded runs; ``select_changes``: picks the
    changes of the requested NICs; ``over_edits``: roll back even where somebody changed the unit
    since."""

    mode: Mode
    run: PastRun
    since: Callable[[], Sequence[PastRun]]
    past: Callable[[], Iterable[PastRun]]
    select_changes: Callable[[Iterable[NicChanges]], tuple[NicChanges, ...]]
    over_edits: bool

    def transaction(self, unit: UnitRequest, kind: type[T]) -> T:
        """The transaction that the run recorded for the unit. Raises RefusedError if the run did
        not start it, KeptError if the record is damaged."""
        return self.run.transaction(unit.key, kind)


class UnitState(NamedTuple):
    """A unit, checked after its run. ``unreachable``: its host or cloud could not be reached."""

    name: str
    state: StateName
    detail: str = ""
    checks: tuple[Check, ...] = ()
    unreachable: bool = False


class Driver(Protocol[UnitT_contra]):
    """Changes units of one kind, for one command. Every method raises ActionError with what failed:
    SilentError if the other side stopped answering, GoneError if the unit no longer exists;
    RefusedError with the reason why nothing is started."""

    def check(self, unit: UnitRequest) -> None:
        """Raises RefusedError for a unit whose place must not be contacted; called for all units
        before any place is contacted."""

    def open(self, unit: UnitRequest) -> None:
        """Connect to its place, and lock it against other runs. Raises TargetError,
        RefusedError."""

    def prepare(
        self,
        unit: UnitRequest,
        steps: tuple[UnitStep[UnitT_contra], ...],
        request: PrepareRequest,
    ) -> Prepared:
        """Returns the change that the steps make to the unit in its present state. Changes nothing
        yet."""

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """Returns the change that undoes the run's work on the unit. Changes nothing yet."""

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """Returns the change that restores what the run saved of the unit, whatever has happened
        since."""

    def can_restore(self, unit: UnitRequest, run: PastRun) -> bool:
        """True if the run saved something to restore the unit from."""

    def forward(self, work: BegunUnit) -> Result:
        """Change the unit as planned, or undo the change if that fails, from any point where an
        interrupted run left it."""

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Undo the change of the unit, from any point where an interrupted run left it."""

    def verify(self, unit: UnitRequest, begin: Begin, back: Mapping[str, str]) -> UnitState:
        """The present state of the unit. ``back``: MACs that were rolled back since -> the run that
        did it."""

    def explain(self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool) -> Result:
        """The result for a unit that no longer exists, with a message for the user. ``begun``: the
        run had started to change it; ``dry_run``: nothing was to be changed."""


def _anywhere(target: str) -> bool:
    del target
    return True


class Kind(msgspec.Struct, Generic[UnitT_co], frozen=True):
    """One kind of units. ``unit_type``: the type of a step's unit; ``key``: the key that all steps
    on one unit share; ``unit``: makes the unit of these steps; ``driver``: makes the driver, once
    for each command; ``is_at``: tells if a target has such units. The other fields let commands
    treat units without knowing their kind.

    In a table, kinds are ``Kind[Unit]`` for any type of unit: each receives only the steps that it
    claims, so a function that takes steps there may declare its own type of unit.
    """

    name: str
    unit_type: type[UnitT_co]
    key: Callable[[UnitStep[UnitT_co]], str]
    unit: Callable[[str, tuple[UnitStep[UnitT_co], ...]], UnitRequest]
    driver: Callable[[Session], Driver[UnitT_co]]
    is_at: Callable[[str], bool] = _anywhere
    sources: bool = False
    """Guests are created from them later, so they are changed first, and no guest is
    interrupted."""
    is_text: bool = False
    """They are text and do not affect running guests: their mode is ``next-boot``, whatever the
    plan says."""
    by_controller: bool = False
    """They are changed on the controller that the user names: one controller of one cloud."""
    exclusive_called: str = "group"
    """The word for a group whose members are changed one at a time (``UnitRequest.exclusive``)."""
    may_move: bool = False
    """A missing unit may be running elsewhere, unchanged."""
    bench: bool = False
    """``--bench`` accepts steps on them, and measures the running ones."""
    steps_called: str = ""
    """The words for steps that cannot be measured, for example ``of a cloud``; empty: they are
    called steps on units of this kind's name."""

    def claims(self, step: Step) -> bool:
        """True for a step on such a unit."""
        unit = step.unit
        return (
            isinstance(unit, self.unit_type) and unit.kind == self.name and self.is_at(step.target)
        )


# The table of all kinds of units, passed in by the command line, and the drivers of one command.


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
            return (unit.key, unit.target) == (other.key, other.target)
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
