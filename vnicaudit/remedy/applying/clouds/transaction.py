"""The transaction of one server, image or flavor: everything recorded about it before its
change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Generic, Literal, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import word
from vnicaudit.errors import JournalError, SilentError, VnicauditError
from vnicaudit.model.plan import CloudObject, CloudUnitT, Mode, UnitInCloud, UnitStep
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.nova_manage import Manage, Nodes, doubtful
from vnicaudit.remedy.applying.domains.definition_transactions import GuestBefore
from vnicaudit.remedy.applying.history import may_be_off
from vnicaudit.remedy.applying.journal.events import Properties, Result, Transaction, UnitRequest
from vnicaudit.remedy.applying.journal.journal_file import Entry, begin_of
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.verifying import UnitWork
from vnicaudit.remedy.hypervisor import Adapters, Cloud
from vnicaudit.remedy.planning.cloud.properties import diff
from vnicaudit.remedy.replacing import UnitRefusedError, kept_digest
from vnicaudit.text.diff import client


class ServerBefore(msgspec.Struct, frozen=True):
    """The state of a running server before its change. ``ports``: ids of its ACTIVE ports;
    ``sent``: MAC -> True if Nova counted packets from it; ``domain``: the state reported by its
    hypervisor and its guest's agent, where they could be asked."""

    ports: tuple[str, ...] = ()
    sent: dict[str, bool] = {}
    domain: GuestBefore | None = None


class CloudTransaction(Transaction, frozen=True, kw_only=True):
    """The change of one object. ``before``: the properties before it; ``goal``: the properties
    after it; ``back``: the properties after a rollback, not always the same as ``before``, as a
    property that Nova stores cannot be unset. ``nic_changes``: the expected changes of its NICs in
    the domain's definition, where that can be read. ``shared``: volumes that other servers have
    attached too."""

    object: CloudObject
    id: str
    before: Properties
    goal: Properties
    back: Properties
    state: str = ""
    """Of a server: its status before the change."""
    server_before: ServerBefore = ServerBefore()
    again: bool = False
    """Of a server: an earlier run may have half set the properties that it shows, so they are set
    once more."""
    copy: str = ""
    """Of a flavor: the id of the copy that is made."""
    copy_name: str = ""
    removes: bool = False
    """Of a flavor: the copy is to be deleted, in a rollback."""
    caution: str = ""
    """A caution to show after the change."""

    def inverse(self) -> CloudTransaction:
        """The transaction that undoes this one."""
        return replace(
            self,
            before=self.goal,
            goal=self.back,
            back=self.goal,
            nic_changes=tuple(one.inverse() for one in reversed(self.nic_changes)),
            removes=not self.removes,
        )

    def command(self, words: str) -> str:
        """The client command for doing something to the object by hand: ``words``, then its id."""
        return f"{client(self.target)} {words} {word(self.id)}"


# The working context of the driver for servers, images and flavors.


class CloudPlace(NamedTuple):
    """The connection to a cloud, for the work on its units. ``thorough``: nova-manage is asked
    about each server before it is stopped, not only once."""

    cloud: Cloud
    manage: Manage
    nodes: Nodes
    adapters: Adapters
    thorough: bool


CloudWork = UnitWork[CloudPlace, CloudTransaction]


# Servers that earlier runs left powered off or with half-set properties.


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


# The actions on each kind of object in a cloud: servers, images and flavors.


DRIFT = "it changed since the plan was made: make a new plan"
EDITED = (
    "somebody has changed it since: check it, then use --over-edits to put the property back anyway"
)

ENDS_THE_RUN = (SilentError, JournalError)
"""Errors that end the run: the cloud does not answer, or an action could not be recorded."""

ObjectState = tuple[Literal["in-effect", "waiting", "differs"], str, tuple[Check, ...]]


class PrepareUndo(Protocol):
    """Makes the transaction that undoes another one, from the inverse of that; None: it is undone
    already."""

    def __call__(
        self,
        transaction: CloudTransaction,
        place: CloudPlace,
        leftovers: Leftovers,
        *,
        over_edits: bool,
    ) -> CloudTransaction | None:
        """``over_edits``: undo it even if somebody changed the object since."""


class ObjectActions(msgspec.Struct, Generic[CloudUnitT], frozen=True):
    """The actions on objects of one kind. Each raises ActionError if something cannot be determined
    or done, RefusedError with the reason if the change is not started. ``prepare`` completes the
    transaction of a step (None: the object has all of it already), ``verify`` tells the present
    state, and why."""

    prepare: Callable[
        [CloudTransaction, UnitStep[CloudUnitT], CloudPlace, Leftovers], CloudTransaction | None
    ]
    prepare_undo: PrepareUndo
    forward: Callable[[CloudWork], Result]
    undo: Callable[[CloudWork, str, Outcome], Result]
    verify: Callable[[CloudPlace, CloudTransaction], ObjectState]


def undo_one(back: Callable[[], None], reason: str, outcome: Outcome, as_before: str) -> Result:
    """The result of undoing the change of an image or a flavor. No guest is concerned, so ``back``
    does all the work. ``as_before``: the words for what is as before then. Raises errors that end
    the run."""
    try:
        back()
    except ENDS_THE_RUN:
        raise
    except VnicauditError as error:
        why = f"{reason}; not everything could be undone: {error}"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason}; {as_before}")


# A step of a plan -> a transaction, after checking the present state. Nothing is changed here.


def prepare(
    unit: UnitRequest,
    steps: tuple[UnitStep[CloudUnitT], ...],
    place: CloudPlace,
    mode: Mode,
    leftovers: Leftovers,
    actions: ObjectActions[CloudUnitT],
) -> CloudTransaction | None:
    """The transaction of the one step on a unit; None: the unit has all of it already. Raises
    RefusedError with the reason if the change is not started, ActionError if the state cannot be
    determined."""
    if len(steps) > 1:
        raise UnitRefusedError(
            "the plan must have exactly one step for it, with the properties to set", "plan"
        )
    first = steps[0]
    part = first.unit
    _check_step(first)
    transaction = CloudTransaction(
        unit.key, first.about.name or first.about.id or "", first.target, (first.id,), mode,
        object=part.kind, id=first.about.id or "",
        before=dict(part.old), goal=dict(part.properties), back=dict(part.old),
    )  # fmt: skip
    return actions.prepare(transaction, first, place, leftovers)


def _check_step(step: UnitStep[UnitInCloud]) -> None:
    """Raises RefusedError if a step would do something other than what was reviewed."""
    part, name = step.unit, step.about.name or step.about.id or ""
    if set(part.old) != set(part.properties) or not part.properties:
        raise UnitRefusedError(
            f"step {step.id}: its properties do not match its changes: make a new plan", "plan"
        )
    made_from = kept_digest(part.kind, step.about.id, part.old)
    if made_from != step.digest or diff(name, part.old, part.properties) != step.diff:
        raise UnitRefusedError(
            f"step {step.id}: the change does not match its diff: make a new plan",
            "plan",
        )
