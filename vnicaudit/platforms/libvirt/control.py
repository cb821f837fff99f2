"""A live libvirt with which domains are changed. The only module that asks for more than reading.

Every call has a deadline (``calls.py``). Passwords are asked for (VIR_DOMAIN_XML_SECURE) where a
definition is to be written back, for libvirt would drop them otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from lxml import etree

from vnicaudit.errors import ActionError, GuestError, SilentError, TargetError
from vnicaudit.model.machine import MachineState, Traffic
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.calls import within
from vnicaudit.platforms.libvirt.capabilities import is_here
from vnicaudit.platforms.libvirt.connection import be_silent, refuse, start_event_loop
from vnicaudit.platforms.libvirt.uri import Uri, parse

T = TypeVar("T")

_KEEPALIVE = (5, 3)
_PHASES = {
    libvirt.VIR_DOMAIN_RUNNING: "running",
    libvirt.VIR_DOMAIN_BLOCKED: "running",
    libvirt.VIR_DOMAIN_PAUSED: "paused",
    libvirt.VIR_DOMAIN_SHUTDOWN: "shutting-down",
    libvirt.VIR_DOMAIN_SHUTOFF: "off",
    libvirt.VIR_DOMAIN_CRASHED: "off",
    libvirt.VIR_DOMAIN_PMSUSPENDED: "suspended",
}
_MIGRATING = {
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_MIGRATION),
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_POSTCOPY),
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_STARTING_UP),
    (libvirt.VIR_DOMAIN_RUNNING, libvirt.VIR_DOMAIN_RUNNING_POSTCOPY),
}
_SOURCES = {
    "agent": libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT,
    "lease": libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE,
    "arp": libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP,
}
_AGENT_SECONDS = 3.0
"""In which an agent that cannot be asked to shut down is known."""
_CLOSE_SECONDS = 2.0
_ANSWER_MAX = 4 * 2**20


def connect(uri: str, *, deadline: float) -> Hypervisor:
    """A connection with which domains can be changed. Raises TargetError where there is none, or
    where nobody answers."""
    where = parse(uri)
    refuse(where)
    be_silent()
    if where.remote:
        start_event_loop()
    try:
        connection = within(deadline, "connect", lambda: _opened(where))
        return Hypervisor(connection, where, deadline)
    except ActionError as error:
        raise TargetError(str(error), file=uri) from None


def _opened(uri: Uri) -> libvirt.virConnect:
    connection = libvirt.open(uri.dial)
    if uri.remote:
        connection.setKeepAlive(*_KEEPALIVE)
    return connection


class Hypervisor:
    """One host. ``key`` is the same whatever URI it was reached by."""

    def __init__(self, connection: libvirt.virConnect, uri: Uri, deadline: float) -> None:
        self._connection = connection
        self.uri = uri.text
        self.deadline = deadline
        self.name = self._ask("say its name", connection.getHostname)
        capabilities = self._ask("say what it can do", connection.getCapabilities)
        self.key = _host_uuid(capabilities) or self.name
        self.local = is_here(uri, self.name)

    def machine(self, uuid: str) -> Machine:
        """The domain with that UUID. Raises ActionError where there is none."""
        handle = self._ask(f"find domain {uuid}", lambda: self._connection.lookupByUUIDString(uuid))
        return Machine(handle, uuid, self)

    def close(self) -> None:
        """Leave. A host that does not answer soon is left as it is."""
        try:
            within(
                min(self.deadline, _CLOSE_SECONDS), "close the connection", self._connection.close
            )
        except ActionError:
            return

    def check(self) -> None:
        """Raises SilentError where libvirt does not answer."""
        self._ask("say its version", self._connection.getLibVersion)

    def _ask(self, what: str, function: Callable[[], T]) -> T:
        return within(self.deadline, what, function)


class Machine:
    """One domain. Methods raise ActionError (SilentError, GuestError) with what failed."""

    def __init__(self, handle: libvirt.virDomain, uuid: str, host: Hypervisor) -> None:
        self._handle = handle
        self._host = host
        self.uuid = uuid
        self.name: str = handle.name()

    def state(self) -> MachineState:
        """What bears on whether it may be changed now."""
        return self._ask("say the domain's state", lambda: _state(self._handle))

    def definition(self, *, secrets: bool) -> bytes:
        """The persistent definition, as libvirt writes it."""
        flags = libvirt.VIR_DOMAIN_XML_INACTIVE
        if secrets:
            flags |= libvirt.VIR_DOMAIN_XML_SECURE
        return self._xml("read the persistent definition", flags)

    def live(self) -> bytes:
        """The definition that runs; of a domain that is off, the persistent one."""
        return self._xml("read the running definition", 0)

    def define(self, text: bytes) -> None:
        """Make this the persistent definition; libvirt checks it against its schema."""
        connection = self._handle.connect()
        xml = text.decode("utf-8")
        flags = libvirt.VIR_DOMAIN_DEFINE_VALIDATE
        self._ask("define the domain", lambda: connection.defineXMLFlags(xml, flags))

    def shut_down(self, *, agent: bool) -> None:
        """Ask the guest to shut down, through its agent or by its power button. Returns soon.

        Asked for it by the agent, libvirt waits for the guest's end, up to a minute, and fails then
        (VIR_DOMAIN_QEMU_AGENT_COMMAND_SHUTDOWN in libvirt-qemu.h). It is not waited for here: the
        next question tells whether it is libvirt that does not answer.
        """
        flags = (
            libvirt.VIR_DOMAIN_SHUTDOWN_GUEST_AGENT if agent
            else libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN
        )  # fmt: skip
        how = "agent" if agent else "power button"
        seconds = min(self._host.deadline, _AGENT_SECONDS) if agent else self._host.deadline
        try:
            within(
                seconds, f"shut the guest down by its {how}",
                lambda: self._handle.shutdownFlags(flags),
            )  # fmt: skip
        except SilentError:
            if not agent:
                raise

    def power_off(self) -> None:
        """End QEMU, as pulling the plug would."""
        self._ask("power the domain off", self._handle.destroy)

    def start(self) -> None:
        """Start it from its persistent definition."""
        self._ask("start the domain", self._handle.create)

    def detach(self, element: bytes) -> None:
        """Ask the guest to give a running NIC up. It is gone when the running definition says
        so."""
        flags, xml = libvirt.VIR_DOMAIN_AFFECT_LIVE, element.decode("utf-8")
        self._ask("detach the NIC", lambda: self._handle.detachDeviceFlags(xml, flags))

    def attach(self, element: bytes) -> None:
        """Plug a NIC into the running guest."""
        flags, xml = libvirt.VIR_DOMAIN_AFFECT_LIVE, element.decode("utf-8")
        self._ask("attach the NIC", lambda: self._handle.attachDeviceFlags(xml, flags))

    def traffic(self, device: str) -> Traffic | None:
        """Packets of the NIC behind a tap; None where the host cannot count them."""
        try:
            counts = self._ask("count packets", lambda: self._handle.interfaceStats(device))
        except ActionError as error:
            if isinstance(error.__cause__, libvirt.libvirtError):
                return None
            raise
        return Traffic(received=counts[1], sent=counts[5])

    def addresses(self, source: str) -> dict[str, tuple[str, ...]]:
        """MAC -> addresses (``192.0.2.1/24``), as the host's DHCP leases (``lease``) or its ARP
        table (``arp``) say; empty where neither can be asked."""
        try:
            found = self._ask(
                "say the guest's addresses",
                lambda: self._handle.interfaceAddresses(_SOURCES[source], 0),
            )
        except ActionError as error:
            if isinstance(error.__cause__, libvirt.libvirtError):
                return {}
            raise
        return {
            entry["hwaddr"].lower(): tuple(
                f"{address['addr']}/{address['prefix']}" for address in entry["addrs"] or ()
            )
            for entry in found.values()
            if entry.get("hwaddr")
        }

    def ask_agent(self, command: str, seconds: int, **arguments: object) -> Any:
        """What the guest's agent returns. Raises GuestError where it does not, or at too great
        length."""
        import libvirt_qemu

        text = json.dumps({"execute": command, "arguments": arguments})
        try:
            answer = within(
                seconds + self._host.deadline,
                f"ask the guest's agent ({command})",
                lambda: libvirt_qemu.qemuAgentCommand(self._handle, text, seconds, 0),
            )
        except SilentError:
            self._host.check()
            raise GuestError(f"the guest's agent did not answer {command} in time") from None
        except ActionError as error:
            if isinstance(error.__cause__, libvirt.libvirtError):
                raise GuestError(str(error)) from error
            raise
        if len(answer) > _ANSWER_MAX:
            raise GuestError(f"the guest's agent answered {command} at too great length")
        try:
            return json.loads(answer)["return"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise GuestError(f"the guest's agent answered {command} with no answer") from None

    def _xml(self, what: str, flags: int) -> bytes:
        text: str = self._ask(what, lambda: self._handle.XMLDesc(flags))
        return text.encode("utf-8")

    def _ask(self, what: str, function: Callable[[], T]) -> T:
        return within(self._host.deadline, what, function)


def _state(handle: libvirt.virDomain) -> MachineState:
    phase, reason = handle.state()
    return MachineState(
        phase=_PHASES.get(phase, "off"),
        persistent=bool(handle.isPersistent()),
        managed_save=bool(handle.hasManagedSaveImage()),
        memory_snapshots=_memory_snapshots(handle),
        job=_has_job(handle),
        migrating=(phase, reason) in _MIGRATING,
    )


def _memory_snapshots(handle: libvirt.virDomain) -> int:
    """Snapshots that hold the guest's memory; none where the driver has no snapshots."""
    try:
        return int(handle.snapshotNum(libvirt.VIR_DOMAIN_SNAPSHOT_LIST_ACTIVE))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT:
            return 0
        raise


def _has_job(handle: libvirt.virDomain) -> bool:
    """Whether a migration, a save or a backup is under way. A domain that is off has none."""
    try:
        return bool(handle.jobInfo()[0] != libvirt.VIR_DOMAIN_JOB_NONE)
    except libvirt.libvirtError as error:
        if error.get_error_code() in (
            libvirt.VIR_ERR_OPERATION_INVALID, libvirt.VIR_ERR_NO_SUPPORT,
        ):  # fmt: skip
            return False
        raise


def _host_uuid(capabilities: str) -> str | None:
    """``<capabilities><host><uuid>``: the machine's own."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        found = etree.fromstring(capabilities.encode(), parser).findtext("host/uuid")
    except etree.XMLSyntaxError:
        return None
    return found.strip() if found else None
