"""Plug a shadow NIC in, and remove it again, even one that an interrupted process left.

It is plugged into the running guest only and never written into the persistent definition: a power
cycle removes it in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from vnicaudit.bench.trials import shadow_guest
from vnicaudit.bench.trials.shadow_notes import ShadowNote, ShadowNotes
from vnicaudit.errors import ActionError, GuestError, RefusedError, SilentError, VnicauditError
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.applying.domains.definition_transactions import nic_of
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.verifying import wait_until
from vnicaudit.remedy.guest.agent import GuestAgent, by_mac
from vnicaudit.remedy.hypervisor import Hypervisor, Machine
from vnicaudit.remedy.trusted_uris import check_uri

Tell = Callable[[str, str], None]

_BIND_SECONDS = 30.0
_UNPLUG_SECONDS = 30.0
_ATTACH_SECONDS = 10.0
"""Seconds within which a NIC requested from libvirt appears, if ever: a process may have been
interrupted just after its request."""
_LEFT = "the shadow NIC {} stays until the next run or a power cycle removes it: {}"


class ShadowPlug:
    """Plugs shadow NICs into one domain, and removes them. ``tell``: is told what could not be
    removed."""

    def __init__(
        self, machine: Machine, notes: ShadowNotes, tell: Tell, adapters: Adapters
    ) -> None:
        self._machine = machine
        self._notes = notes
        self._tell = tell
        self._clock = adapters.clock
        self._texts = adapters.texts
        self._agent = GuestAgent(machine, adapters.clock)

    @contextmanager
    def plugged_in(self, note: ShadowNote, element: bytes) -> Iterator[None]:
        """The NIC is in the guest, not configured yet; it is removed when this context is left, in
        whatever way. Raises RefusedError if libvirt does not accept it: nothing is changed then."""
        self._notes.write(replace(note, at=self._clock.time()))
        try:
            self._plug_in(note, element)
            yield
        except SilentError:  # the request may still take effect: the record stays
            raise
        except BaseException:
            self._take_out_all_the_same(note)
            raise
        self.take_out(note)

    def take_out(self, note: ShadowNote) -> None:
        """Restore the guest, and the running domain. Raises ActionError if something is left: its
        record stays, too."""
        if self._machine.state().active:
            left = self._clear(note)
            self._unplug(note)
            if left is not None:
                raise left
        self._notes.forget(note)

    def await_attached(self, note: ShadowNote) -> None:
        """Wait for a NIC that an interrupted process may just have requested from libvirt."""
        seconds = note.at + _ATTACH_SECONDS - self._clock.time()
        wait_until(self._clock, lambda: self._is_in(note), seconds)

    def _take_out_all_the_same(self, note: ShadowNote) -> None:
        """Remove it while an error is raised, which must not be hidden by another one."""
        try:
            self.take_out(note)
        except VnicauditError as error:
            self._tell(note.name, _LEFT.format(note.mac, error))

    def _plug_in(self, note: ShadowNote, element: bytes) -> None:
        try:
            self._machine.attach(element)
        except SilentError:
            raise
        except ActionError as error:
            raise RefusedError(f"a second NIC cannot be plugged in: {error}") from error
        if not wait_until(self._clock, lambda: self._is_bound(note), _BIND_SECONDS):
            raise GuestError(
                f"the guest has no interface with {note.mac} after {_BIND_SECONDS:g} s: does it "
                "have a driver for the new device?"
            )

    def _clear(self, note: ShadowNote) -> VnicauditError | None:
        """Undo the settings in the guest; returns why that was not possible."""
        try:
            shadow_guest.put_back(self._agent, note)
        except SilentError:
            raise
        except (GuestError, RefusedError) as error:
            return error
        return None

    def _unplug(self, note: ShadowNote) -> None:
        live, elements = self._machine.live(), self._texts.elements
        number = elements.interface_number(live, note.mac)
        if number is None:
            return
        refused = None
        try:
            self._machine.detach(elements.for_attach(live, number))
        except SilentError:
            raise
        except ActionError as error:  # an interrupted process may have requested it already
            refused = error
        if not wait_until(self._clock, lambda: not self._is_in(note), _UNPLUG_SECONDS):
            raise refused or GuestError(
                f"the guest did not release {note.mac} within {_UNPLUG_SECONDS:g} s"
            )

    def _is_in(self, note: ShadowNote) -> bool:
        live = self._texts.reading.definition_of(self._machine.live(), note.uri)
        return nic_of(live, note.mac) is not None

    def _is_bound(self, note: ShadowNote) -> bool:
        return note.mac in by_mac(self._agent.interfaces())


class LeftShadows:
    """Shadow NICs that interrupted processes left in guests. ``trusted``: libvirt URIs that the
    user named."""

    def __init__(
        self, state: Path, adapters: Adapters, tell: Tell, trusted: frozenset[str] = frozenset()
    ) -> None:
        self._state = StateFolder(str(state))
        self._notes = ShadowNotes(state)
        self._adapters = adapters
        self._tell = tell
        self._trusted = trusted

    def take_out(self, deadline: float) -> None:
        """Remove all of them. Those that cannot be removed are reported, and stay recorded.
        ``deadline``: timeout in seconds of one call to a host."""
        for note in self._notes.every_note():
            try:
                check_uri(note.uri, self._trusted)
                with closing(self._adapters.connect(note.uri, deadline=deadline)) as host:
                    self._take_out_of(host, note)
            except VnicauditError as error:
                self._tell(note.name, _LEFT.format(note.mac, error))

    def _take_out_of(self, host: Hypervisor, note: ShadowNote) -> None:
        with ExitStack() as stack:
            try:
                stack.enter_context(self._state.lock(host.key, host.name))
            except RefusedError:
                return  # the process working there will remove it
            if note.mac not in {one.mac for one in self._notes.every_note()}:
                return  # the process that worked on it has ended meanwhile
            try:
                machine = host.machine(note.uuid)
            except SilentError:
                raise
            except ActionError:
                self._notes.forget(note)
                text = f"it no longer exists, and neither does its shadow NIC {note.mac}"
                self._tell(note.name, text)
                return
            plug = ShadowPlug(machine, self._notes, self._tell, self._adapters)
            plug.await_attached(note)
            plug.take_out(note)
            text = f"removed a shadow NIC left by an earlier run, {note.mac}"
            self._tell(note.name, text)
