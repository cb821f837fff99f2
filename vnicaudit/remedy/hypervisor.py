"""Interfaces to what a change needs: live platforms, clouds, definitions, trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from vnicaudit.base.deadlines import Clock
from vnicaudit.model.guest_network import GuestNetwork
from vnicaudit.model.host import HostLock, MachineState, Traffic, VdpaDevice
from vnicaudit.model.nic import RunningNic, RunningQemu
from vnicaudit.model.runs import FlavorState, Outcome, PortState, ServerState, TimerState

if TYPE_CHECKING:
    from vnicaudit.knowledge.host_settings import HostSetting, SettingValues
    from vnicaudit.model.cluster import OwnedObject
    from vnicaudit.model.host_facts import HostFacts
    from vnicaudit.model.plan import ClusterKind

# The interface to a live platform for applying a plan, and how it is reached.
#
# Every method raises ActionError with what failed: NoResponseError if the host stopped answering
# (the request may still take effect), GoneError if the domain no longer exists, GuestError if the
# guest did not carry out the request.


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
        """The QEMU of a ``/proc/PID/cmdline``; empty for another program. Raises TargetError if it
        cannot be understood."""


class HostSettings(Protocol):
    """A host whose own settings are changed, a network namespace, or this machine."""

    def identity(self) -> str:
        """A text that is the same however the host is reached, until it is started again.
        Raises TargetError."""

    def facts(self) -> HostFacts:
        """Everything that is read of its settings. Raises NoResponseError if it does not answer,
        ActionError if it does not tell its links."""

    def is_of_container(self, facts: HostFacts) -> bool:
        """True if what was read is a container's view of a host."""

    def set(
        self, values: SettingValues, timer: str = ""
    ) -> tuple[HostFacts, dict[HostSetting, str]]:
        """Set them until the next boot, in this order, each if that timer (empty: none is needed)
        is armed, and read everything again. Returns the facts, and why some were not accepted.
        Raises NoResponseError if there is no answer or the timer was not armed, ActionError if it
        does not tell its links."""

    def undo_script(self, timer: str, changed: SettingValues, everything: SettingValues) -> str:
        """The script by which a timer sets these values: first what is changed, then everything."""

    def arm(self, timer: str, script: str, digest: str, seconds: int) -> None:
        """Have the host run this script, of that SHA-256, by itself after so many seconds. Raises
        NoResponseError if there is no answer, ActionError if nothing would run it."""

    def disarm(self, timer: str) -> TimerState:
        """The state of a timer from now on: if disarmed, it does nothing any more. Raises
        NoResponseError."""

    def reconnect(self) -> None:
        """Use a new connection from now on; what still runs on the old one may end there."""

    def how_to_confirm(self, timer: str) -> str:
        """The command by which a user confirms, on a new connection, that this host can be reached;
        empty: this program makes a connection of its own."""

    def is_confirmed(self, timer: str) -> bool:
        """True if the user has done so, or need not. Raises NoResponseError."""

    def close(self) -> None:
        """Disconnect."""


ClusterObject = Mapping[str, object]
"""A decoded object of a cluster, without what may be secret."""


class ClusterObjects(Protocol):
    """The objects of a cluster. Methods raise NoResponseError if its API server does not answer,
    GoneError if there is no such object, RefusedError with the server's words if it refuses a
    request: a right is missing, its rules do not allow it, or a test of the patch failed."""

    def identity(self) -> str:
        """A text that is the same for all targets in this cluster."""

    def virtctl(self, words: str) -> str:
        """A command of virtctl for this cluster."""

    def get(self, kind: ClusterKind, namespace: str, name: str) -> ClusterObject:
        """An object as it is now."""

    def instance(self, namespace: str, name: str) -> ClusterObject | None:
        """The instance of a virtual machine; None: there is none."""

    def ownership(self, found: ClusterObject) -> OwnedObject:
        """Who may change an object."""

    def is_migrating(self, instance: ClusterObject) -> bool:
        """True while an instance is being migrated to another node."""

    def patch(
        self, kind: ClusterKind, namespace: str, name: str, patch: Sequence[Mapping[str, object]],
        *, dry_run: bool = False,
    ) -> tuple[ClusterObject, tuple[str, ...]]:  # fmt: skip
        """Make a JSON patch, all of it or nothing. Returns the object, and what the API server
        warns of. ``dry_run``: it is checked like any other, and not stored."""

    def restart(self, namespace: str, name: str, *, dry_run: bool = False) -> None:
        """Ask for a new instance of a virtual machine. Returns at once."""


class ThisMachine(Protocol):
    """The machine that this program runs on."""

    def running_process(self, uuid: str) -> RunningProcess | None:
        """The QEMU of that domain; None if there is none, or it cannot be inspected."""

    def vdpa_devices(self) -> tuple[VdpaDevice, ...]:
        """The vhost-vDPA devices of this machine."""


# The services of platforms and of this machine that changes and measurements need. The command
# line, which knows the platforms, passes them in.


class GuestSettings(Protocol):
    """The settings of a guest on its interfaces."""

    def capture(self, mac: str) -> GuestNetwork:
        """As :func:`vnicaudit.remedy.guest.network.capture`."""

    def restore(self, mac: str, network: GuestNetwork) -> None:
        """As :func:`vnicaudit.remedy.guest.network.restore`."""

    def missing(self, mac: str, network: GuestNetwork) -> tuple[str, ...]:
        """As :func:`vnicaudit.remedy.guest.network.missing`."""


class Adapters(NamedTuple):
    """Platform services for changes and measurements. ``connect`` connects to a hypervisor and
    ``cloud`` to a cloud, each when it is called; ``machine`` is the machine that this program runs
    on; ``clock`` is used for all waiting; ``command_line`` reads a QEMU command line from any
    machine."""

    connect: ConnectHypervisor
    machine: ThisMachine
    cloud: ConnectCloud
    clock: Clock
    command_line: ReadCommandLine
    settings: Callable[[Machine, Clock], GuestSettings]
    """The settings of a guest's interfaces, which a hot swap preserves."""
    host: Callable[[str, float], HostSettings]
    """The settings of a host, by its URL and the timeout of one call in seconds."""
    cluster: Callable[[str, float], ClusterObjects]
    """The objects of a cluster, by its target and the timeout of one call in seconds. Raises
    TargetError if it cannot be reached."""


GetAdapters = Callable[[], Adapters]
"""Loads the adapters when they are needed: most measurements need none."""


# The interface for measuring, while a plan is applied, if the change helps.


class Trial(Protocol):
    """Measures one guest before its change, and after it.

    The first result is saved in the run's folder, as an interrupted run is resumed by another
    process.
    """

    def before(self) -> None:
        """Measure the guest before its change. Raises VnicauditError if it cannot be measured:
        nothing is changed then."""

    def after(self) -> str:
        """Measure again. Returns why the change is to be undone; empty: it stays."""

    def note_outcome(self, outcome: Outcome, *, undone: bool) -> None:
        """Is told the outcome for the guest. ``undone``: if the change did not stay, the guest is
        as it was before."""


Trials = Callable[[Path, str, Hypervisor, str, tuple[str, ...]], Trial]
"""Makes the Trial of a guest from the folder of the run, the key of the unit, its host, the
domain's UUID, and the MACs that change."""


# The interface to a cloud for changing servers, images and flavors, and how it is reached.
#
# Every method raises ActionError with what failed: NoResponseError if the cloud stopped answering
# (the request may still take effect).


MANAGE_SECONDS = 60.0
"""Default timeout of a nova-manage call: it takes four seconds on an idle controller, and a server
is off meanwhile."""


MANAGE_JOBS = 4
"""Default number of nova-manage calls at a time. Each is a separate program: 166 MB and 3.6 s of
one core, nearly all of it to load Nova (34.0.0, measured), and one connection each to the API's and
to a cell's database. They write rows of their own instance only (``_update_image_properties`` in
nova/cmd/manage.py), so any number is correct; four take 0.7 GB and eight connections, which a
controller can spare."""


class Cloud(Protocol):
    """One cloud. ``key`` is the same whatever name was used to reach it."""

    name: str
    key: str
    release: tuple[int | None, int | None]
    """The oldest and the newest major version of Nova that the cloud may run; None: unknown."""

    def server(self, server_id: str) -> ServerState:
        """The present state of a server. Raises GoneError if it was deleted, RefusedError for an
        unknown id without any sign that it ever existed: this may be a different cloud."""

    def ports(self, server_id: str) -> tuple[PortState, ...]:
        """The ports of the server."""

    def packets_sent(self, server_id: str) -> dict[str, int] | None:
        """MAC -> packets that the guest has sent since it was started; None: hidden from this user,
        or the server does not run."""

    def shared_volumes(self, server_id: str) -> tuple[str, ...]:
        """The volumes that it shares with other servers. Raises ActionError if one cannot be
        checked."""

    def trouble(self, server_id: str) -> str:
        """Nova's account of what went wrong with the last request on the server; empty if it
        succeeded, or where that is unknown."""

    def stop(self, server_id: str) -> None:
        """Request a shutdown (the guest is asked first). Returns at once."""

    def start(self, server_id: str) -> None:
        """Request a start; Nova rewrites its definition. Returns at once."""

    def hard_reboot(self, server_id: str) -> None:
        """Request a hard reboot; Nova rewrites its definition. Returns at once."""

    def image_properties(self, image_id: str) -> dict[str, str]:
        """The properties of an image as they are now."""

    def set_image_properties(self, image_id: str, properties: Mapping[str, str | None]) -> None:
        """Set these properties and remove those that are None; the others stay as they are."""

    def flavor(self, flavor_id: str) -> FlavorState | None:
        """A flavor as it is now; None: there is none."""

    def copy_flavor(
        self, flavor_id: str, copy_id: str, name: str, properties: Mapping[str, str | None]
    ) -> None:
        """Make a flavor like that one, except for its id, its name and these extra specs (None:
        without it), for the same projects. An incomplete copy by an earlier call is completed."""

    def flavor_servers(self, flavor_id: str) -> int:
        """The number of servers with that flavor, or a lower bound; 0 is certain."""

    def delete_flavor(self, flavor_id: str) -> None:
        """Delete a flavor."""

    def close(self) -> None:
        """Disconnect."""


class CommandOutput(msgspec.Struct, frozen=True):
    """The result of a command: its exit code and output."""

    code: int
    text: str = ""
    errors: str = ""
    """Standard error, where nova-manage logs."""


NovaManage = Callable[[Sequence[str]], CommandOutput]
"""Runs ``nova-manage`` on a controller to its end with these arguments; any thread may call it.
Raises ActionError if it could not be run, or if its result is unknown: then it may still be
running."""


class CloudAccess(msgspec.Struct, frozen=True):
    """Access to a cloud beside its API. ``libvirt``: URI of a compute node's libvirt,
    ``qemu+ssh://{host}/system``; empty: not reachable. ``trusted``: libvirt URIs that the user
    named, and that may therefore start programs. ``jobs``: how many nova-manage calls may run at a
    time."""

    manage: NovaManage | None = None
    libvirt: str = ""
    trusted: frozenset[str] = frozenset()
    jobs: int = MANAGE_JOBS


class ConnectCloud(Protocol):
    """Connects to a cloud."""

    def __call__(self, name: str, *, deadline: float) -> Cloud:
        """A cloud in which servers can be changed; ``deadline``: timeout in seconds of one call.
        Raises TargetError if it cannot be reached."""
