"""The interface to a live platform for applying a plan, and how it is reached.

Every method raises ActionError with what failed: SilentError if the host stopped answering (the
request may still take effect), GoneError if the domain no longer exists, GuestError if the guest
did not carry out the request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.host_lock import HostLock
from vnicaudit.model.machine import MachineState, Traffic
from vnicaudit.model.nic import RunningNic
from vnicaudit.model.running import RunningQemu


class Machine(Protocol):
    """One domain of a host."""

    name: str
    uuid: str

    def state(self) -> MachineState:
        """The state that decides whether the domain may be changed now."""

    def definition(self, *, secrets: bool) -> bytes:
        """The persistent definition."""

    def live(self) -> bytes:
        """The running definition; for a domain that is off, the persistent one."""

    def define(self, text: bytes) -> None:
        """Make this the persistent definition; it is checked against the schema."""

    def shut_down(self, *, agent: bool) -> None:
        """Ask the guest to shut down, by its agent or its power button. Returns at once."""

    def power_off(self) -> None:
        """Power it off at once, like pulling the plug."""

    def start(self) -> None:
        """Start it from its persistent definition."""

    def detach(self, element: bytes) -> None:
        """Ask the running guest to release a NIC. Returns at once."""

    def attach(self, element: bytes) -> None:
        """Plug a NIC into the running guest."""

    def traffic(self, device: str) -> Traffic | None:
        """Packets of the NIC behind a tap; None if the host cannot count them."""

    def vcpu_delays(self) -> tuple[int | None, ...]:
        """Nanoseconds that each vCPU has waited for a CPU so far; None if unknown."""

    def addresses(self, source: str) -> dict[str, tuple[str, ...]]:
        """MAC -> addresses, from the host's DHCP leases (``lease``) or ARP table (``arp``)."""

    def ask_agent(self, command: str, seconds: int, **arguments: object) -> object:
        """The answer of the guest's agent to a command of its protocol."""


class Hypervisor(Protocol):
    """One host. ``key`` is the same however the host was reached; ``local``: it is this machine,
    whose processes can be inspected."""

    uri: str
    key: str
    name: str
    local: bool
    deadline: float

    def machine(self, uuid: str) -> Machine:
        """The domain with that UUID. Raises GoneError if there is none."""

    def find(self, name: str) -> Machine:
        """The domain of that name, or of that UUID."""

    def take_lock(self, lock: HostLock) -> HostLock:
        """Returns the lock that is on the host now: this one, or that of another owner, which
        blocks the run. Raises ActionError if the host cannot hold a lock."""

    def find_lock(self) -> HostLock | None:
        """Returns the lock on the host; None: there is none. Raises ActionError."""

    def drop_lock(self, owner: str) -> None:
        """Remove the lock of that owner. Raises ActionError."""

    def close(self) -> None:
        """Disconnect."""


class ConnectHypervisor(Protocol):
    """How a host is reached."""

    def __call__(self, uri: str, *, deadline: float) -> Hypervisor:
        """A host on which domains can be changed; ``deadline``: timeout in seconds of one call.
        Raises TargetError if it cannot be reached."""


class RunningProcess(NamedTuple):
    """A domain's QEMU on this machine: the NICs on its command line (not those plugged in later),
    and how many descriptors it has open on vhost-net; None if that is unknown."""

    nics: tuple[RunningNic, ...]
    vhost_files: int | None


class ReadCommandLine(Protocol):
    """Reads a process's command line, from any machine."""

    def __call__(self, data: bytes, *, target: str, file: str | None) -> Iterable[RunningQemu]:
        """The QEMU of a ``/proc/PID/cmdline``; None for another program. Raises TargetError if it
        cannot be understood."""


class ThisMachine(Protocol):
    """The machine that this program runs on."""

    def running_process(self, uuid: str) -> RunningProcess | None:
        """The QEMU of that domain; None if there is none, or it cannot be inspected."""

    def arp_table(self) -> dict[str, tuple[str, ...]]:
        """MAC -> IPv4 addresses, as this machine knows them."""

    def vdpa_devices(self) -> tuple[VdpaDevice, ...]:
        """The vhost-vDPA devices of this machine."""
