"""The hosts, clouds and locks that one command has opened, and the services that its drivers
use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Set
from contextlib import ExitStack, suppress
from typing import TypeVar, cast

import msgspec

from vnicaudit.errors import ActionError, NoResponseError, VnicauditError
from vnicaudit.model.host import HostLock
from vnicaudit.remedy.applying.journal.past_run import half_done
from vnicaudit.remedy.applying.journal.state import HeldError, StateFolder
from vnicaudit.remedy.hypervisor import Adapters, CloudAccess, Hypervisor
from vnicaudit.text.secrets import masked_message

T = TypeVar("T")
Tell = Callable[[str, str], None]
"""Is told the name of a host and what happens to it."""

_NO_LOCK = (
    "{name}: this host cannot hold a lock against other operators: {error}. If nobody else changes "
    "it: --without-host-lock"
)


class _Held(msgspec.Struct):
    """A locked place, and how often it is in use: two URIs may lead to one host. ``name``: what the
    user knows it by. ``owner``: owner of the lock to be removed from the host; empty: none.
    ``was_ours``: an earlier run of this state folder had left that lock."""

    name: str
    locks: ExitStack
    owner: str
    was_ours: bool
    holders: int = 0


class Session:
    """Connections and locks, held until ``stack`` or their place is left. ``adapters`` and
    ``reach``: what drivers are made with; ``deadline``: timeout in seconds of one call; ``hold``:
    take locks, as something is to be changed; ``host_by_host``: a host is opened when its turn
    comes and left when there is nothing left to do on it, and a host that cannot be locked is not
    changed unless ``without_lock``; ``tell``: is told of hosts that stay locked; ``names``: URI ->
    name in the inventory."""

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
        tell: Tell | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self.adapters = adapters
        self.reach = reach
        self.deadline = deadline
        self.holds = hold
        self.host_by_host = host_by_host
        self._without_lock = without_lock
        self.state = state
        self._leaving = ""
        self._tell = tell
        self._names = names or {}
        self.stack = stack
        self._places: dict[str, ExitStack] = {}
        self._held: dict[str, _Held] = {}
        self._uris: dict[str, set[str]] = {}
        self._turn = threading.RLock()
        self._made: dict[Hashable, object] = {}

    def once(self, make: Callable[[Session], T]) -> T:
        """The object that ``make`` makes of this session, made once and reused."""
        with self._turn:
            if make not in self._made:
                self._made[make] = make(self)
            return cast(T, self._made[make])

    def at(self, place: str) -> ExitStack:
        """The stack of everything open at a place: unwound when the place is left, or the command
        ends."""
        with self._turn:
            if place not in self._places:
                self._places[place] = self.stack.enter_context(ExitStack())
            return self._places[place]

    def leave_all_but(self, places: Collection[str], run: str) -> None:
        """Leave the places where there is nothing left to do, if they are opened one by one.
        ``run``: the id of the calling run, which has nothing half done there."""
        if self.host_by_host:
            with self._turn:
                gone = [self._places.pop(place) for place in {*self._places} - {*places}]
            self._leaving = run
            for stack in gone:
                stack.close()
            self._leaving = ""

    def hold(
        self,
        key: str,
        name: str,
        stack: ExitStack | None = None,
        host: Hypervisor | None = None,
    ) -> None:
        """Keep other runs away from a place until ``stack`` is left (None: until the command ends):
        runs of this machine, and by a lock on ``host`` those of others. Raises HeldError if one is
        working there."""
        if not self.holds:
            return
        with self._turn:
            if key not in self._held:
                name = self._names.get(name if host is None else host.uri, name)
                self._held[key] = self._locked(key, name, host)
            held = self._held[key]
            held.holders += 1
            self._uris.setdefault(key, set()).update(() if host is None else (host.uri,))
        (self.stack if stack is None else stack).callback(self._let_go, key, host)

    def _let_go(self, key: str, host: Hypervisor | None) -> None:
        with self._turn:
            held = self._held[key]
            held.holders -= 1
            if held.holders:
                return
            del self._held[key]
            try:
                if host is not None and held.owner:
                    self._unlock(key, host, held)
            finally:
                held.locks.close()

    def _locked(self, key: str, name: str, host: Hypervisor | None) -> _Held:
        with ExitStack() as locks:
            locks.enter_context(self.state.lock(key, name))
            owner, was_ours = "", False
            if host is not None and not self._without_lock:
                was_ours = not self.host_by_host or self._is_ours(host)
                owner = self._lock_host(host, name)
            return _Held(name, locks.pop_all(), owner, was_ours)

    def _is_ours(self, host: Hypervisor) -> bool:
        """True if the host already has this state folder's lock. False if the host cannot tell:
        locking it will report the error."""
        try:
            there = host.find_lock()
        except NoResponseError:
            raise
        except ActionError:
            return False
        return there is not None and there.owner == self.state.host_lock().owner

    def _lock_host(self, host: Hypervisor, name: str) -> str:
        """Lock the host, if hosts are opened one by one. Otherwise only look for such a lock:
        another owner's blocks this run, our own is released in the end, and a host that cannot be
        locked is used all the same. Returns the owner of the lock to release; empty: none."""
        was_noted = self.state.may_be_locked(host.uri)
        try:
            if self.host_by_host:
                self.state.note_locked(host.uri)
                there: HostLock | None = host.take_lock(self.state.host_lock())
            else:
                there = host.find_lock()
        except NoResponseError:
            raise
        except ActionError as error:
            if self.host_by_host:
                if not was_noted:  # else an earlier run's lock may be there
                    self.state.note_unlocked(host.uri)
                reason = str(error).removeprefix("cannot hold a lock: ")
                raise HeldError(_NO_LOCK.format(name=name, error=reason)) from None
            return ""
        if there is None:
            return ""
        if there.owner != self.state.host_lock().owner:
            self.state.note_unlocked(host.uri)
            raise HeldError(
                f"another run is working on {name}: {there.holder}; wait for it to end or, "
                f"if it is no longer running, remove its lock: {there.clear_command}"
            )
        return there.owner

    def _unlock(self, key: str, host: Hypervisor, held: _Held) -> None:
        """Remove the lock, or keep it if something on the host is half done. A lock that cannot be
        removed now is taken over by its owner's next run."""
        if why := self._why_locked(self._uris[key], held):
            if self._tell is not None:
                self._tell(held.name, why)
            return
        with suppress(ActionError):
            host.drop_lock(held.owner)
            for uri in self._uris[key]:
                self.state.note_unlocked(uri)

    def _why_locked(self, uris: Set[str], held: _Held) -> str:
        """The reason to keep the lock of a host that was reached by these URIs; empty: none. A
        target that was not reached may be this host by another URI, so a change that is half done
        there also counts, unless the run that left it also lists this host by a URI of its own."""
        try:
            open_targets = half_done(self.state, but=self._leaving)
        except VnicauditError as error:
            return f"it stays locked: a change there may be unfinished: {error}"
        if open_targets.keys() & uris:
            return "it stays locked: a change there is unfinished"
        reached = {uri for of_one in self._uris.values() for uri in of_one}
        for uri, beside in open_targets.items():
            if held.was_ours and "://" in uri and uri not in reached and not beside & uris:
                return (
                    f"it stays locked, as before: a change is unfinished on {masked_message(uri)}, "
                    "which may be this host"
                )
        return ""
