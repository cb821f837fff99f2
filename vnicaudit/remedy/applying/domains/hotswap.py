"""Exchange a NIC of a running guest.

Two NICs with one MAC cannot be told apart later, so the old one is detached first, by its full
running definition (libvirt finds it by its address); the new one is attached with the same MAC;
then the settings that the guest had made on the old NIC are restored through its agent.
"""

from __future__ import annotations

from typing import Literal

from vnicaudit.errors import ActionError, GuestError, NoResponseError, RefusedError
from vnicaudit.model.guest_network import GuestNetwork
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.platforms.domain_xml.source import for_attach, interface_number
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DomainWork,
    kept_definition,
    nic_of,
    unmet,
)
from vnicaudit.remedy.applying.driver import wait_until
from vnicaudit.remedy.applying.journal.events import (
    Attached,
    Attaching,
    Captured,
    Detached,
    Detaching,
    KeptRunning,
    NicChanges,
    Restored,
    Restoring,
    Stayed,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptKind, seconds_since
from vnicaudit.remedy.guest.agent import by_mac, with_lifetimes_reduced

NicPresence = Literal["none", "wanted", "other"]

_POLL_S = 0.02
_UNPLUG_SECONDS = 30.0
_BIND_SECONDS = 30.0


class DriverNotBoundError(GuestError):
    """The guest is worse off with the new NIC than it was before."""


def capture(work: DomainWork) -> None:
    """Record the settings of the guest on each NIC, unless an interrupted run recorded them. Raises
    GuestError for settings that could not be restored, for example membership in a bond."""
    if work.transaction.before == work.transaction.goal and work.notes.last(Captured) is None:
        kept = work.texts.keep("running", work.place.machine.live())
        work.notes.write(KeptRunning(kept))
    for one in work.transaction.nic_changes:
        if _captured(work, one.mac) is None:
            try:
                network = work.place.settings.capture(one.mac)
            except RefusedError as error:
                raise GuestError(str(error)) from error
            work.notes.write(Captured(one.mac, network, work.clock.time()))


def not_put_back(work: DomainWork) -> list[str]:
    """Settings of the guest's NICs that are not restored, one sentence each."""
    return [note for captured in work.notes.events_of(Captured) for note in captured.network.notes]


def swap(work: DomainWork, *, kind: KeptKind) -> None:
    """Give the running guest the NICs of the definition of that ``kind`` (``settled``, ``before``).
    A NIC that is as wanted stays; only its missing settings are restored."""
    for one in work.transaction.nic_changes:
        _settle(work, one)
        if _running(work, one) == "other":
            _detach(work, one)
        _complete(work, one, kind)


def repair(work: DomainWork, *, kind: KeptKind) -> None:
    """Give the guest those NICs of that definition that were detached; exchange none."""
    for one in work.transaction.nic_changes:
        _settle(work, one)
        _complete(work, one, kind)


def _complete(work: DomainWork, one: NicChanges, kind: KeptKind) -> None:
    if _running(work, one) == "none":
        _attach(work, one, kind)
        _restore(work, one, anew=True)
        return
    if work.notes.pending(Attaching, Attached, mac=one.mac):
        _await_bound(work, one)
    _restore(work, one, anew=False)


def _settle(work: DomainWork, one: NicChanges) -> None:
    """Wait for a NIC that an interrupted run asked the guest to release: it looks as wanted, but
    may be released at any moment."""
    asked = work.notes.pending(Detaching, Detached, Stayed, mac=one.mac)
    if asked is not None and _running(work, one) == "wanted":
        left = _UNPLUG_SECONDS - seconds_since(asked)
        wait_until(work.clock, lambda: _running(work, one) == "none", left, _POLL_S)


def _running(work: DomainWork, one: NicChanges) -> NicPresence:
    """The NIC with that MAC in the running guest: the wanted one, another one, or none."""
    live = definitions.definition_of(work.place.machine.live(), work.unit.target)
    if nic_of(live, one.mac) is None:
        return "none"
    return "other" if unmet(live, (one,)) else "wanted"


def _detach(work: DomainWork, one: NicChanges) -> None:
    asked = work.notes.pending(Detaching, Detached, Stayed, mac=one.mac)
    work.notes.write(Detaching(one.mac))
    work.tell(f"detaching {one.mac}")
    refused = None
    try:
        live = work.place.machine.live()
        work.place.machine.detach(_element(live, one, "running guest"))
    except NoResponseError:
        raise
    except ActionError as error:
        if asked is None:
            raise
        refused = error  # an earlier request may still be taking effect
    if not wait_until(work.clock, lambda: _running(work, one) == "none", _UNPLUG_SECONDS, _POLL_S):
        work.notes.write(Stayed(one.mac))
        raise refused or GuestError(
            f"the guest did not release {one.mac} within {_UNPLUG_SECONDS:g} s; if it does so "
            "later, it has no such NIC until it is restarted"
        )
    work.notes.write(Detached(one.mac))


def _attach(work: DomainWork, one: NicChanges, kind: KeptKind) -> None:
    work.notes.write(Attaching(one.mac))
    work.tell(f"attaching {one.mac}")
    definition = kept_definition(work, kind)
    work.place.machine.attach(_element(definition, one, "definition"))
    _await_bound(work, one)
    work.notes.write(Attached(one.mac))


def _element(definition: bytes, one: NicChanges, called: str) -> bytes:
    """The text of a NIC, complete in itself."""
    number = interface_number(definition, one.mac)
    if number is None:
        raise ActionError(f"the {called} does not have exactly one NIC {one.mac}")
    return for_attach(definition, number)


def _await_bound(work: DomainWork, one: NicChanges) -> None:
    """Raises DriverNotBoundError if the guest does not use the device."""
    seconds = min(work.limits.guest_deadline, _BIND_SECONDS)

    def has_interface() -> bool:
        return one.mac in by_mac(work.place.agent.interfaces())

    if not wait_until(work.clock, has_interface, seconds, _POLL_S):
        raise DriverNotBoundError(
            f"the guest has no interface with {one.mac} after {seconds:g} s: does it have the "
            "driver?"
        )


def _restore(work: DomainWork, one: NicChanges, *, anew: bool) -> None:
    """Restore the captured settings on the NIC. ``anew``: it was just attached, so nothing is set
    on it, and no time is spent on checking."""
    network = _captured(work, one.mac)
    if network is None:
        return
    if not anew and not work.place.settings.missing(one.mac, network):
        return
    work.notes.write(Restoring(one.mac))
    work.tell(f"restoring addresses and routes of {one.mac}")
    work.place.settings.restore(one.mac, network)
    missing = work.place.settings.missing(one.mac, network)
    if missing:
        raise DriverNotBoundError(f"not restored in the guest: {'; '.join(missing[:5])}")
    work.notes.write(Restored(one.mac))


def _captured(work: DomainWork, mac: str) -> GuestNetwork | None:
    for captured in work.notes.events_of(Captured):
        if captured.mac == mac:
            return with_lifetimes_reduced(captured.network, work.clock.time() - captured.seconds)
    return None
