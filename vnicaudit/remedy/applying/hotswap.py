"""Exchange a NIC under a running guest.

Two NICs with one MAC cannot be told apart later, so the old one goes first, by its full running
definition (libvirt finds it by its address); the new one comes with the same MAC; then the guest
is given back, through its agent, what it had set on the old one.
"""

from __future__ import annotations

import time

import msgspec

from vnicaudit.errors import ActionError, GuestError, RefusedError, SilentError
from vnicaudit.model.decoding import converted
from vnicaudit.model.guest_network import GuestNetwork
from vnicaudit.remedy.applying.journal import seconds_since
from vnicaudit.remedy.applying.means import Means, wait_until
from vnicaudit.remedy.applying.task import Wanted, nic_of, unmet
from vnicaudit.remedy.definitions import elements, reading
from vnicaudit.remedy.guest import network as guest_network
from vnicaudit.remedy.guest.agent import by_mac

RUNNING = "running"
"""The definition that ran, kept where the persistent one does not say what to go back to."""
_SOON = 0.02
_UNPLUG_SECONDS = 30.0
_BIND_SECONDS = 30.0


class NotTakenError(GuestError):
    """The guest is worse off with the new NIC than it was."""


def capture(means: Means) -> None:
    """Note what the guest has set on each NIC, where that is not known from an earlier life.
    Raises GuestError for what could not be put back: the NIC is a member of a bond, say."""
    if means.task.before == means.task.goal and means.notes.latest("captured") is None:
        kept = means.definitions.keep(RUNNING, means.machine.live())
        means.notes.write("kept", **{RUNNING: kept})
    for one in means.task.wanted:
        if _captured(means, one.mac) is None:
            network = _taken(means, one.mac)
            for note in network.notes:
                means.tell(note)
            means.notes.write(
                "captured", mac=one.mac, network=msgspec.to_builtins(network), seconds=time.time()
            )


def not_put_back(means: Means) -> list[str]:
    """What the guest had set on its NICs and was not given back, one sentence each."""
    captured = means.notes.all("captured")
    return [note for data in captured for note in data["network"].get("notes", ())]


def swap(means: Means, *, kind: str) -> None:
    """Have the guest run with the NICs of the definition of that ``kind`` (``settled``,
    ``before``). What runs so already is left alone, but for what the guest had set on it."""
    for one in means.task.wanted:
        _settle(means, one)
        if _running(means, one) == "other":
            _detach(means, one)
        _complete(means, one, kind)


def repair(means: Means, *, kind: str) -> None:
    """Give the guest the NICs of that definition that were taken from it; exchange none."""
    for one in means.task.wanted:
        _settle(means, one)
        _complete(means, one, kind)


def _complete(means: Means, one: Wanted, kind: str) -> None:
    if _running(means, one) == "none":
        _attach(means, one, kind)
        _restore(means, one, anew=True)
        return
    attached = means.notes.latest("attaching", "attached", mac=one.mac)
    if attached is not None and attached.event == "attaching":
        _await_bound(means, one)
    _restore(means, one, anew=False)


def _settle(means: Means, one: Wanted) -> None:
    """Wait for a NIC that looks as it should, and that the guest was asked to give up: by a
    program that was ended meanwhile. It may do so any moment."""
    asked = means.notes.latest("detaching", "detached", "stayed", mac=one.mac)
    if asked is not None and asked.event == "detaching" and _running(means, one) == "wanted":
        left = _UNPLUG_SECONDS - seconds_since(asked)
        wait_until(lambda: _running(means, one) == "none", left, _SOON)


def _running(means: Means, one: Wanted) -> str:
    """``none``, ``wanted`` or ``other``: which device with that MAC the guest has now."""
    live = reading().definition_of(means.machine.live(), means.task.target)
    if nic_of(live, one.mac) is None:
        return "none"
    return "other" if unmet(live, (one,)) else "wanted"


def _detach(means: Means, one: Wanted) -> None:
    asked = means.notes.latest("detaching", "detached", "stayed", mac=one.mac)
    means.notes.write("detaching", mac=one.mac)
    means.tell(f"detaching {one.mac}")
    refused = None
    try:
        _ask_for(means, one)
    except SilentError:
        raise
    except ActionError as error:
        if asked is None or asked.event != "detaching":
            raise
        refused = error  # it may be that it is on its way already
    if not wait_until(lambda: _running(means, one) == "none", _UNPLUG_SECONDS, _SOON):
        means.notes.write("stayed", mac=one.mac)
        raise refused or GuestError(
            f"the guest did not give {one.mac} up within {_UNPLUG_SECONDS:g} s; if it does so "
            "later, it will be without that NIC until it is started anew"
        )
    means.notes.write("detached", mac=one.mac)


def _ask_for(means: Means, one: Wanted) -> None:
    live = means.machine.live()
    number = elements().interface_number(live, one.mac)
    if number is None:
        raise ActionError(f"{one.mac} is not one NIC of what runs")
    means.machine.detach(elements().for_attach(live, number))


def _attach(means: Means, one: Wanted, kind: str) -> None:
    means.notes.write("attaching", mac=one.mac)
    means.tell(f"attaching {one.mac}")
    definition = means.kept(kind)
    number = elements().interface_number(definition, one.mac)
    if number is None:
        raise ActionError(f"{one.mac} is not one NIC of the definition")
    means.machine.attach(elements().for_attach(definition, number))
    _await_bound(means, one)
    means.notes.write("attached", mac=one.mac)


def _await_bound(means: Means, one: Wanted) -> None:
    """Raises NotTakenError where the guest does not take the device."""
    seconds = min(means.limits.guest_deadline, _BIND_SECONDS)
    if not wait_until(lambda: one.mac in by_mac(means.agent.interfaces()), seconds, _SOON):
        raise NotTakenError(
            f"the guest has no interface with {one.mac} after {seconds:g} s: has it a driver?"
        )


def _restore(means: Means, one: Wanted, *, anew: bool) -> None:
    """``anew``: the guest has just got it, so that nothing is on it: no time is lost by looking."""
    network = _captured(means, one.mac)
    if network is None:
        return
    if not anew and not guest_network.missing(means.agent, one.mac, network):
        return
    means.notes.write("restoring", mac=one.mac)
    means.tell(f"putting back addresses and routes of {one.mac}")
    guest_network.restore(means.agent, one.mac, network)
    missing = guest_network.missing(means.agent, one.mac, network)
    if missing:
        raise NotTakenError(f"the guest did not take back: {'; '.join(missing[:5])}")
    means.notes.write("restored", mac=one.mac)


def _taken(means: Means, mac: str) -> GuestNetwork:
    try:
        return guest_network.capture(means.agent, mac)
    except SilentError:
        raise
    except RefusedError as error:
        raise GuestError(str(error)) from error


def _captured(means: Means, mac: str) -> GuestNetwork | None:
    for data in means.notes.all("captured"):
        if data["mac"] == mac:
            network = converted(data["network"], GuestNetwork)
            return guest_network.aged(network, time.time() - data["seconds"])
    return None
