"""The events in the journal of a run: one record for each kind of line.

A resumed run relies on them, so nothing is guessed: a line of an unknown kind, or with other data,
is damaged. The names (tags) and fields are those of the journal's lines.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import UUID
from vnicaudit.errors import SavedTextError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import Change
from vnicaudit.model.guest_network import GuestNetwork
from vnicaudit.model.plan import Mode, Step
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.hypervisor import MANAGE_SECONDS
from vnicaudit.remedy.replacing import read_file

# The request of a run, saved before the run starts.


T = TypeVar("T")
REQUEST = "run.json"
SCHEMA: Literal["vnicaudit.run/1"] = "vnicaudit.run/1"


class RunLimits(msgspec.Struct, frozen=True):
    """``guest_deadline``: seconds a guest may take to shut down, and to come back. ``force_off``:
    power off a guest that does not shut down. ``manage_seconds``: how long a nova-manage call may
    take, and how long one with unknown result may still be working. ``confirm_seconds``: how long a
    host waits for a new connection before it sets back what may have cut the way to it."""

    guest_deadline: float = 300.0
    force_off: bool = False
    manage_seconds: float = MANAGE_SECONDS
    confirm_seconds: float = 60.0


class UnitRequest(msgspec.Struct, frozen=True):
    """One unit of a run (a domain, a file, a server …), in the order in which they are to be
    changed. ``uuid`` or ``file`` identify it within its kind."""

    key: str
    name: str
    target: str
    steps: tuple[str, ...]
    macs: tuple[str, ...]
    kind: str
    """The ``kind`` of its driver."""
    uuid: str | None = None
    file: str | None = None
    exclusive: tuple[str, ...] = ()
    """Server groups and the like that it shares with other units, of which one is changed at a
    time."""

    @property
    def place(self) -> str:
        """The file that it is in, or else its target."""
        return self.file or self.target

    @property
    def is_unique(self) -> bool:
        """True if the unit is identified however it is reached: by its UUID, or by its file on this
        machine."""
        return self.file is not None or UUID.fullmatch(self.uuid or "") is not None

    def file_holds(self, content: bytes) -> bool:
        """True if the unit is a file with exactly this content. Raises RefusedError if the file
        cannot be read."""
        return self.file is not None and content == read_file(self.file, len(content) + 1)


class RunRequest(msgspec.Struct, frozen=True):
    """``plan`` is the digest of the plan's file; of a rollback, the id of the run it undoes."""

    id: str
    kind: Literal["apply", "rollback"]
    started: str
    plan: str
    mode: Mode
    units: tuple[UnitRequest, ...]
    limits: RunLimits = RunLimits()
    schema: Literal["vnicaudit.run/1"] = SCHEMA
    host_by_host: bool = False
    """For a fleet: each host is opened, and locked, only while there is work on it."""
    without_host_lock: bool = False
    host_names: dict[str, str] = {}
    """URI -> the name in the inventory of the plan."""

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets of its units, each once."""
        return tuple(dict.fromkeys(unit.target for unit in self.units))


def unit_of(
    key: str,
    steps: tuple[Step, ...],
    kind: str,
    name: str,
    *,
    macs: tuple[str, ...] | None = None,
    file: str | None = None,
    exclusive: tuple[str, ...] = (),
) -> UnitRequest:
    """The unit of a kind that all these steps are on, identified by its UUID, or by its file if it
    is in one. ``macs``: its NICs, if the steps are not on one NIC each."""
    first = steps[0]
    if macs is None:
        macs = tuple(step.about.mac or "" for step in steps)
    return UnitRequest(
        key, name, first.target, tuple(step.id for step in steps), macs, kind,
        uuid=first.about.id if file is None else None, file=file, exclusive=exclusive,
    )  # fmt: skip


# The transaction of a unit: everything recorded about the unit before its change starts.


class NicChanges(msgspec.Struct, frozen=True):
    """The changes of one NIC. ``index`` is its place among the domain's NICs, ``number`` its place
    among the ``<interface>`` elements, from 1."""

    index: int
    number: int
    mac: str
    changes: tuple[Change, ...]

    def inverse(self) -> NicChanges:
        """The changes that undo these."""
        back = tuple(
            replace(change, old=change.new, new=change.old) for change in reversed(self.changes)
        )
        return replace(self, changes=back)


class Transaction(msgspec.Struct, frozen=True):
    """The fields that the transactions of all kinds of units share; the record of each driver adds
    its own. What the unit is, and where, is in its :class:`UnitRequest`. ``active``: the guest ran
    when the unit was started, and is to run when it ends; ``shared``: resources of the unit whose
    users are changed one at a time; ``start``: the command that starts the guest by hand, if a run
    may leave it off."""

    mode: Mode
    nic_changes: tuple[NicChanges, ...] = ()
    active: bool = False
    shared: tuple[str, ...] = ()
    start: str = ""

    @property
    def macs(self) -> tuple[str, ...]:
        """MACs of the NICs that it changes."""
        return tuple(one.mac for one in self.nic_changes)


# The lines of the journal.


Properties = dict[str, str | None]
"""Names of properties as a cloud has them -> values; None: not set."""


class BaseEvent(msgspec.Struct, frozen=True, tag_field="event", forbid_unknown_fields=True):
    """The base of all journal events; it has no fields."""


class OfNic(BaseEvent, frozen=True):
    """Base of events about one NIC."""

    mac: str


# -- the run, and each unit of it


class Run(BaseEvent, frozen=True, tag="run"):
    """The first line, with the request of the run, as in ``run.json``."""

    request: RunRequest


class Begin(BaseEvent, frozen=True, tag="begin"):
    """Work on a unit starts. ``transaction``: everything that its driver has to record."""

    transaction: msgspec.Raw

    def common(self) -> Transaction:
        """The part of the transaction that all drivers share. Raises ValidationError if the line
        has other data."""
        return json_as(self.transaction, Transaction)

    def of(self, kind: type[T]) -> T:
        """The transaction, as its driver recorded it. Raises SavedTextError if the line has other
        data."""
        try:
            return json_as(self.transaction, kind)
        except msgspec.MsgspecError as error:
            raise SavedTextError(f"its first journal entry is damaged: {error}") from None


class Undoing(BaseEvent, frozen=True, tag="undoing"):
    """The unit is being rolled back because of ``reason``; ``outcome`` is its outcome
    afterwards."""

    reason: str
    outcome: Outcome


class Result(BaseEvent, frozen=True, tag="done"):
    """The unit is finished: its result, as its driver returned it."""

    outcome: Outcome
    message: str = ""
    checks: tuple[Check, ...] = ()
    downtime: float | None = None
    undone: bool = True
    """For a failed unit: everything was undone."""
    waits: bool = False
    """The change takes effect when the running guest is powered off and on."""
    codes: tuple[str, ...] = ()
    """For a refused unit: the reasons, for programs."""


class End(BaseEvent, frozen=True, tag="end", omit_defaults=True):
    """The run is over. ``stopped``: why it was not continued; ``rolled_back``: everything it had
    started was undone."""

    stopped: str = ""
    rolled_back: bool = False


# -- definitions and files


class Defining(BaseEvent, frozen=True, tag="defining"):
    """The goal is about to be made the persistent definition."""


class Defined(BaseEvent, frozen=True, tag="defined"):
    """The goal was defined. ``settled``: digest of the definition that the hypervisor made of it,
    which is saved."""

    settled: str


class KeptRunning(BaseEvent, frozen=True, tag="kept"):
    """The running definition was saved. ``running``: its digest."""

    running: str


class Replacing(BaseEvent, frozen=True, tag="replacing"):
    """The new content is about to be written to a file."""


class Patching(BaseEvent, frozen=True, tag="patching"):
    """The object of a cluster, which has that resourceVersion, is about to be patched."""

    version: str


class Patched(BaseEvent, frozen=True, tag="patched"):
    """It was patched, and has that resourceVersion now."""

    version: str


# -- a guest's power


class Stopping(BaseEvent, frozen=True, tag="stopping", omit_defaults=True):
    """The guest is asked to stop, ``by`` its agent, its power button or force; ``instance``: UID of
    the instance of a virtual machine that is to be replaced."""

    by: str = ""
    instance: str = ""


class Stopped(BaseEvent, frozen=True, tag="stopped"):
    """The guest was seen to be off."""


class StayedOn(BaseEvent, frozen=True, tag="stayed on"):
    """The guest did not stop."""


class Starting(BaseEvent, frozen=True, tag="starting", omit_defaults=True):
    """The guest is asked to start, ``by`` a start or a hard reboot."""

    by: str = ""


class Started(BaseEvent, frozen=True, tag="started", omit_defaults=True):
    """The guest was seen running; ``instance``: UID of its instance, in a cluster."""

    instance: str = ""


# -- NICs of a running guest


class Captured(OfNic, frozen=True, tag="captured"):
    """The network settings of the guest on this NIC. ``seconds``: time of the capture, in seconds
    since the epoch."""

    network: GuestNetwork
    seconds: float


class Detaching(OfNic, frozen=True, tag="detaching"):
    """The guest is asked to release the NIC."""


class Detached(OfNic, frozen=True, tag="detached"):
    """The guest has released the NIC."""


class Stayed(OfNic, frozen=True, tag="stayed"):
    """The guest did not release the NIC."""


class Attaching(OfNic, frozen=True, tag="attaching"):
    """The NIC is being plugged into the guest."""


class Attached(OfNic, frozen=True, tag="attached"):
    """The guest has accepted the NIC."""


class Restoring(OfNic, frozen=True, tag="restoring"):
    """The captured network settings are being restored on the NIC."""


class Restored(OfNic, frozen=True, tag="restored"):
    """The NIC has its captured network settings again."""


# -- properties


class Arming(BaseEvent, frozen=True, tag="arming"):
    """A timer of that name is about to be armed on the ``host`` (its identity until it is started
    again), which runs a script with that ``digest`` (SHA-256) after so many ``seconds``."""

    timer: str
    digest: str
    seconds: int
    host: str


class Setting(BaseEvent, frozen=True, tag="setting"):
    """The properties are about to be set."""

    properties: Properties


class Set(BaseEvent, frozen=True, tag="set", omit_defaults=True):
    """The properties were set. ``along``: others that changed with them, as they are now."""

    along: Properties = {}


class NotSet(BaseEvent, frozen=True, tag="not set"):
    """None of the properties was set."""


class HalfSet(BaseEvent, frozen=True, tag="half set"):
    """Some of the properties may have been set."""


class Settled(BaseEvent, frozen=True, tag="settled"):
    """All properties were restored, and a late set is no longer possible."""


class Copying(BaseEvent, frozen=True, tag="copying"):
    """A copy with that id and name is about to be made."""

    id: str
    name: str


class Removing(BaseEvent, frozen=True, tag="removing"):
    """The copy with that id is about to be deleted."""

    id: str


Event = (
    Run | Begin | Undoing | Result | End
    | Defining | Defined | KeptRunning | Replacing | Patching | Patched
    | Stopping | Stopped | StayedOn | Starting | Started
    | Captured | Detaching | Detached | Stayed | Attaching | Attached | Restoring | Restored
    | Arming | Setting | Set | NotSet | HalfSet | Settled | Copying | Removing
)  # fmt: skip
"""Any event."""

ANNOUNCE_NOTHING = (Begin, Defined, Result)
"""Events that announce no change, as every change has a line of its own that announces it. If one
of these is lost, a resumed run checks the unit again and reaches the same result."""


def mac_of(event: BaseEvent) -> str:
    """The MAC of the NIC that the event is about; empty: it is about no NIC."""
    return event.mac if isinstance(event, OfNic) else ""


def name_of(event: BaseEvent) -> str:
    """The tag of the event, which names its kind of line in the journal."""
    return str(event.__struct_config__.tag)
