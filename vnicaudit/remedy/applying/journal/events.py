"""The events in the journal of a run: one record for each kind of line.

A resumed run relies on them, so nothing is guessed: a line of an unknown kind, or with other data,
is damaged. The names (tags) and fields are those of the journal's lines.
"""

from __future__ import annotations

import msgspec

from vnicaudit.model.guest_network import GuestNetwork
from vnicaudit.model.runs import Check, Outcome, Verdict
from vnicaudit.remedy.applying.journal.run_request import UnitIdentity

Properties = dict[str, str | None]
"""Names of properties as a cloud has them -> values; None: not set."""


class BaseEvent(msgspec.Struct, frozen=True, tag_field="event"):
    """The base of all journal events; it has no fields."""


class OfNic(BaseEvent, frozen=True):
    """Base of events about one NIC."""

    mac: str


# -- the run, and each unit of it


class Run(BaseEvent, frozen=True, tag="run"):
    """The first line: the request of the run (a RunRequest), as in ``run.json``."""

    request: msgspec.Raw


class Begin(BaseEvent, frozen=True, tag="begin"):
    """Work on a unit starts. ``transaction``: everything that its driver has to record; ``of``: the
    unit's identity, equal to that of its UnitRequest."""

    transaction: msgspec.Raw
    of: UnitIdentity


class Undoing(BaseEvent, frozen=True, tag="undoing"):
    """The unit is being rolled back because of ``reason``; ``outcome`` is its outcome
    afterwards."""

    reason: str
    outcome: Outcome


class Done(BaseEvent, frozen=True, tag="done"):
    """The unit is finished. ``checks``: name, verdict and detail of each check."""

    outcome: Outcome
    message: str = ""
    checks: tuple[tuple[str, Verdict, str], ...] = ()
    downtime: float | None = None
    undone: bool = True
    """For a failed unit: everything was undone."""
    waits: bool = True
    """False: the running guest is known to be as wanted."""
    codes: tuple[str, ...] = ()
    """For a refused unit: the reasons, for programs."""

    @property
    def check_records(self) -> tuple[Check, ...]:
        """The checks of the unit, as records."""
        return tuple(Check(*row) for row in self.checks)


class End(BaseEvent, frozen=True, tag="end", omit_defaults=True):
    """The run is over. ``stopped``: why it was not continued; ``taken_back``: everything it had
    started was undone."""

    stopped: str = ""
    taken_back: bool = False


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


# -- a guest's power


class Stopping(BaseEvent, frozen=True, tag="stopping", omit_defaults=True):
    """The guest is asked to stop, ``by`` its agent, its power button or force."""

    by: str = ""


class Stopped(BaseEvent, frozen=True, tag="stopped"):
    """The guest was seen to be off."""


class StayedOn(BaseEvent, frozen=True, tag="stayed on"):
    """The guest did not stop."""


class Starting(BaseEvent, frozen=True, tag="starting", omit_defaults=True):
    """The guest is asked to start, ``by`` a start or a hard reboot."""

    by: str = ""


class Started(BaseEvent, frozen=True, tag="started"):
    """The guest was seen running."""


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


class Setting(BaseEvent, frozen=True, tag="setting"):
    """The properties are about to be set."""

    properties: Properties


class Set(BaseEvent, frozen=True, tag="set"):
    """The properties were set."""


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
    Run | Begin | Undoing | Done | End
    | Defining | Defined | KeptRunning | Replacing
    | Stopping | Stopped | StayedOn | Starting | Started
    | Captured | Detaching | Detached | Stayed | Attaching | Attached | Restoring | Restored
    | Setting | Set | NotSet | HalfSet | Settled | Copying | Removing
)  # fmt: skip
"""Any event."""

ANNOUNCE_NOTHING = (Begin, Defined, Done)
"""Events that announce no change, as every change has a line of its own that announces it. If one
of these is lost, a resumed run checks the unit again and reaches the same result."""


def name_of(event: BaseEvent) -> str:
    """The tag of the event, which names its kind of line in the journal."""
    return str(event.__struct_config__.tag)
