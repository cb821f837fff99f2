"""A guest's view of a change of one of its NICs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from vnicaudit.knowledge.systems import (
    KERNEL_NAME,
    MODERN,
    TRANSITIONAL,
    VIRTIO_DRIVERS,
    WINDOWS,
    System,
    is_virtio,
    pci_id,
    pci_slot,
    port_unknown,
    slot_of,
    system_of,
)
from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import GuestView, Naming
from vnicaudit.remedy.planning.naming import (
    called_otherwise,
    naming,
    only_nic,
    same_device,
    snippets,
)

_LONGEST_NAME = 256
"""Maximum length of a name in characters. Linux allows 15; Windows 256."""

_RESTART = (
    "The guest keeps the old device until it is powered off and started again; a reboot inside the "
    "guest is not enough."
)
_HOTSWAP = (
    "With --mode hotswap the running guest gets a new interface: the guest agent reads its "
    "addresses and routes before the change and restores them afterwards; any that cannot be "
    "restored are listed."
)
GHOST = (
    "Windows creates a new adapter for the new device: a static address stays with the old one, "
    "which is then hidden."
)
_NETKVM = "Windows does not include NetKVM: install it from virtio-win before the change."
_UNKNOWN_SYSTEM = (
    "The guest's operating system is unknown. Linux needs virtio_net; Windows needs NetKVM, which "
    "it does not include (install it from virtio-win)."
)
_OTHER_NAME = "If the name changes, the guest's configuration for {} no longer applies."
_NEW_ADAPTER = (
    "Windows creates a new adapter for the new device: a static address stays with the old one"
)
_NEW_NAME = (
    "the guest may no longer name it {}, and its configuration for that name would not apply: "
    "pin the name first"
)
_BY_DRIVER = (
    "this system names interfaces after their driver: configuration for the old name does not "
    "apply to the new one"
)
_SEVERAL = "The names ethN of the guest's other NICs may change too: they are assigned in order."
_PORT = (
    f"The id is {MODERN} if the address is a PCI Express port, else {TRANSITIONAL}: which of the "
    "two is unknown."
)
_TOO_NEW = f"A driver that supports only virtio 0.9 does not work with {MODERN}."
_BUS = "Bus {:02x} is the definition's number: the guest's firmware numbers buses itself."


def guest_view(domain: Domain, before: Nic, after: Nic, names: Mapping[str, str]) -> GuestView:
    """PCI ids, slots, names and drivers. ``before`` and ``after`` are the NIC of the persistent
    definition, read before and after the change; ``names``: MAC -> the present interface name, from
    the guest's agent."""
    today = _today(domain, before, names)
    system = system_of(domain, today)
    called = naming(domain, system, before, after, today)
    kept = () if same_device(before, after) else snippets(
        system, (before.mac or "").lower(), called.before, predicted=today is None
    )  # fmt: skip
    return replace(
        device_view(domain, system, before, after),
        slot_before=slot_of(before),
        slot_after=slot_of(after),
        name=called,
        notes=tuple(_notes(domain, system, before, after, called)),
        snippets=kept,
    )


def device_view(domain: Domain, system: System, before: Nic, after: Nic) -> GuestView:
    """PCI ids and drivers only."""
    driver = VIRTIO_DRIVERS.get(system.family or "")
    return GuestView(
        id_before=pci_id(before, domain.declared),
        id_after=pci_id(after, domain.declared),
        drivers=(driver,) if driver is not None and is_virtio(after) else (),
    )


def name_lost(domain: Domain, before: Nic, after: Nic, names: Mapping[str, str]) -> str:
    """Why the guest's configuration will no longer apply to the interface; empty if nothing
    indicates that. Arguments as for :func:`guest_view`."""
    today = _today(domain, before, names)
    system = system_of(domain, today)
    called = naming(domain, system, before, after, today)
    if not called_otherwise(system, before, after, called, today):
        return ""
    if system.family == WINDOWS:
        return _NEW_ADAPTER
    return _BY_DRIVER if called.before is None else _NEW_NAME.format(called.before)


def _today(domain: Domain, nic: Nic, names: Mapping[str, str]) -> str | None:
    """The agent's name for the NIC, if it is printable and no other NIC has the MAC."""
    mac = (nic.mac or "").lower()
    found = {name for address, name in names.items() if address.lower() == mac}
    if len(found) != 1 or sum((other.mac or "").lower() == mac for other in domain.nics) > 1:
        return None
    name = found.pop()
    return name if name.isprintable() and 0 < len(name) <= _LONGEST_NAME else None


def _notes(
    domain: Domain, system: System, before: Nic, after: Nic, called: Naming
) -> Iterator[str]:
    if not same_device(before, after):
        yield from driver_notes(domain, system, before, after)
        yield from _of_name(domain, system, called)
    if domain.state is not None and domain.state.active:
        yield _RESTART
        yield _HOTSWAP
    if port_unknown(after, domain.declared):
        yield _PORT
    modern = pci_id(after, domain.declared) == MODERN
    if modern and domain.declared.readiness == "ready-transitional":
        yield _TOO_NEW
    slot = pci_slot(after)
    if slot is not None and not slot.on_root_bus:
        yield _BUS.format(slot.bus)


def driver_notes(domain: Domain, system: System, before: Nic, after: Nic) -> Iterator[str]:
    """Advice on the driver of a NIC that becomes virtio, in a guest that may lack it."""
    if is_virtio(before) or not is_virtio(after) or domain.declared.readiness == "ready":
        return
    if system.family is None:
        yield _UNKNOWN_SYSTEM
    if system.family == WINDOWS:
        yield _NETKVM


def _of_name(domain: Domain, system: System, called: Naming) -> Iterator[str]:
    if system.family == WINDOWS:
        yield GHOST
    elif called.changes is not False:
        if called.before is not None:
            yield _OTHER_NAME.format(called.before)
        if KERNEL_NAME.fullmatch(called.before or "") and not only_nic(domain):
            yield _SEVERAL
