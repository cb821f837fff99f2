"""Plug a shadow NIC in, and be rid of it again, be it one that an ended process left.

It is plugged into what runs and never written into the persistent definition: a power cycle ends
it in any case.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from vnicaudit.bench.platform import connect, elements, reading
from vnicaudit.bench.trials import shadow_guest
from vnicaudit.bench.trials.shadow_notes import ShadowNote, ShadowNotes
from vnicaudit.errors import ActionError, GuestError, RefusedError, SilentError, VnicauditError
from vnicaudit.remedy.applying.definition_transactions import nic_of
from vnicaudit.remedy.applying.state import StateFolder
from vnicaudit.remedy.applying.verifying import wait_until
from vnicaudit.remedy.guest.agent import GuestAgent, by_mac
from vnicaudit.remedy.hypervisor import Hypervisor, Machine
from vnicaudit.remedy.trusted_uris import check_uri

Tell = Callable[[str, str], None]

_BIND_SECONDS = 30.0
_UNPLUG_SECONDS = 30.0
_ATTACH_SECONDS = 10.0
"""In which what libvirt was asked for is there, or will not be: a process may have been ended just
after it had asked."""
_LEFT = "the shadow NIC {} is left, until it is taken out by the next run or a power cycle: {}"


@contextmanager
def plugged_in(
    machine: Machine, note: ShadowNote, notes: ShadowNotes, element: bytes, tell: Tell
) -> Iterator[None]:
    """The NIC is in the guest, not set up yet; out again when this is left, however that is.
    Raises RefusedError where libvirt does not take it: nothing is changed then."""
    notes.write(note)
    try:
        _plug_in(machine, note, element)
        yield
    except SilentError:  # whatever was asked for may still happen: the note stays
        raise
    except BaseException:
        _take_out_all_the_same(machine, note, notes, tell)
        raise
    take_out(machine, note, notes)


def take_out(machine: Machine, note: ShadowNote, notes: ShadowNotes) -> None:
    """Have the guest, and what runs of the domain, as they were. Raises ActionError where something
    is left: its note stays, too."""
    if machine.state().active:
        left = _clear(GuestAgent(machine), note)
        _unplug(machine, note)
        if left is not None:
            raise left
    notes.forget(note)


def clean_up(
    state: Path, deadline: float, tell: Tell, trusted: frozenset[str] = frozenset()
) -> None:
    """Take out what ended processes left. What cannot be is told, and stays noted. ``trusted``:
    libvirt URIs that the user named."""
    notes = ShadowNotes(state)
    for note in notes.all():
        try:
            check_uri(note.uri, trusted)
            host = connect(note.uri, deadline=deadline)
            try:
                _clean_up_one(host, note, StateFolder(str(state)), tell)
            finally:
                host.close()
        except VnicauditError as error:
            tell(note.name, _LEFT.format(note.mac, error))


def _clean_up_one(host: Hypervisor, note: ShadowNote, state: StateFolder, tell: Tell) -> None:
    notes = ShadowNotes(state.path)
    with ExitStack() as stack:
        try:
            stack.enter_context(state.lock(host.key, host.name))
        except RefusedError:
            return  # whoever is at work there will be rid of it
        if note.mac not in {one.mac for one in notes.all()}:
            return  # whoever worked on it has come to its end meanwhile
        try:
            machine = host.machine(note.uuid)
        except SilentError:
            raise
        except ActionError:
            notes.forget(note)
            tell(note.name, f"it is not there any more, nor is its shadow NIC {note.mac}")
            return
        wait_until(time, lambda: _is_in(machine, note), note.at + _ATTACH_SECONDS - time.time())
        take_out(machine, note, notes)
        tell(note.name, f"a shadow NIC that an earlier run left, {note.mac}, was taken out")


def _take_out_all_the_same(
    machine: Machine, note: ShadowNote, notes: ShadowNotes, tell: Tell
) -> None:
    """Beside an error, which is not to be hidden by another one."""
    try:
        take_out(machine, note, notes)
    except VnicauditError as error:
        tell(note.name, _LEFT.format(note.mac, error))


def _plug_in(machine: Machine, note: ShadowNote, element: bytes) -> None:
    try:
        machine.attach(element)
    except SilentError:
        raise
    except ActionError as error:
        raise RefusedError(f"a second NIC cannot be plugged in: {error}") from error
    agent = GuestAgent(machine)
    if not wait_until(time, lambda: note.mac in by_mac(agent.interfaces()), _BIND_SECONDS):
        raise GuestError(
            f"the guest has no interface with {note.mac} after {_BIND_SECONDS:g} s: has it a "
            "driver for the new device?"
        )


def _clear(agent: GuestAgent, note: ShadowNote) -> VnicauditError | None:
    """Undo what was set in the guest; why that could not be done."""
    try:
        shadow_guest.put_back(agent, note)
    except SilentError:
        raise
    except (GuestError, RefusedError) as error:
        return error
    return None


def _unplug(machine: Machine, note: ShadowNote) -> None:
    live = machine.live()
    number = elements().interface_number(live, note.mac)
    if number is None:
        return
    refused = None
    try:
        machine.detach(elements().for_attach(live, number))
    except SilentError:
        raise
    except ActionError as error:  # an earlier process may have asked for it already
        refused = error
    if not wait_until(time, lambda: not _is_in(machine, note), _UNPLUG_SECONDS):
        raise refused or GuestError(
            f"the guest did not give {note.mac} up within {_UNPLUG_SECONDS:g} s"
        )


def _is_in(machine: Machine, note: ShadowNote) -> bool:
    live = reading().definition_of(machine.live(), note.uri)
    return nic_of(live, note.mac) is not None
