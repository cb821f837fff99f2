"""The interface between runs and what they change: units of one kind, and the driver that changes
them.

A run knows units (``UnitRequest``), their lines in the journal, and the driver of their kind. Only
its driver knows what a unit is, how it is reached, what is recorded about it and how it is changed.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, TypeVar, cast

import msgspec

from vnicaudit.base.deadlines import Clock
from vnicaudit.base.wording import word
from vnicaudit.errors import GoneError, JournalError, NoResponseError, UsageError, VnicauditError
from vnicaudit.model.plan import Mode, Step, UnitStep, UnitT
from vnicaudit.model.runs import Check, UnitRun, UnitState
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    Result,
    RunLimits,
    Transaction,
    Undoing,
    UnitRequest,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptTexts
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.journal.state import UnitJournal
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.hypervisor import Trials
from vnicaudit.text.targets import command

P = TypeVar("P")
T = TypeVar("T", bound=Transaction)


class Prepared(NamedTuple):
    """The prepared change of a unit. ``transaction``: everything that its driver has to record;
    None: there is nothing left to do. ``before`` and ``goal``: its two texts, for drivers that keep
    them. ``note``: a message to show when work on the unit starts."""

    transaction: Transaction | None
    before: bytes = b""
    goal: bytes = b""
    note: str = ""


NOTHING_TO_DO = Prepared(None)
"""Prepared without a change: the unit is not started."""


class PrepareRequest(NamedTuple):
    """The context for preparing a unit. ``earlier``: earlier runs of the same plan, newest
    first."""

    mode: Mode
    earlier: Callable[[], Sequence[PastRun]]


class UndoRequest(NamedTuple):
    """A request to roll back a unit. ``run``: the run that changed it; ``since``: that run, and
    those that rolled back part of it; ``over_edits``: roll back even where somebody changed the
    unit since."""

    mode: Mode
    run: PastRun
    since: Callable[[], Sequence[PastRun]]
    over_edits: bool

    def transaction(self, unit: UnitRequest, kind: type[T]) -> T:
        """The transaction that the run recorded for the unit. Raises RefusedError if the run did
        not start it, SavedTextError if the record is damaged."""
        return self.run.transaction(unit.key, kind)


# The working context of a unit's driver.


def rollback_command(run: str, unit: UnitRequest, folder: Path, options: str = "") -> str:
    """The command that rolls back one unit of a run. ``folder``: of any run of that state
    folder."""
    words = f"rollback {run} --domain {word(unit.file or unit.name)} {options}".rstrip()
    return command(words, folder.parent.parent)


class BegunUnit(msgspec.Struct, frozen=True):
    """A unit whose change was started, as its driver receives it. Functions in ``at_end`` are
    called with its result. ``rollback_of``: the run that is rolled back; empty: a plan is
    applied."""

    unit: UnitRequest
    begin: Begin
    notes: UnitJournal
    texts: KeptTexts
    folder: Path
    limits: RunLimits
    clock: Clock
    tell: Callable[[str], None]
    trials: Trials | None
    at_end: list[Callable[[Result], None]]
    rollback_of: str

    def rollback_command(self, options: str) -> str:
        """The command that rolls back this unit alone or, in a rollback, tries that again."""
        return rollback_command(
            self.rollback_of or self.folder.name, self.unit, self.folder, options
        )

    def at(self, place: P, transaction: type[T]) -> UnitWork[P, T]:
        """The work on this unit at ``place``, with the transaction that its driver recorded. Raises
        SavedTextError if that is damaged."""
        own = {name: getattr(self, name) for name in BegunUnit.__struct_fields__}
        return UnitWork(**own, place=place, transaction=self.begin.of(transaction))


class UnitWork(BegunUnit, Generic[P, T], frozen=True):
    """The working context of a driver. ``place``: the connection to the unit; ``transaction``: the
    change to make."""

    place: P
    transaction: T


ENDS_THE_WORK = (NoResponseError, JournalError, GoneError)
"""Errors after which nothing can be done to a unit: its place does not answer, an action could not
be recorded, or the unit no longer exists."""


class Driver(ABC):
    """Changes units of one kind, for one command. A step is on a unit of that kind if its unit says
    so. Every method raises ActionError with what failed: NoResponseError if the other side stopped
    answering, GoneError if the unit no longer exists; RefusedError with the reason why nothing is
    started. The class variables let commands treat units without knowing their kind."""

    kind: ClassVar[str]
    sources: ClassVar[bool] = False
    """Guests are created from them later, so they are changed first, and no guest is
    interrupted."""
    is_text: ClassVar[bool] = False
    """They are text and do not affect running guests: their mode is ``next-boot``, whatever the
    plan says."""
    by_controller: ClassVar[bool] = False
    """They are changed on the controller that the user names: one controller of one cloud."""
    keeps_texts: ClassVar[bool] = False
    """A run saves their text before and after the change, not only the values that it changes."""
    may_move: ClassVar[bool] = False
    """A missing unit may be running elsewhere, unchanged."""
    unmeasured: ClassVar[str] = ""
    """The words for steps on units that ``--bench`` cannot measure; empty: it measures the running
    ones."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._adapters = session.adapters

    @classmethod
    @abstractmethod
    def key(cls, step: Step) -> str:
        """The key that all steps on one unit share."""

    @classmethod
    @abstractmethod
    def unit(cls, key: str, steps: tuple[Step, ...]) -> UnitRequest:
        """The unit that these steps are on."""

    def check(self, unit: UnitRequest) -> None:
        """Raises RefusedError for a unit whose place must not be contacted; called for all units
        before any place is contacted."""
        del unit

    @abstractmethod
    def open(self, unit: UnitRequest) -> None:
        """Connect to its place, and lock it against other runs. Raises TargetError,
        RefusedError."""

    @abstractmethod
    def prepare(
        self, unit: UnitRequest, steps: tuple[Step, ...], request: PrepareRequest
    ) -> Prepared:
        """Returns the change that the steps make to the unit in its present state. Changes nothing
        yet."""

    @abstractmethod
    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """Returns the change that undoes the run's work on the unit. Changes nothing yet."""

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """Returns the change that restores what the run saved of the unit, whatever has happened
        since: where that is only the values that it changed, :meth:`prepare_undo`."""
        return self.prepare_undo(unit, request)

    def can_restore(self, unit: UnitRequest, run: PastRun) -> bool:
        """True if the run saved something to restore the unit from."""
        if self.keeps_texts:
            return KeptTexts(run.folder, unit.key).has("before")
        return run.has_begun(unit.key)

    @abstractmethod
    def forward(self, work: BegunUnit) -> Result:
        """Change the unit as planned, or undo the change if that fails, from any point where an
        interrupted run left it."""

    @abstractmethod
    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Undo the change of the unit, from any point where an interrupted run left it."""

    @abstractmethod
    def present_state(self, unit: UnitRequest, begin: Begin) -> UnitState:
        """The present state of the unit."""

    def result_if_gone(
        self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool
    ) -> Result:
        """The result for a unit that no longer exists, with a message for the user. ``begun``: the
        run had started to change it; ``dry_run``: nothing was to be changed."""
        del unit, begun
        return Result("gone", str(error) if dry_run else f"{error}: there is nothing left to do")


class PlaceDriver(Driver, Generic[P]):
    """Changes units at places that are opened one by one. A unit goes on from any point where an
    interrupted run left it, forward or back, as its journal says."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._places: dict[str, P] = {}

    def open(self, unit: UnitRequest) -> None:
        """Connect to its place, and keep other runs away from it."""
        if unit.target in self._places:
            return
        with ExitStack() as opened:
            place = self.connected(unit.target, opened)
            opened.callback(self._places.pop, unit.target)
            self._session.at(unit.target).push(opened.pop_all())
        self._places[unit.target] = place

    @abstractmethod
    def connected(self, target: str, until: ExitStack) -> P:
        """The place, connected and locked until the stack is left. Raises TargetError,
        RefusedError."""

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """As :meth:`forward`, which finds in the journal that the change is to be undone."""
        del undoing
        return self.forward(work)


def steps_on(kind: type[UnitT], steps: Iterable[Step]) -> tuple[UnitStep[UnitT], ...]:
    """The steps, as the driver of units of that type gets them."""
    return tuple(cast(UnitStep[UnitT], step) for step in steps if isinstance(step.unit, kind))


POLL = 0.2
"""Seconds between two rounds of checks."""
_LATE_SECONDS = 2.0
"""Seconds to wait for what may be done late: storing a definition or a property takes some
milliseconds."""


def wait_until(clock: Clock, fact: Callable[[], bool], seconds: float, poll: float = POLL) -> bool:
    """True as soon as ``fact`` holds; False if it does not within ``seconds``. It is checked every
    ``poll`` seconds."""
    end = clock.monotonic() + seconds
    while not fact():
        if clock.monotonic() > end:
            return False
        clock.sleep(poll)
    return True


def wait_for_late(clock: Clock, has_come: Callable[[], bool]) -> None:
    """Wait for what was asked for without an answer being seen: it may be done only now, although
    the host or the cloud has answered another question since."""
    wait_until(clock, has_come, _LATE_SECONDS)


class CheckResults(NamedTuple):
    """The results of one round of checks. ``over``: missing facts will not appear by themselves, so
    waiting is pointless."""

    checks: tuple[Check, ...]
    over: bool = False

    @property
    def is_final(self) -> bool:
        """True if another round of checks would be pointless."""
        return self.over or not failed(self.checks)


def verify(
    work: BegunUnit, run_checks: Callable[[], CheckResults], poll: float = POLL
) -> tuple[Check, ...]:
    """The last results of every check: when all passed, when waiting was pointless, or when the
    guest's time was up. ``poll``: seconds between two rounds. An exception of ``run_checks`` (the
    other side stopped answering, the unit no longer exists) ends it."""
    seen = CheckResults(())

    def is_final() -> bool:
        nonlocal seen
        seen = run_checks()
        return seen.is_final

    wait_until(work.clock, is_final, work.limits.guest_deadline, poll)
    return seen.checks


def failed(checks: tuple[Check, ...]) -> str:
    """Details of the failed checks, as one text; empty if none failed."""
    return "; ".join(check.detail for check in checks if check.verdict == "failed")


# The table of all kinds of units, passed in by the command line, and the drivers of one command.


class KindTable:
    """The drivers of all kinds of units, each with a function that tells if a target has such units
    (an edited plan may send a step elsewhere)."""

    def __init__(self, drivers: Iterable[tuple[type[Driver], Callable[[str], bool]]]) -> None:
        drivers = tuple(drivers)
        self._by_name: dict[str, type[Driver]] = {driver.kind: driver for driver, _ in drivers}
        self._is_at: dict[str, Callable[[str], bool]] = {one.kind: is_at for one, is_at in drivers}

    def by_name(self, name: str) -> type[Driver]:
        """The driver of that kind. Raises UsageError if there is none."""
        if name not in self._by_name:
            known = ", ".join(sorted(self._by_name))
            raise UsageError(f"unknown kind of unit {name!r}; known are {known}")
        return self._by_name[name]

    def of(self, step: Step) -> type[Driver]:
        """The driver of the unit that a step is on. Raises UsageError for a step that none changes
        there, as from an edited plan."""
        kind = step.unit.kind
        if not self._is_at[kind](step.target):
            raise UsageError(
                f"step {step.id}: {step.target[:200]!r} has no units of kind {kind!r} "
                "that can be changed: undo your edits of the plan, or make a new one"
            )
        return self._by_name[kind]

    def unit_name(self, step: Step) -> str:
        """The name of the unit that a step changes; for one that cannot be changed there, the name
        of its domain (empty: it has none)."""
        if self._is_at[step.unit.kind](step.target):
            return self.of(step).unit("", (step,)).name
        return step.about.name or ""

    def by_controller(self, units: Iterable[UnitRequest | UnitRun]) -> list[str]:
        """The targets of the units that are changed on the controller that the user names."""
        names = {name for name, driver in self._by_name.items() if driver.by_controller}
        return [unit.target for unit in units if unit.kind in names]

    def may_have_moved(self, units: Iterable[UnitRequest | UnitRun]) -> bool:
        """True if one of these missing units is of a kind that may be running elsewhere,
        unchanged."""
        names = {name for name, driver in self._by_name.items() if driver.may_move}
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

    def of(self, unit: UnitRequest) -> Driver:
        """The driver of a unit. Raises UsageError for an unknown kind."""
        return self._session.once(self.kinds.by_name(unit.kind))

    def check(self, units: Iterable[UnitRequest]) -> None:
        """Raises RefusedError if the place of one of these units must not be contacted."""
        for unit in units:
            self.of(unit).check(unit)

    def open(self, units: Iterable[UnitRequest]) -> None:
        """Connect to the places of these units, and keep other runs away from them. A place that
        cannot be opened is not tried again. Raises TargetError, NoResponseError and
        RefusedError."""
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
