"""The hosts, clouds and locks that one command has opened, and the services that its drivers
use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable
from contextlib import ExitStack, suppress
from typing import Protocol, TypeVar, cast

from vnicaudit.errors import ActionError, SilentError
from vnicaudit.model.host_lock import HostLock
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.applying.journal.state import HeldError, StateFolder
from vnicaudit.remedy.cloud import CloudAccess

T = TypeVar("T")

_NO_LOCK = (
    "{name} can hold no lock, so nothing would keep another operator away: {error} "
    "(--without-host-lock, where nobody else works there)"
)


class HostWithLock(Protocol):
    """A host that can hold a lock (see :class:`vnicaudit.remedy.hypervisor.Hypervisor`)."""

    @property
    def name(self) -> str:
        """The name that people know the host by."""

    def take_lock(self, lock: HostLock) -> HostLock:
        """The lock that is there now."""

    def find_lock(self) -> HostLock | None:
        """The lock that is there; None: there is none."""

    def drop_lock(self, owner: str) -> None:
        """Remove that owner's lock."""


class _Held:
    """A place that is held, and by how many: two URIs may lead to one host."""

    def __init__(self, locks: ExitStack) -> None:
        self.locks = locks
        self.holders = 0


class Session:
    """Open, and held, until ``stack`` is left, or the place. ``adapters`` and ``reach`` are what
    drivers are made of; ``deadline``: seconds the other side may take for one answer; ``hold``:
    whether other runs are kept away, and all is looked at before something is changed;
    ``host_by_host``: a host is opened when its turn comes, left when nothing is left to do there,
    and nothing is done on one that can hold no lock, unless ``without_lock``."""

    def __init__(
        self,
        adapters: Adapters,
        reach: CloudAccess,
        state: StateFolder,
        deadline: float,
        stack: ExitStack,
        *,
        hold: bool = True,
        host_by_host: bool = False,
        without_lock: bool = False,
    ) -> None:
        self.adapters = adapters
        self.reach = reach
        self.deadline = deadline
        self.holds = hold
        self.host_by_host = host_by_host
        self._without_lock = without_lock
        self._state = state
        self._stack = stack
        self._places: dict[str, ExitStack] = {}
        self._held: dict[str, _Held] = {}
        self._turn = threading.RLock()
        self._made: dict[Hashable, object] = {}

    def once(self, make: Callable[[Session], T]) -> T:
        """The object that ``make`` makes of this session, made once and reused."""
        with self._turn:
            if make not in self._made:
                self._made[make] = make(self)
            return cast(T, self._made[make])

    def at(self, place: str) -> ExitStack:
        """The stack of all that is open at a place: unwound when that is left, or the command
        ends."""
        with self._turn:
            if place not in self._places:
                self._places[place] = self._stack.enter_context(ExitStack())
            return self._places[place]

    def leave_all_but(self, places: Collection[str]) -> None:
        """Leave the places where nothing is left to do, if they are opened one by one."""
        if self.host_by_host:
            with self._turn:
                gone = [self._places.pop(place) for place in {*self._places} - {*places}]
            for stack in gone:
                stack.close()

    def closing(self, close: Callable[[], None]) -> None:
        """Have that called in the end."""
        self._stack.callback(close)

    def hold(
        self,
        key: str,
        name: str,
        stack: ExitStack | None = None,
        host: HostWithLock | None = None,
    ) -> None:
        """Keep other runs away from a place until ``stack`` is left (None: until the end): those of
        this machine, and by a lock at ``host`` those of others. Raises HeldError where one is at
        work there."""
        if not self.holds:
            return
        with self._turn:
            if key not in self._held:
                self._held[key] = _Held(self._locked(key, name, host))
            self._held[key].holders += 1
        (self._stack if stack is None else stack).callback(self._let_go, key)

    def _let_go(self, key: str) -> None:
        with self._turn:
            held = self._held[key]
            held.holders -= 1
            if not held.holders:
                del self._held[key]
                held.locks.close()

    def _locked(self, key: str, name: str, host: HostWithLock | None) -> ExitStack:
        with ExitStack() as locks:
            locks.enter_context(self._state.lock(key, name))
            if host is not None and not self._without_lock:
                self._lock_host(host, locks)
            return locks.pop_all()

    def _lock_host(self, host: HostWithLock, locks: ExitStack) -> None:
        """A fleet's hosts are locked one by one. Elsewhere such a lock keeps this run away too, or
        is let go in the end where an earlier run of this state folder left it; hosts that can hold
        none are worked on all the same."""
        own = self._state.host_lock()
        try:
            there = host.take_lock(own) if self.host_by_host else host.find_lock()
        except SilentError:
            raise
        except ActionError as error:
            if self.host_by_host:
                raise HeldError(_NO_LOCK.format(name=host.name, error=error)) from None
            return
        if there is None:
            return
        if there.owner != own.owner:
            raise HeldError(
                f"another run is at work on {host.name}: {there.holder}; wait for it to end, or, "
                f"where nothing of it runs any more: {there.clear_command}"
            )
        locks.callback(_drop, host, own.owner)

    @property
    def stack(self) -> ExitStack:
        """The exit stack that is unwound when the command ends."""
        return self._stack


def _drop(host: HostWithLock, owner: str) -> None:
    """A lock that cannot be removed now is taken over by the next run of its owner."""
    with suppress(ActionError):
        host.drop_lock(owner)
