"""The interface to a live platform for applying a plan, and how it is reached.

Every method raises ActionError with what failed: SilentError where the host stopped answering (what
was asked may still happen), GoneError where the domain is not there any more, GuestError where the
guest did not do it.
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
        """The definition that runs; of a domain that is off, the persistent one."""

    def define(self, text: bytes) -> None:
        """Make this the persistent definition; it is checked against the schema."""

    def shut_down(self, *, agent: bool) -> None:
        """Ask the guest to shut down, by its agent or its power button. Returns at once."""

    def power_off(self) -> None:
        """End it, as pulling the plug would."""

    def start(self) -> None:
        """Start it from its persistent definition."""

    def detach(self, element: bytes) -> None:
        """Ask the running guest to give a NIC up. Returns at once."""

    def attach(self, element: bytes) -> None:
        """Plug a NIC into the running guest."""

    def traffic(self, device: str) -> Traffic | None:
        """Packets of the NIC behind a tap; None where the host cannot count them."""

    def vcpu_delays(self) -> tuple[int | None, ...]:
        """Nanoseconds that each vCPU has waited for a CPU so far; None where nobody says."""

    def addresses(self, source: str) -> dict[str, tuple[str, ...]]:
        """MAC -> addresses, as the host's DHCP leases (``lease``) or ARP table (``arp``) say."""

    def ask_agent(self, command: str, seconds: int, **arguments: object) -> object:
        """The answer of the guest's agent to a command of its protocol."""


class Hypervisor(Protocol):
    """One host. ``key`` is the same whatever way it was reached; ``local``: it is this machine,
    whose processes can be looked at."""

    uri: str
    key: str
    name: str
    local: bool
    deadline: float

    def machine(self, uuid: str) -> Machine:
        """The domain with that UUID. Raises GoneError where there is none."""

    def find(self, name: str) -> Machine:
        """The domain of that name, or of that UUID."""

    def take_lock(self, lock: HostLock) -> HostLock:
        """The lock that is on the host now: this one, or that of another owner, which is in the
        way. Raises ActionError where the host can hold none."""

    def find_lock(self) -> HostLock | None:
        """The lock that is on the host; None: there is none. Raises ActionError."""

    def drop_lock(self, owner: str) -> None:
        """Remove the lock of that owner. Raises ActionError."""

    def close(self) -> None:
        """Leave."""


class ConnectHypervisor(Protocol):
    """How a host is reached."""

    def __call__(self, uri: str, *, deadline: float) -> Hypervisor:
        """A host on which domains can be changed; ``deadline``: seconds it may take for an answer.
        Raises TargetError where it cannot be reached."""


class RunningProcess(NamedTuple):
    """A domain's QEMU on this machine: the NICs on its command line (not those plugged in later),
    and how many descriptors it has open on vhost-net; None where that cannot be seen."""

    nics: tuple[RunningNic, ...]
    vhost_files: int | None


class ReadCommandLine(Protocol):
    """How a process's command line is understood, wherever it runs."""

    def __call__(self, data: bytes, *, target: str, file: str | None) -> Iterable[RunningQemu]:
        """The QEMU of a ``/proc/PID/cmdline``; none where it is another program. Raises TargetError
        where it cannot be understood."""


class ThisMachine(Protocol):
    """The machine that this program runs on."""

    def running_process(self, uuid: str) -> RunningProcess | None:
        """The QEMU of that domain; None where there is none, or it cannot be looked at."""

    def arp_table(self) -> dict[str, tuple[str, ...]]:
        """MAC -> IPv4 addresses, as this machine knows them."""

    def vdpa_devices(self) -> tuple[VdpaDevice, ...]:
        """The vhost-vDPA devices of this machine."""
