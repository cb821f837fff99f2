"""Threads that make libvirt's blocking calls, and the mailbox through which they report.

A call into libvirt cannot be cancelled. So every libvirt object lives and dies in a daemon thread;
the reader waits at a mailbox, and gives up if there was no answer for longer than a deadline.
Threads that hang by then are left behind, and do not keep the program from ending.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Generic, TypeVar

import msgspec

from vnicaudit.base.deadlines import next_of
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Network
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.documents import documents

T = TypeVar("T")

_WAITING_MAX = 64
"""Maximum number of reports waiting for a slow reader."""
_ROOM_SECONDS = 1.0
"""Seconds after which a thread that waits for room checks whether there is still a reader."""


class HostSilentError(Exception):
    """There was no answer before the deadline."""


class Pulse:
    """When a host last answered, and for how many seconds it may be silent."""

    def __init__(self, deadline: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.deadline = deadline
        self.clock = clock
        self._heard = clock()
        self._ended = threading.Event()

    def beat(self) -> None:
        """Note that an answer has come, whatever it was: the host is alive."""
        self._heard = self.clock()

    def patience(self, asked: float) -> float:
        """Seconds left for a reader that has waited since ``asked`` (by ``clock``)."""
        return max(asked, self._heard) + self.deadline - self.clock()

    @property
    def has_ended(self) -> bool:
        """True once there is no reader any more."""
        return self._ended.is_set()

    def pause(self, seconds: float) -> None:
        """Wait for so many seconds, or until there is no reader any more."""
        self._ended.wait(seconds)

    def end(self) -> None:
        """Let the threads stop after their current call."""
        self._ended.set()


class Mailbox(Generic[T]):
    """A bounded queue whose reader gives up when the host is silent for too long."""

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._queue: queue.Queue[T] = queue.Queue(_WAITING_MAX)

    def post(self, item: T) -> None:
        """Report an item; waits while the box is full, drops the item if there is no reader any
        more."""
        while not self._pulse.has_ended:
            try:
                self._queue.put(item, timeout=_ROOM_SECONDS)
            except queue.Full:
                continue
            return

    def take(self, more: float = 0.0) -> T:
        """The next report. Raises HostSilentError if there was no answer for the length of the
        deadline plus ``more`` seconds."""
        asked = self._pulse.clock()
        while True:
            patience = self._pulse.patience(asked) + more
            try:
                return next_of(self._queue, patience)
            except queue.Empty:
                if patience <= 0:
                    raise HostSilentError from None


class WorkerThreads:
    """A fixed number of daemon threads. ``heard`` is called after each of their calls."""

    def __init__(self, size: int, heard: Callable[[], None]) -> None:
        self.size = size
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._heard = heard
        for number in range(size):
            threading.Thread(target=self._work, name=f"libvirt {number}", daemon=True).start()

    def call(self, function: Callable[[], T]) -> Future[T]:
        """Let a thread call ``function``; the future gets its result or exception."""
        future: Future[T] = Future()

        def job() -> None:
            try:
                future.set_result(function())
            except BaseException as error:  # raised again by the future
                future.set_exception(error)
            self._heard()

        self._jobs.put(job)
        return future

    def dismiss(self) -> None:
        """Let every thread end after the jobs that it was given before."""
        for _ in range(self.size):
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


# libvirt networks: the type that an interface of ``type='network'`` gets.
#
# Source: libvirt 11.3 ``virDomainNetResolveActualType`` (src/conf) and ``networkAllocatePort``
# (src/network/bridge_driver.c). A portgroup changes virtual port, VLAN and bandwidth, never the
# type.


_DIRECT = frozenset({"private", "vepa", "passthrough"})


def network_of(text: str) -> Network:
    """The network that a ``<network>`` document defines. Raises TargetError if it is not XML."""
    root = next(documents(text.encode(), "network")).root
    forward = root.find("forward")
    bridge = root.find("bridge")
    mode = None if forward is None else forward.get("mode", "nat")
    has_bridge = bridge is not None and bridge.get("name") is not None
    return Network(
        name=(root.findtext("name") or "").strip(),
        actual_type=actual_type(mode, has_bridge=has_bridge),
    )


def actual_type(forward: str | None, *, has_bridge: bool) -> str:
    """``bridge``, ``direct`` or ``hostdev``, by forward mode (None: isolated).

    nat, route, open and isolated networks have a bridge of libvirt's own. ``bridge`` is a bridge of
    the host if one is named, and macvtap otherwise.
    """
    if forward == "hostdev":
        return "hostdev"
    if forward in _DIRECT or (forward == "bridge" and not has_bridge):
        return "direct"
    return "bridge"


def resolve_networks(domain: Domain, networks: Mapping[str, Network]) -> Domain:
    """The domain with ``actual_type`` filled in for its NICs on known networks (by name); the
    others are unchanged."""
    if not any(_unresolved(nic) for nic in domain.nics):
        return domain
    nics = tuple(_resolve(nic, networks) for nic in domain.nics)
    return msgspec.structs.replace(domain, nics=nics)


def _unresolved(nic: Nic) -> bool:
    return nic.declared.type == "network" and nic.declared.actual_type is None


def _resolve(nic: Nic, networks: Mapping[str, Network]) -> Nic:
    network = networks.get(nic.source or "") if _unresolved(nic) else None
    if network is None:
        return nic
    declared = msgspec.structs.replace(nic.declared, actual_type=network.actual_type)
    return msgspec.structs.replace(nic, declared=declared)
