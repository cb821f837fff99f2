"""The interface between runs and what they change: units of one kind, and the driver that changes
them.

A run knows units (``UnitRequest``), their lines in the journal, and the driver of their kind. Only
its driver knows what a unit is, how it is reached, what is recorded about it and how it is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from vnicaudit.errors import GoneError
from vnicaudit.model.plan import Mode, Step, Unit, UnitStep, UnitT_co
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.journal.events import Begin, Undoing
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.journal.transaction import NicChanges, Transaction
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.applying.work import BegunUnit

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
