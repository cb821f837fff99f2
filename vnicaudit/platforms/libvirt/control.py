"""A live libvirt with which domains are changed. The only module that changes anything over it.

Every call has a deadline. Definitions that are to be written back are read with passwords
(VIR_DOMAIN_XML_SECURE), because libvirt would drop them otherwise.
"""

from __future__ import annotations

import html
import json
import re
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from lxml import etree

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.base.wording import UUID, plain, word
from vnicaudit.errors import ActionError, GoneError, GuestError, NoResponseError, TargetError
from vnicaudit.model.host import HostLock, MachineState, Traffic
from vnicaudit.platforms.libvirt.connection import (
    explain,
    is_here,
    libvirt,
    libvirt_qemu,
    prepare,
    state_of,
    with_keepalive,
)
from vnicaudit.text.targets import Uri, parse

# Connections to one libvirt, each for one call at a time.
#
# Threads may share a connection, but libvirt's client can miss that a second thread wants to send
# while a first one waits for its answer: the second then waits as long as the first. Seen with
# libvirt 9.0.0: the state of a domain, which takes a millisecond, was not returned for the minute
# in which libvirt waited for an agent. So a call that may not be answered gets a connection for
# itself, and other calls get another one.
#
# A call cannot be cancelled: it is made in a separate daemon thread, and the caller stops waiting
# for it. The requested action may still happen when the daemon continues.


T = TypeVar("T")


class PooledConnection:
    """One connection, and the domains that were looked up with it."""

    def __init__(self, uri: Uri) -> None:
        self.connection = with_keepalive(libvirt.open(uri.dial), uri)
        self._domains: dict[str, libvirt.virDomain] = {}

    def domain(self, uuid: str) -> libvirt.virDomain:
        """The domain with that UUID."""
        if uuid not in self._domains:
            self._domains[uuid] = self.connection.lookupByUUIDString(uuid)
        return self._domains[uuid]

    @property
    def open(self) -> bool:
        """True while the connection is up, as far as this side knows."""
        try:
            return self.connection.isAlive() == 1
        except libvirt.libvirtError:
            return False


class ConnectionPool:
    """As many connections as there are concurrent calls."""

    def __init__(self, uri: Uri) -> None:
        self._uri = uri
        self._idle: deque[PooledConnection] = deque()

    def connect(self, seconds: float) -> None:
        """Open a first connection. Raises ActionError like ``within``."""
        self._idle.append(within(seconds, "connect", lambda: PooledConnection(self._uri)))

    def call(self, seconds: float, what: str, function: Callable[[PooledConnection], T]) -> T:
        """The result of ``function`` with a free connection. Raises ActionError like ``within``,
        and NoResponseError if the connection broke: libvirt went away, and may have done what it
        was asked to do."""
        return within(seconds, what, lambda: self._call_on_free(what, function))

    def close(self, seconds: float) -> None:
        """Close the idle connections; busy ones are left alone."""
        while self._idle:
            within(seconds, "close the connection", self._idle.pop().connection.close)

    def _call_on_free(self, what: str, function: Callable[[PooledConnection], T]) -> T:
        pooled = self._free_connection(what)
        try:
            return function(pooled)
        except libvirt.libvirtError as error:
            if pooled.open:
                raise
            raise _connection_lost_error(what, error) from None
        finally:
            if pooled.open:
                self._idle.append(pooled)

    def _free_connection(self, what: str) -> PooledConnection:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return PooledConnection(self._uri)
        except libvirt.libvirtError as error:
            raise _connection_lost_error(what, error) from None


def _connection_lost_error(what: str, error: libvirt.libvirtError) -> NoResponseError:
    late = "; it may have done so" if _changes(what) else ""
    return NoResponseError(
        f"libvirt closed the connection when asked to {what}: {explain(error)}{late}"
    )


def _changes(what: str) -> bool:
    """False for a question: whether it was answered makes no difference."""
    return what.partition(" ")[0] not in ("connect", "count", "find", "read", "report")


def within(seconds: float, what: str, function: Callable[[], T]) -> T:
    """The result of ``function``. Raises ActionError if libvirt refuses (GoneError: the domain is
    gone), NoResponseError if there was no answer within ``seconds``; ``what`` completes "libvirt
    did not answer when asked to …"."""
    try:
        return DaemonCall(f"libvirt: {what}", function).result(seconds)
    except TimeUpError:
        late = "; it may still do so" if _changes(what) else ""
        raise NoResponseError(
            f"libvirt did not answer within {seconds:g} s when asked to {what}{late}"
        ) from None
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            raise GoneError(f"cannot {what}: {explain(error)}") from error
        raise ActionError(f"cannot {what}: {explain(error)}") from error


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
    prepare(where)
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
        self.key = _text_in(capabilities, "host/uuid").strip() or self.name
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
        return self.ask("hold a lock", lambda pooled: take(pooled.connection, self.uri, lock))

    def find_lock(self) -> HostLock | None:
        """The lock that is on the host; None if there is none. Raises ActionError."""
        return self.ask(
            "report who holds its lock", lambda pooled: find(pooled.connection, self.uri)
        )

    def drop_lock(self, owner: str) -> None:
        """Remove that owner's lock. Raises ActionError."""
        self.ask("remove our lock", lambda pooled: drop(pooled.connection, self.uri, owner))

    def close(self) -> None:
        """Close the connection; do not wait for a host that does not answer soon."""
        try:
            self._pool.close(min(self.deadline, _CLOSE_SECONDS))
        except ActionError:
            return

    def check(self) -> None:
        """Raises NoResponseError if libvirt does not answer."""
        self.ask("report its version", lambda pooled: pooled.connection.getLibVersion())

    def ask(
        self, what: str, function: Callable[[PooledConnection], T], *, seconds: float | None = None
    ) -> T:
        """The result of ``function`` with a free connection, within ``seconds`` (None: the host's
        deadline). Raises ActionError if libvirt refuses, NoResponseError if it does not answer."""
        return self._pool.call(self.deadline if seconds is None else seconds, what, function)


class LibvirtMachine:
    """One domain. Methods raise ActionError (NoResponseError, GuestError) with what failed."""

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

    def ask_agent(self, command: str, seconds: int, **arguments: object) -> object:
        """The answer of the guest's agent to a command, decoded. Raises GuestError if the agent
        fails, is late (``seconds``), or its answer is too long; NoResponseError if libvirt itself
        does not answer."""
        text = json.dumps({"execute": command, "arguments": arguments})
        try:
            answer = self._ask(
                f"ask the guest's agent ({command})",
                lambda domain: libvirt_qemu.qemuAgentCommand(domain, text, seconds, 0),
                seconds=seconds + self._host.deadline,
            )
        except NoResponseError:
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


def _text_in(xml: str, path: str) -> str:
    """The text of an element of a document; empty if there is none."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        return etree.fromstring(xml.encode(), parser).findtext(path) or ""
    except etree.XMLSyntaxError:
        return ""


# A lock stored on the host itself, for operators on different machines: a libvirt secret without a
# value.
#
# libvirt has no locks. But it refuses a second secret with the same usage, whoever defines it, and
# checks this under the lock of its list of secrets (virSecretObjListAdd in
# src/conf/virsecretobj.c), so only one of two concurrent operators gets it. The secret outlives its
# holder and the daemon; its description names the holder.


_USAGE = libvirt.VIR_SECRET_USAGE_TYPE_TLS
_NAME = "vnicaudit-host-lock"
_DESCRIPTION = re.compile(r"(.*) \[([0-9a-f]{32})\]", re.S)
_XML = """\
<secret ephemeral='no' private='yes'>{uuid}
  <description>{text}</description>
  <usage type='tls'><name>{name}</name></usage>
</secret>
"""
_TRIES = 3
"""The lock may be dropped between a failed attempt and the lookup of its holder."""


def take(connection: libvirt.virConnect, uri: str, lock: HostLock) -> HostLock:
    """Try to take the lock. Returns the lock that is on the host then: this one, or another
    owner's. A lock left behind by an earlier process of the same owner is taken over. Raises
    libvirtError if the host cannot hold one."""
    for _ in range(_TRIES - 1):
        try:
            return _define(connection, lock)
        except libvirt.libvirtError:
            secret = _lookup(connection)
            if secret is None:
                continue
            there = _lock_of(secret, uri)
            if there.owner != lock.owner:
                return there
            return _define(connection, lock, f"<uuid>{secret.UUIDString()}</uuid>")
    return _define(connection, lock)


def find(connection: libvirt.virConnect, uri: str) -> HostLock | None:
    """The lock that is on the host; None if there is none. Raises libvirtError."""
    secret = _lookup(connection)
    return None if secret is None else _lock_of(secret, uri)


def drop(connection: libvirt.virConnect, uri: str, owner: str) -> None:
    """Remove the lock of that owner; another owner's stays. Raises libvirtError."""
    secret = _lookup(connection)
    if secret is not None and _lock_of(secret, uri).owner == owner:
        secret.undefine()


def _define(connection: libvirt.virConnect, lock: HostLock, uuid: str = "") -> HostLock:
    # xml.sax has the same function, but loads an HTTP client with OpenSSL
    text = html.escape(plain(f"{lock.holder} [{lock.owner}]"), quote=False)
    connection.secretDefineXML(_XML.format(uuid=uuid, text=text, name=_NAME))
    return lock


def _lookup(connection: libvirt.virConnect) -> libvirt.virSecret | None:
    """The secret; None if there is none. Raises libvirtError if the host cannot tell."""
    try:
        return connection.secretLookupByUsage(_USAGE, _NAME)
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SECRET:
            return None
        raise


def _lock_of(secret: libvirt.virSecret, uri: str) -> HostLock:
    text = _text_in(secret.XMLDesc(), "description")
    match = _DESCRIPTION.fullmatch(text)
    holder, owner = match.groups() if match else (text, "")
    clear = f"virsh -c {word(uri)} secret-undefine {secret.UUIDString()}"
    return HostLock(owner, plain(holder) or "an unknown holder", clear)
