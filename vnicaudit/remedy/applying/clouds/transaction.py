"""The change of one server, image or flavor: its transaction, and the driver that the three kinds
share.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Literal, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import word
from vnicaudit.errors import JournalError, NoResponseError
from vnicaudit.model.plan import Step, UnitInCloud
from vnicaudit.model.runs import Check, Outcome, UnitState
from vnicaudit.remedy.applying.clouds.nova_manage import Manage, Nodes, doubtful
from vnicaudit.remedy.applying.domains.definition_transactions import GuestBefore
from vnicaudit.remedy.applying.driver import (
    BegunUnit,
    Driver,
    Prepared,
    PrepareRequest,
    UndoRequest,
    UnitWork,
)
from vnicaudit.remedy.applying.history import may_be_off
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    Properties,
    Result,
    Transaction,
    Undoing,
    UnitRequest,
    unit_of,
)
from vnicaudit.remedy.applying.journal.journal_file import Entry, begin_of
from vnicaudit.remedy.applying.journal.past_run import all_past
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.hypervisor import Adapters, Cloud
from vnicaudit.remedy.planning.cloud.properties import diff
from vnicaudit.remedy.replacing import UnitRefusedError, check_diff, kept_digest, short_digest
from vnicaudit.text.targets import client


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

    target: str
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


class EarlierRuns:
    """The conditions in which earlier runs left units of one kind; the runs are read once for all
    units."""

    def __init__(self, kind: str, state: StateFolder) -> None:
        self._kind = kind
        self._state = state

    @cached_property
    def off(self) -> frozenset[str]:
        """Ids of the servers that the last run on them stopped and left off, although they ran
        before."""
        return self._newest(lambda lines: begin_of(lines) and bool(may_be_off(lines)))

    @cached_property
    def in_doubt(self) -> frozenset[str]:
        """Ids of the servers for which the last run that set a property does not know whether all
        of it was set."""
        return self._newest(doubtful)

    def _newest(self, condition: Callable[[tuple[Entry, ...]], object]) -> frozenset[str]:
        """Ids of the units for which this is true of the newest run of which it is not None."""
        found: dict[str, object] = {}
        for run in all_past(self._state):
            for unit in run.request.units:
                if unit.kind != self._kind or unit.uuid is None or unit.uuid in found:
                    continue
                if (now := condition(run.of(unit.key))) is not None:
                    found[unit.uuid] = now
        return frozenset(id for id, now in found.items() if now)


# The drivers of the three kinds of objects: servers, images and flavors.


ENDS_THE_RUN = (NoResponseError, JournalError)
"""Errors that end the run: the cloud does not answer, or an action could not be recorded."""

DRIFT = "it changed since the plan was made: make a new plan"
_EDITED = (
    "somebody has changed it since: check it, then use --over-edits to put the property back anyway"
)


class CloudRequest(NamedTuple):
    """A requested change of an object. ``transaction``: without what only the driver of its kind
    knows; ``step``: the plan's step, None: an earlier transaction is undone. ``was_left_off``: an
    earlier run stopped the server and never started it again; ``in_doubt``: its properties may be
    half set. ``over_edits``: undo it even if somebody changed the object since."""

    transaction: CloudTransaction
    step: Step | None
    was_left_off: bool
    in_doubt: bool
    over_edits: bool = False

    def drifted(self, what: str) -> UnitRefusedError:
        """The error for an object that is neither as before nor as wanted; ``what`` differs."""
        if self.step is None:
            return UnitRefusedError(f"{_EDITED} ({what})", "edited")
        return UnitRefusedError(f"{DRIFT} ({what})", "drift")


ObjectState = tuple[Literal["in-effect", "waiting", "differs"], str, tuple[Check, ...]]


class Clouds:
    """The clouds that one command reaches, and the access to them beside their APIs."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: dict[str, Cloud] = {}
        reach, connect = session.reach, session.adapters.connect
        self._manage = Manage(reach.manage, reach.jobs)
        self._nodes = Nodes(reach.libvirt, session.deadline, session.stack, connect)

    def open(self, target: str) -> None:
        """Connect to a cloud, and keep other runs away from it."""
        if target in self._open:
            return
        name = target.partition(":")[2]
        cloud = self._session.adapters.cloud(name, deadline=self._session.deadline)
        self._session.stack.callback(cloud.close)
        self._session.hold(cloud.key, cloud.name)
        self._open[target] = cloud

    def place(self, target: str) -> CloudPlace:
        """The connection to the cloud of that name."""
        session = self._session
        return CloudPlace(
            self._open[target], self._manage, self._nodes, session.adapters, thorough=session.holds
        )


class CloudDriver(Driver):
    """Changes objects of one kind."""

    unmeasured = "of a cloud"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._clouds = session.once(Clouds)
        self._earlier = EarlierRuns(self.kind, session.state)

    @classmethod
    def key(cls, step: Step) -> str:
        """A digest, as ids of flavors may contain anything."""
        which = f"{step.target}\n{step.about.id}".encode()
        return f"{cls.kind}-{short_digest(which, 24)}"

    @classmethod
    def unit(cls, key: str, steps: tuple[Step, ...]) -> UnitRequest:
        """The object, which has no NICs of its own."""
        return unit_of(key, steps, cls.kind, steps[0].about.name_or_id, macs=())

    def open(self, unit: UnitRequest) -> None:
        """Connect to its cloud, by its name in the user's own clouds.yaml."""
        self._clouds.open(unit.target)

    def prepare(
        self, unit: UnitRequest, steps: tuple[Step, ...], request: PrepareRequest
    ) -> Prepared:
        """The change that sets the properties of the unit's step."""
        if len(steps) > 1:
            raise UnitRefusedError(
                "the plan must have exactly one step for it, with the properties to set", "plan"
            )
        first, part = steps[0], cast(UnitInCloud, steps[0].unit)
        _check_step(first, part)
        transaction = CloudTransaction(
            request.mode, target=first.target, id=first.about.id or "",
            before=dict(part.old), goal=dict(part.properties), back=dict(part.old),
        )  # fmt: skip
        return self._completed(unit, transaction, first)

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that restores the properties from before the run."""
        transaction = request.transaction(unit, CloudTransaction)
        back = replace(transaction.inverse(), mode=request.mode)
        return self._completed(unit, back, None, over_edits=request.over_edits)

    def forward(self, work: BegunUnit) -> Result:
        """Set the properties and check the result."""
        with _hinting(work):
            return self.change(work.at(self._clouds.place(work.unit.target), CloudTransaction))

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Restore the properties from before the run."""
        with _hinting(work):
            at_work = work.at(self._clouds.place(work.unit.target), CloudTransaction)
            return self.put_back(at_work, undoing.reason, undoing.outcome)

    def present_state(self, unit: UnitRequest, begin: Begin) -> UnitState:
        """The state of the unit now, compared with the transaction of the run."""
        place = self._clouds.place(unit.target)
        return UnitState(unit.name, *self.state(place, begin.of(CloudTransaction)))

    def _completed(
        self,
        unit: UnitRequest,
        transaction: CloudTransaction,
        step: Step | None,
        *,
        over_edits: bool = False,
    ) -> Prepared:
        off, in_doubt = unit.uuid in self._earlier.off, unit.uuid in self._earlier.in_doubt
        wanted = CloudRequest(transaction, step, off, in_doubt, over_edits)
        made = self.completed(wanted, self._clouds.place(unit.target))
        left_off = made is not None and made.active and made.state != "ACTIVE"
        note = "an earlier run left it off: it will be started at the end" if left_off else ""
        return Prepared(made, note=note)

    # What each kind of object does in its own way.

    @abstractmethod
    def completed(self, request: CloudRequest, place: CloudPlace) -> CloudTransaction | None:
        """The transaction, completed; None: there is nothing left to do. Raises RefusedError if the
        object changed since the plan was made, or the run."""

    @abstractmethod
    def change(self, work: CloudWork) -> Result:
        """Set the properties and check the result."""

    @abstractmethod
    def put_back(self, work: CloudWork, reason: str, outcome: Outcome) -> Result:
        """Undo the change."""

    @abstractmethod
    def state(self, place: CloudPlace, transaction: CloudTransaction) -> ObjectState:
        """``(state, detail, checks)`` of the object now."""


@contextmanager
def _hinting(work: BegunUnit) -> Iterator[None]:
    """If the work ends at once, add which server may be off because of it, and how to start it by
    hand."""
    try:
        yield
    except ENDS_THE_RUN as error:
        hint = may_be_off(work.notes.entries())
        raise type(error)(f"{error}; {work.unit.name}: {hint}" if hint else str(error)) from error


def _check_step(step: Step, part: UnitInCloud) -> None:
    """Raises RefusedError if a step would do something other than what was reviewed."""
    if set(part.old) != set(part.properties) or not part.properties:
        raise UnitRefusedError(
            f"step {step.id}: its properties do not match its changes: make a new plan", "plan"
        )
    check_diff(
        step, diff(step.about.name_or_id, part.old, part.properties),
        kept_digest(part.kind, step.about.id, part.old),
    )  # fmt: skip
