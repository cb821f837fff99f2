"""Combines the platforms on which changes and measurements are made. Each is imported when needed,
so that the rest of the command line starts without them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from vnicaudit.base.wording import count
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.wiring.platforms import named_cluster
from vnicaudit.errors import ActionError, EndpointError, MissingExtraError, UsageError
from vnicaudit.history import history_to_write
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.measurement import Ran
from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.host.local import Tree, read_release, read_vdpa, read_vhost_net
from vnicaudit.platforms.qemu import proc
from vnicaudit.platforms.qemu.proc import read_proc, vhost_descriptors
from vnicaudit.platforms.qemu.read import read_text
from vnicaudit.remedy.guest.network import LinuxSettings
from vnicaudit.remedy.hypervisor import Adapters, CommandOutput, RunningProcess
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from vnicaudit.history.place import HistoryPlace
    from vnicaudit.model.fleet import AuditSink, FleetAudit, KeptReading
    from vnicaudit.model.history import StoredAudit
    from vnicaudit.model.host import VdpaDevice
    from vnicaudit.remedy.hypervisor import Cloud, ClusterObjects, HostSettings, Hypervisor


def adapters() -> Adapters:
    """The platform functions for changes and measurements."""
    return Adapters(
        connect, _ThisMachine(), connect_cloud, time, read_text, LinuxSettings, host, cluster
    )


def connect(uri: str, *, deadline: float) -> Hypervisor:
    """A host on which domains can be changed. Raises TargetError if it cannot be reached."""
    from vnicaudit.platforms.libvirt.control import connect as reach

    return reach(uri, deadline=deadline)


def connect_cloud(name: str, *, deadline: float) -> Cloud:
    """A cloud in which servers can be changed. Raises TargetError if it cannot be reached."""
    from vnicaudit.platforms.openstack.control import connect as reach

    return reach(name, deadline=deadline)


def host(url: str, deadline: float) -> HostSettings:
    """A host whose settings can be changed; it may turn out to be unreachable."""
    from vnicaudit.platforms.host.visiting.settings import SettingsPlace

    return SettingsPlace(url, deadline)


def cluster(target: str, deadline: float) -> ClusterObjects:
    """A cluster whose objects can be changed. Raises TargetError if it cannot be reached."""
    from vnicaudit.platforms.kubevirt.live.changes import ClusterPlace

    return ClusterPlace(target, deadline)


class _ThisMachine:
    """Facts about the machine on which vnicaudit runs."""

    def running_process(self, uuid: str) -> RunningProcess | None:
        """The QEMU process of that domain; None if there is none, or it cannot be read."""
        for found in proc.read_proc("/proc", target="/proc"):
            if isinstance(found, RunningQemu) and found.uuid == uuid:
                with suppress(FileNotFoundError):  # it has ended since
                    files = proc.vhost_descriptors(f"/proc/{found.pid}/fd")
                    return RunningProcess(found.nics, files)
        return None

    def vdpa_devices(self) -> tuple[VdpaDevice, ...]:
        """The vhost-vDPA devices of this machine."""
        return read_vdpa(Tree("/"))


# Stores audits of fleets in the history.


def _store(place: HistoryPlace, audit: FleetAudit, readings: Iterable[KeptReading]) -> None:
    with history_to_write(place) as history:
        stored = history.take(audit, readings)
    for note in _notes(stored, audit):
        tell(safe(f"Warning: {note}"))


_NOTABLE = 0.1
"""Part of the known hosts that an inventory may leave out without a word."""


def _notes(stored: StoredAudit, audit: FleetAudit) -> Iterator[str]:
    """Warnings about an audit that was stored: late readings, an inventory with fewer hosts."""
    newer = stored.newest_reading
    if newer is not None:
        read = stored.ok + stored.partial
        yield (
            f"{stored.late:,} of {count(read, 'host')} read late: audit {newer.audit}, started "
            f"{newer.started}, already read them later than this one, started {audit.started}. "
            "These readings were recorded and change nothing in the history"
        )
    if stored.dropped > _NOTABLE * stored.hosts_before:
        yield (
            f"this inventory does not have {stored.dropped:,} of the {stored.hosts_before:,} hosts "
            "of the audit before: their findings no longer count in the history, which is not the "
            "same as fixed. To audit a part of a fleet, use --limit; for another fleet, use "
            "another --history"
        )


def history_sink(place: HistoryPlace, *, is_named: bool, quiet: bool = False) -> AuditSink | None:
    """A sink that stores audits in that place, after checking that it can be written; call this
    before reading hosts. None if a library is missing and the place was not named explicitly
    (``is_named``). Raises UsageError, MissingExtraError, HistoryError."""
    try:
        with history_to_write(place):
            return partial(_store, place)
    except MissingExtraError as error:
        if is_named:
            raise
        if not quiet:
            tell(f"Note: this audit was not stored in the history: {error}")
        return None


# nova-manage on a controller: connections are opened when needed, and reused.


_TEXT_MAX = 4096
"""Maximum characters of its output that are kept, from the end, because logs come first."""


class Connection(Protocol):
    """The part of an opened endpoint that is used here."""

    def run(self, argv: Sequence[str], *, seconds: float) -> Ran:
        """Run a program to its end. Raises EndpointError if the connection is lost."""

    def close(self) -> None:
        """Close the connection."""


Connect = Callable[[str], Connection]


class Controller:
    """Runs nova-manage at an endpoint. May be called by any thread; each call uses a connection of
    its own, opened when needed and replaced if lost. ``seconds``: timeout of a call. ``connect``:
    opens an endpoint."""

    def __init__(
        self, url: str, command: tuple[str, ...], seconds: float, connect: Connect
    ) -> None:
        from vnicaudit.bench.endpoints.opening import parse  # endpoints are for a controller alone

        parse(url)
        self._connect = connect
        self._url = url
        self._command = command
        self._seconds = seconds
        self._turn = threading.Condition()
        self._idle: list[Connection] = []
        self._busy = 0
        self._closed = False

    def __call__(self, arguments: Sequence[str]) -> CommandOutput:
        """Run nova-manage. Raises ActionError if it could not be run, or its result is unknown."""
        try:
            ended = self._run_there((*self._command, *arguments))
        except EndpointError as error:
            raise ActionError(f"nova-manage cannot be run: {error}") from None
        if ended.code is None:
            raise ActionError(
                f"nova-manage at {self._url} was killed, or took more than {self._seconds:g} s "
                "(VNICAUDIT_NOVA_MANAGE_TIMEOUT)"
            )
        return CommandOutput(ended.code, ended.stdout[-_TEXT_MAX:], ended.stderr[-_TEXT_MAX:])

    def close(self) -> None:
        """Close all connections after running calls have ended: the result of an interrupted one
        would be unknown."""
        with self._turn:
            self._closed = True
            self._turn.wait_for(lambda: not self._busy)
        self._leave_idle()

    def _run_there(self, words: Sequence[str]) -> Ran:
        """Run the words on a connection. If an idle connection turns out to be lost, retry once on
        a new one: setting a property twice does no harm."""
        session = self._take_idle()
        try:
            if session is not None:
                try:
                    return session.run(words, seconds=self._seconds)
                except EndpointError:
                    lost, session = session, None
                    lost.close()
                    self._leave_idle()  # the others are probably lost too
            session = self._connect(self._url)
            return session.run(words, seconds=self._seconds)
        except EndpointError:
            if session is not None:
                lost, session = session, None
                lost.close()
            raise
        finally:
            self._give_back(session)

    def _take_idle(self) -> Connection | None:
        """An idle connection; None: there is none."""
        with self._turn:
            if self._closed:
                raise EndpointError(f"{self._url}: the connection was closed")
            self._busy += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, session: Connection | None) -> None:
        """Return a connection after use; None: it was lost."""
        with self._turn:
            self._busy -= 1
            if session is not None:
                self._idle.append(session)
            self._turn.notify_all()

    def _leave_idle(self) -> None:
        with self._turn:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()


# Facts about this machine that decide what an audit on it can judge.


class AuditMachine(NamedTuple):
    """``vhost_net``: None if unknown. ``qemus``: number of visible QEMU processes; ``closed``:
    those of them whose open descriptors cannot be read. ``hidden``: processes of other users are
    not visible."""

    vhost_net: bool | None
    qemus: int
    closed: int
    hidden: bool


def this_machine(root: str = "/") -> AuditMachine:
    """The machine whose file system is mounted at ``root``."""
    tree = Tree(root)
    proc = str(tree.path("/proc"))
    pids = [one.pid for one in read_proc(proc) if isinstance(one, RunningQemu)]
    closed = [pid for pid in pids if _is_closed(f"{proc}/{pid}/fd")]
    hidden = not os.path.exists(f"{proc}/1")
    return AuditMachine(read_vhost_net(tree, read_release(tree)), len(pids), len(closed), hidden)


def _is_closed(descriptors: str) -> bool:
    try:
        return vhost_descriptors(descriptors) is None and bool(os.listdir(descriptors))
    except FileNotFoundError:  # the process has ended since
        return False
    except PermissionError:
        return True


# Rights in a cluster.


def cluster_rights(target: str, deadline: float) -> tuple[str, list[tuple[str, bool | None, str]]]:
    """The version of a cluster's API server, and the lists that it serves: whether this user may
    read each (None: the server does not tell), and the command that checks it. ``deadline``:
    seconds per request. Raises TargetError, UsageError, MissingExtraError."""
    named_cluster(target)
    from vnicaudit.platforms.kubevirt.live.client import Cluster
    from vnicaudit.platforms.kubevirt.live.lists import can_list, rights

    cluster = Cluster(target, LiveOptions(deadline=deadline))
    found = [
        (each.resource.name, each.allowed, can_list(cluster, each.resource))
        for each in rights(cluster)
    ]
    return cluster.version(), found


# Checks the configuration of clouds as an audit does before it logs in.


def unusable_clouds(names: Sequence[str]) -> Iterator[str]:
    """Problems with the files, or with each of these clouds in them; none if they can be used.
    Nothing is connected to. Raises MissingExtraError without openstacksdk."""
    from vnicaudit.platforms.openstack.config_files import check

    try:
        unreadable = check("")
    except UsageError as error:
        yield str(error)
        return
    if not names:  # if a cloud is named, another file was read instead of these
        yield from unreadable
    for name in names:
        try:
            check(name)
        except UsageError as error:
            yield str(error)
