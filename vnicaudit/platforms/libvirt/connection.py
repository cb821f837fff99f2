"""Read-only connections to libvirt, and libvirt's errors with advice on what to do."""

from __future__ import annotations

import os
import socket
import threading
from concurrent.futures import TimeoutError
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.base.wording import plain
from vnicaudit.errors import MissingExtraError, TargetError
from vnicaudit.model.domain import DomainState
from vnicaudit.model.host import Host, HostConfig, MachineState, Network, PowerPhase, Version
from vnicaudit.model.report import FailureKind, ReadError
from vnicaudit.platforms.libvirt.workers import network_of
from vnicaudit.reaching.failures import advised, failure_in, reason_in
from vnicaudit.text.secrets import masked_message
from vnicaudit.text.targets import Uri, parse

if TYPE_CHECKING:
    from concurrent.futures import Future

    from vnicaudit.platforms.libvirt.workers import WorkerThreads

# The one place that imports libvirt-python, and says what to install if it is missing.


_OUTPUTS = "LIBVIRT_LOG_OUTPUTS"
_is_quiet = not any(name in os.environ for name in (_OUTPUTS, "LIBVIRT_DEBUG"))
if _is_quiet:  # libvirt reads this once, when it is loaded; otherwise it logs on standard error
    os.environ[_OUTPUTS] = "4:file:/dev/null"
try:
    import libvirt
    import libvirt_qemu
except ImportError as error:
    raise MissingExtraError("reading a live libvirt", "libvirt") from error
finally:
    if _is_quiet:
        del os.environ[_OUTPUTS]

__all__ = ["libvirt", "libvirt_qemu"]


# The kind of failure behind a libvirt error, which decides whether a retry is worthwhile.
#
# libvirt's codes tell little (one code for all errors of its transport, whatever ssh or GnuTLS
# reported), so the message decides in these cases.


_AUTHENTICATION = frozenset({
    libvirt.VIR_ERR_AUTH_FAILED, libvirt.VIR_ERR_AUTH_CANCELLED, libvirt.VIR_ERR_AUTH_UNAVAILABLE,
})  # fmt: skip
_OF_TRANSPORT: frozenset[FailureKind] = frozenset({"deadline", "broken"})


def failure_of(error: libvirt.libvirtError) -> FailureKind:
    """The kind of an error that ended the reading of a host; ``refused`` unless the error is known
    to be temporary."""
    if error.get_error_code() in _AUTHENTICATION:
        return "authentication"
    return failure_in(error.get_error_message() or str(error))


def lost_connection(error: libvirt.libvirtError) -> FailureKind | None:
    """How the connection was lost, if that is why one domain could not be read; None if the
    connection is up and the problem is the domain's."""
    if error.get_error_code() == libvirt.VIR_ERR_OPERATION_TIMEOUT:
        return None  # a lock on that domain, which a job holds
    kind = failure_of(error)
    return kind if kind in _OF_TRANSPORT else None


_KEEPALIVE = (5, 3)
"""Seconds between keepalive messages to a silent peer, and how many may stay unanswered."""
_starting = threading.Lock()

_ADVICE = (
    ("command not found", "libvirt's client tools or a netcat are missing on that host"),
    ("Permission denied", "run as root or as a member of the group libvirt"),
    ("No such file or directory", "is libvirt's daemon running there? (systemctl start libvirtd "
     "or virtqemud)"),
    ("authentication", (
        "the daemon requires authentication; this program never asks for a password"
    )),
    ("No connection driver", "this libvirt was built without that driver"),
    ("no connection driver", "this libvirt was built without that driver"),
)  # fmt: skip
"""Part of libvirt's message -> advice to the user, after that of ssh. The first match is used."""
_TLS = ("certificate", "qemu+tls needs certificates on both sides (libvirt.org/kbase/tlscerts)")


def open_read_only(uri: Uri) -> libvirt.virConnect:
    """A read-only connection; nothing is ever asked on the terminal.

    Blocks as long as libvirt does. Raises TargetError with what failed and what to do.
    """
    prepare(uri)
    try:
        return with_keepalive(libvirt.openReadOnly(uri.dial), uri)
    except libvirt.libvirtError as error:
        text = f"cannot connect: {explain(error)}"
        raise TargetError(text, file=uri.text, failure=failure_of(error)) from None


def with_keepalive(connection: libvirt.virConnect, uri: Uri) -> libvirt.virConnect:
    """The connection, which notices when a remote peer is gone."""
    if uri.remote:
        connection.setKeepAlive(*_KEEPALIVE)
    return connection


def explain(error: libvirt.libvirtError) -> str:
    """libvirt's message on one line, printable, with advice if there is any."""
    said = error.get_error_message() or str(error)
    if error.get_error_code() == libvirt.VIR_ERR_XML_DETAIL:
        said = said.partition("\n")[0]  # the next line quotes the file: test:///etc/shadow
    text = masked_message(plain(reason_in(said)))
    needle, advice = _TLS
    return f"{text} ({advice})" if needle in text else advised(text, _ADVICE)


@cache
def be_silent() -> None:
    """Keep libvirt from printing every error on standard error."""
    # they are raised as exceptions as well, and the caller reports them
    libvirt.registerErrorHandler(lambda _context, _error: None, None)


def prepare(uri: Uri) -> None:
    """Prepare for a connection. Refuses URIs that libvirt should not try: an embedded driver (it
    would run inside this program and write), and a missing file (libxml2 would print its own
    warning). Raises TargetError."""
    if uri.path == "/embed":
        raise TargetError(
            "an embedded QEMU driver is not a running libvirt; use qemu:///system",
            file=uri.text,
            failure="refused",
        )
    own_file = uri.driver == "test" and not uri.remote and uri.path != "/default"
    if own_file and not Path(uri.path).is_file():
        text = f"there is no file {uri.path or '/'}"
        raise TargetError(text, file=uri.text, failure="refused")
    be_silent()
    if uri.remote:
        with _starting:
            _start_event_loop()


@cache
def _start_event_loop() -> None:
    """Run libvirt's event loop in a separate thread: without it there is no keepalive, and a dead
    peer would block a thread for ever. Not for local sockets: they show when the daemon is gone,
    and the loop makes each call a fifth more expensive (libvirt 9.0). All hosts, which are visited
    in parallel, share one loop."""
    libvirt.virEventRegisterDefaultImpl()
    threading.Thread(target=_run_events, name="libvirt events", daemon=True).start()


def _run_events() -> None:
    while True:
        libvirt.virEventRunDefaultImpl()


# Test a connection to libvirt.


def probe(uri: str, deadline: float) -> str:
    """The name of the host and the version of its libvirt. Raises TargetError if the connection
    fails or takes longer than ``deadline`` seconds."""
    where = parse(uri)
    try:
        return DaemonCall(f"probe {uri}", lambda: _answer(where)).result(deadline)
    except TimeUpError:
        text = f"no answer within {deadline:g} s"
        raise TargetError(text, file=uri, failure="deadline") from None
    except libvirt.libvirtError as error:
        raise TargetError(explain(error), file=uri, failure=failure_of(error)) from None


def _answer(uri: Uri) -> str:
    connection = open_read_only(uri)
    try:
        version = Version.from_libvirt(connection.getLibVersion())
        return f"{plain(connection.getHostname())}, libvirt {version}"
    finally:
        connection.close()


# Facts of a connection's host: name, versions, architecture, networks.


_QEMU = "QEMU"
"""``virConnectGetType`` of the QEMU driver, also for KVM."""


def emulator_version(connection: libvirt.virConnect) -> Version | None:
    """The version of the QEMU that libvirt uses by default (a domain may name another); None if
    there is none. May block for long: a daemon that has just been installed, or that cannot cache
    the capabilities of emulators (its QEMU user may not open /dev/kvm), starts every emulator to
    answer. Half a minute was seen with libvirt 9.0."""
    if connection.getType() != _QEMU:
        return None
    try:
        return Version.from_libvirt(connection.getVersion())
    except libvirt.libvirtError:
        return None


def read_host(
    connection: libvirt.virConnect, emulator: Future[Version | None], *, patience: float
) -> tuple[Host, tuple[ReadError, ...]]:
    """The host, and errors for parts of it that could not be read: a host without its networks is
    still useful.

    ``emulator`` is awaited for ``patience`` seconds. libvirt's test driver runs nothing, so its
    versions mean nothing and are left out.
    """
    networks, errors = _networks(connection)
    version = None
    try:
        version = emulator.result(patience)
    except TimeoutError:
        text = f"QEMU's version: libvirt did not report it within {patience:g} s"
        errors += (ReadError(text),)
    config = HostConfig()
    if connection.getType() == _QEMU:
        config = HostConfig(
            Version.from_libvirt(connection.getLibVersion()),
            version,
            arch=str(connection.getInfo()[0]),
        )
    return Host(connection.getHostname(), config, networks), errors


def is_here(uri: Uri, hostname: str) -> bool:
    """True if the daemon runs on this machine, so that /proc and /dev are its own. The host names
    must agree, because a socket mounted into a container leads out of it."""
    here = socket.gethostname().partition(".")[0]
    return uri.local and hostname.partition(".")[0] == here


def _networks(
    connection: libvirt.virConnect,
) -> tuple[tuple[Network, ...], tuple[ReadError, ...]]:
    """All networks. A driver without networks is no error; one that refuses is, because
    ``type='network'`` cannot be resolved then."""
    try:
        found = [_network(handle) for handle in connection.listAllNetworks()]
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT:
            return (), ()
        return (), (ReadError(f"networks: {explain(error)}"),)
    return tuple(network for network in found if network is not None), ()


def _network(handle: libvirt.virNetwork) -> Network | None:
    """The network; None if it was undefined since it was listed."""
    try:
        return network_of(handle.XMLDesc())
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_NETWORK:
            return None
        raise


# Facts about all domains of a host, from a few list calls, not one per domain.
#
# ``virConnectListAllDomains`` filters on the server: each filter is one round trip, whatever the
# number of domains. Only domains with snapshots are asked for their number. The state of one domain
# that is to be changed is read anew each time (:func:`state_of`).


class DomainListing(msgspec.Struct, frozen=True):
    """The domains of a host, by name, and their properties as sets of UUIDs. A set is None if the
    driver refuses the filter."""

    handles: tuple[libvirt.virDomain, ...]
    transient: frozenset[str] | None
    managed_save: frozenset[str] | None
    with_snapshots: frozenset[str] | None

    def state(self, handle: libvirt.virDomain, *, active: bool) -> DomainState:
        """The state of one domain. Calls libvirt only for a domain with snapshots."""
        is_plain = not (self.transient or self.managed_save or self.with_snapshots)
        uuid = "" if is_plain else handle.UUIDString()  # slow: as long as building a record
        transient = _member(uuid, self.transient)
        snapshots, memory = _snapshots(handle, _member(uuid, self.with_snapshots))
        return DomainState(
            active=active,
            persistent=None if transient is None else not transient,
            managed_save=_member(uuid, self.managed_save),
            snapshots=snapshots,
            memory_snapshots=memory,
        )


def list_domains(connection: libvirt.virConnect, workers: WorkerThreads) -> DomainListing:
    """Every domain, active or not. Raises libvirtError if the list itself is refused."""
    everything = workers.call(connection.listAllDomains)
    transient, saved, snapshots = (
        workers.call(partial(connection.listAllDomains, flag))
        for flag in (
            libvirt.VIR_CONNECT_LIST_DOMAINS_TRANSIENT,
            libvirt.VIR_CONNECT_LIST_DOMAINS_MANAGEDSAVE,
            libvirt.VIR_CONNECT_LIST_DOMAINS_HAS_SNAPSHOT,
        )
    )
    return DomainListing(
        handles=tuple(sorted(everything.result(), key=lambda handle: handle.name())),
        transient=_uuids(transient),
        managed_save=_uuids(saved),
        with_snapshots=_uuids(snapshots),
    )


def _uuids(answer: Future[list[libvirt.virDomain]]) -> frozenset[str] | None:
    try:
        return frozenset(handle.UUIDString() for handle in answer.result())
    except libvirt.libvirtError:
        return None


def _member(uuid: str, uuids: frozenset[str] | None) -> bool | None:
    return None if uuids is None else uuid in uuids


def _snapshots(handle: libvirt.virDomain, has: bool | None) -> tuple[int | None, int | None]:
    """The number of snapshots, and how many of them contain the guest's memory (taken while it
    ran)."""
    if not has:
        return (None, None) if has is None else (0, 0)
    try:
        with_memory = handle.snapshotNum(libvirt.VIR_DOMAIN_SNAPSHOT_LIST_ACTIVE)
        return handle.snapshotNum(), with_memory
    except libvirt.libvirtError:
        return None, None


_PHASES: dict[int, PowerPhase] = {
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


def state_of(handle: libvirt.virDomain) -> MachineState:
    """The current state of one domain, for changing it."""
    phase, reason = handle.state()
    called = _PHASES.get(phase, "off")
    if called == "off" and phase != libvirt.VIR_DOMAIN_SHUTOFF and handle.isActive():
        called = "crashed"  # its QEMU is kept by <on_crash>preserve</on_crash>
    return MachineState(
        phase=called,
        persistent=bool(handle.isPersistent()),
        managed_save=bool(handle.hasManagedSaveImage()),
        memory_snapshots=_memory_snapshots(handle),
        job=called != "off" and _has_job(handle),
        migrating=(phase, reason) in _MIGRATING,
    )


def _memory_snapshots(handle: libvirt.virDomain) -> int:
    """Number of snapshots that contain the guest's memory; 0 if the driver has no snapshots."""
    try:
        return int(handle.snapshotNum(libvirt.VIR_DOMAIN_SNAPSHOT_LIST_ACTIVE))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT:
            return 0
        raise


def _has_job(handle: libvirt.virDomain) -> bool:
    """True while a migration, a save or a backup is running. False for a domain that is off, for
    which libvirt answers with an error."""
    try:
        return bool(handle.jobInfo()[0] != libvirt.VIR_DOMAIN_JOB_NONE)
    except libvirt.libvirtError as error:
        if error.get_error_code() in (
            libvirt.VIR_ERR_OPERATION_INVALID, libvirt.VIR_ERR_NO_SUPPORT,
        ):  # fmt: skip
            return False
        raise
