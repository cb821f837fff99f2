"""A live libvirt with which domains are changed. The only module that opens it for more than
reading.

Every call has a deadline (``connection_pool.py``). Definitions that are to be written back are read
with passwords (VIR_DOMAIN_XML_SECURE), because libvirt would drop them otherwise.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TypeVar

from lxml import etree

from vnicaudit.base.identifiers import UUID
from vnicaudit.errors import ActionError, GuestError, SilentError, TargetError
from vnicaudit.model.host_lock import HostLock
from vnicaudit.model.machine import MachineState, Traffic
from vnicaudit.platforms.libvirt import host_lock
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.capabilities import is_here
from vnicaudit.platforms.libvirt.connection import be_silent, refuse, start_event_loop
from vnicaudit.platforms.libvirt.connection_pool import ConnectionPool, PooledConnection
from vnicaudit.platforms.libvirt.state import state_of
from vnicaudit.text.libvirt_uri import Uri, parse

T = TypeVar("T")

_SOURCES = {
    "lease": libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE,
    "arp": libvirt.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP,
}
_SHUTDOWN_SECONDS = 3
"""Seconds in which an agent that cannot shut the guest down reports so."""
_CLOSE_SECONDS = 2.0
_ANSWER_MAX = 4 * 2**20
_VCPUS_MAX = 4096


def connect(uri: str, *, deadline: float) -> LibvirtHypervisor:
    """A connection with which domains can be changed. Raises TargetError if there is none, or there
    is no answer."""
    try:
        where = parse(uri)
    except ValueError as error:  # a plan may contain any text
        raise TargetError(f"cannot connect: {error}", file=uri) from None
    refuse(where)
    be_silent()
    if where.remote:
        start_event_loop()
    pool = ConnectionPool(where)
    try:
        pool.connect(deadline)
        return LibvirtHypervisor(pool, where, deadline)
    except ActionError as error:
        raise TargetError(str(error), file=uri) from None


class LibvirtHypervisor:
    """One host. ``key`` identifies it whichever URI it was reached by."""

    def __init__(self, pool: ConnectionPool, uri: Uri, deadline: float) -> None:
        self._pool = pool
        self.uri = uri.text
        self.deadline = deadline
        self.name = self.ask("report its name", lambda pooled: pooled.connection.getHostname())
        capabilities = self.ask(
            "report its capabilities", lambda pooled: pooled.connection.getCapabilities()
        )
        self.key = _host_uuid(capabilities) or self.name
        self.local = is_here(uri, self.name)

    def machine(self, uuid: str) -> LibvirtMachine:
        """The domain with that UUID. Raises ActionError if there is none."""
        name = self.ask(f"find domain {uuid}", lambda pooled: pooled.domain(uuid).name())
        return LibvirtMachine(name, uuid, self)

    def find(self, name: str) -> LibvirtMachine:
        """The domain of that name or, if none has it, of that UUID. Raises ActionError."""
        name, uuid = self.ask(f"find domain {name}", lambda pooled: _name_and_uuid(pooled, name))
        return LibvirtMachine(name, uuid, self)

    def take_lock(self, lock: HostLock) -> HostLock:
        """Try to take the lock. Returns the lock that is on the host then: this one, or another
        owner's. Raises ActionError if the host cannot hold one."""
        return self.ask(
            "hold a lock", lambda pooled: host_lock.take(pooled.connection, self.uri, lock)
        )

    def find_lock(self) -> HostLock | None:
        """The lock that is on the host; None if there is none. Raises ActionError."""
        return self.ask(
            "report who holds its lock", lambda pooled: host_lock.find(pooled.connection, self.uri)
        )

    def drop_lock(self, owner: str) -> None:
        """Remove that owner's lock. Raises ActionError."""
        self.ask(
            "remove our lock", lambda pooled: host_lock.drop(pooled.connection, self.uri, owner)
        )

    def close(self) -> None:
        """Close the connection; do not wait for a host that does not answer soon."""
        try:
            self._pool.close(min(self.deadline, _CLOSE_SECONDS))
        except ActionError:
            return

    def check(self) -> None:
        """Raises SilentError if libvirt does not answer."""
        self.ask("report its version", lambda pooled: pooled.connection.getLibVersion())

    def ask(
        self, what: str, function: Callable[[PooledConnection], T], *, seconds: float | None = None
    ) -> T:
        """The result of ``function`` with a free connection, within ``seconds`` (None: the host's
        deadline). Raises ActionError if libvirt refuses, SilentError if it does not answer."""
        return self._pool.call(self.deadline if seconds is None else seconds, what, function)


class LibvirtMachine:
    """One domain. Methods raise ActionError (SilentError, GuestError) with what failed."""

    def __init__(self, name: str, uuid: str, host: LibvirtHypervisor) -> None:
        self._host = host
        self.uuid = uuid
        self.name = name

    def state(self) -> MachineState:
        """The domain's state: the facts that decide whether it may be changed now."""
        return self._ask("report the domain's state", state_of)

    def definition(self, *, secrets: bool) -> bytes:
        """The persistent definition, as libvirt writes it."""
        flags = libvirt.VIR_DOMAIN_XML_INACTIVE
        if secrets:
            flags |= libvirt.VIR_DOMAIN_XML_SECURE
        return self._xml("read the persistent definition", flags)

    def live(self) -> bytes:
        """The running definition; for a domain that is off, the persistent one."""
        return self._xml("read the running definition", 0)

    def define(self, text: bytes) -> None:
        """Make this the persistent definition; libvirt checks it against its schema."""
        xml = text.decode("utf-8")
        flags = libvirt.VIR_DOMAIN_DEFINE_VALIDATE
        self._ask("define the domain", lambda domain: domain.connect().defineXMLFlags(xml, flags))

    def shut_down(self, *, agent: bool) -> None:
        """Request a shutdown of the guest, by its agent or its power button. Returns soon.

        An agent that obeys gives no answer (``guest-shutdown`` in qga/qapi-schema.json).
        virDomainShutdownFlags then waits a minute for the guest's end, and blocks all other queries
        to the agent (VIR_DOMAIN_QEMU_AGENT_COMMAND_SHUTDOWN in libvirt-qemu.h), so the agent is
        called directly.
        """
        if agent:
            self._ask_agent_to_shut_down()
            return
        button = libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN
        self._ask(
            "shut down the guest with its power button", lambda domain: domain.shutdownFlags(button)
        )

    def _ask_agent_to_shut_down(self) -> None:
        began = time.monotonic()
        try:
            self.ask_agent("guest-shutdown", _SHUTDOWN_SECONDS, mode="powerdown")
        except GuestError:
            if time.monotonic() - began < _SHUTDOWN_SECONDS:
                raise

    def power_off(self) -> None:
        """End QEMU, like pulling the plug."""
        self._ask("power the domain off", lambda domain: domain.destroy())

    def start(self) -> None:
        """Start the domain from its persistent definition."""
        self._ask("start the domain", lambda domain: domain.create())

    def detach(self, element: bytes) -> None:
        """Request the removal of a running NIC. It is gone once the running definition no longer
        has it."""
        flags, xml = libvirt.VIR_DOMAIN_AFFECT_LIVE, element.decode("utf-8")
        self._ask("detach the NIC", lambda domain: domain.detachDeviceFlags(xml, flags))

    def attach(self, element: bytes) -> None:
        """Plug a NIC into the running guest."""
        flags, xml = libvirt.VIR_DOMAIN_AFFECT_LIVE, element.decode("utf-8")
        self._ask("attach the NIC", lambda domain: domain.attachDeviceFlags(xml, flags))

    def traffic(self, device: str) -> Traffic | None:
        """Packets of the NIC behind a tap; None if the host cannot count them."""
        try:
            counts = self._ask("count packets", lambda domain: domain.interfaceStats(device))
        except ActionError as error:
            if isinstance(error.__cause__, libvirt.libvirtError):
                return None
            raise
        return Traffic(received=counts[1], sent=counts[5])

    def vcpu_delays(self) -> tuple[int | None, ...]:
        """Nanoseconds that each vCPU has waited for a CPU so far; None if libvirt does not report
        it.

        ``vcpu.N.delay`` exists since libvirt 7.2.0. It is 0 if the kernel does not count
        (qemuGetSchedstatDelay in src/qemu/qemu_driver.c leaves it so without schedstat).
        """
        flags = libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
        found = self._ask(
            "report how long vCPUs waited",
            lambda domain: domain.connect().domainListGetStats(
                [domain], libvirt.VIR_DOMAIN_STATS_VCPU, flags
            ),
        )
        stats = found[0][1] if found else {}
        count = min(stats.get("vcpu.maximum", 0), _VCPUS_MAX)
        return tuple(stats.get(f"vcpu.{number}.delay") or None for number in range(count))

    def addresses(self, source: str) -> dict[str, tuple[str, ...]]:
        """MAC -> addresses (``192.0.2.1/24``), from the host's DHCP leases (``lease``) or its ARP
        table (``arp``); empty if neither is available."""
        try:
            found = self._ask(
                "report the guest's addresses",
                lambda domain: domain.interfaceAddresses(_SOURCES[source], 0),
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

    def ask_agent(self, command: str, seconds: int, **arguments: object) -> object:
        """The answer of the guest's agent to a command, decoded. Raises GuestError if the agent
        fails, is late (``seconds``), or its answer is too long; SilentError if libvirt itself does
        not answer."""
        import libvirt_qemu

        text = json.dumps({"execute": command, "arguments": arguments})
        try:
            answer = self._ask(
                f"ask the guest's agent ({command})",
                lambda domain: libvirt_qemu.qemuAgentCommand(domain, text, seconds, 0),
                seconds=seconds + self._host.deadline,
            )
        except SilentError:
            self._host.check()
            raise GuestError(f"the guest's agent did not answer {command} in time") from None
        except ActionError as error:
            if isinstance(error.__cause__, libvirt.libvirtError):
                raise GuestError(str(error)) from error
            raise
        if len(answer) > _ANSWER_MAX:
            raise GuestError(f"the guest's agent's answer to {command} is too long")
        try:
            return json.loads(answer)["return"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise GuestError(f"the guest's agent sent no answer to {command}") from None

    def _xml(self, what: str, flags: int) -> bytes:
        text: str = self._ask(what, lambda domain: domain.XMLDesc(flags))
        return text.encode("utf-8")

    def _ask(
        self, what: str, function: Callable[[libvirt.virDomain], T], *, seconds: float | None = None
    ) -> T:
        return self._host.ask(
            what, lambda pooled: function(pooled.domain(self.uuid)), seconds=seconds
        )


def _name_and_uuid(pooled: PooledConnection, name: str) -> tuple[str, str]:
    try:
        domain = pooled.connection.lookupByName(name)
    except libvirt.libvirtError as error:
        if error.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN or UUID.fullmatch(name) is None:
            raise
        domain = pooled.connection.lookupByUUIDString(name)
    return domain.name(), domain.UUIDString()


def _host_uuid(capabilities: str) -> str | None:
    """``<capabilities><host><uuid>``: the UUID of the machine."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        found = etree.fromstring(capabilities.encode(), parser).findtext("host/uuid")
    except etree.XMLSyntaxError:
        return None
    return found.strip() if found else None
