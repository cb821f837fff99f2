"""A guest's view of its NICs after Nova rewrites its definition."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.knowledge.machines import is_q35
from vnicaudit.knowledge.pci_ids import model_of
from vnicaudit.knowledge.systems import LINUX, WINDOWS, System, system_of
from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import GuestView, Naming
from vnicaudit.remedy.planning.guest_view import GHOST, device_view, driver_notes, name_lost
from vnicaudit.remedy.planning.names import NEW_ADAPTER

_NAME = (
    "Nova does not keep PCI addresses: a name derived from the address may change, one that the "
    "guest assigns by MAC address stays"
)
_KERNEL = (
    "in this system the kernel names virtio NICs (ethN) and systemd names the others: "
    "configuration for the old name does not apply to the new one"
)
_Q35 = (
    "On q35 the NIC is no longer behind the bridge for conventional PCI devices: a name derived "
    "from its address changes."
)
_ALL = "All NICs of the server change at once ({count})."
_CLOUD_INIT = (
    "cloud-init names interfaces by MAC address where it writes their configuration (netplan, "
    "sysconfig): such guests keep their names."
)
_CONVENTIONAL = frozenset({"rtl8139", "ne2k_pci", "pcnet", "e1000"})


def guest_view(domain: Domain, before: Nic, after: Nic, count: int) -> GuestView:
    """PCI ids, drivers and the interface name; ``before`` and ``after`` are one of ``count`` NICs
    that change alike. Empty if its model stays."""
    if model_of(before) == model_of(after):
        return GuestView()
    system = system_of(domain)
    return replace(
        device_view(domain, system, before, after),
        name=Naming(reason=NEW_ADAPTER if system.family == WINDOWS else _NAME),
        notes=tuple(_notes(domain, system, before, after, count)),
    )


def risk(domain: Domain, before: Nic, after: Nic) -> str:
    """Why the guest's configuration will no longer apply to the interface; empty if nothing
    indicates that. Judged like a libvirt guest whose agent was not asked for interface names."""
    lost = name_lost(domain, before, after, {})
    linux = system_of(domain).family in (LINUX, None)
    return _KERNEL if lost and linux else lost


def _notes(domain: Domain, system: System, before: Nic, after: Nic, count: int) -> Iterator[str]:
    yield from driver_notes(domain, system, before, after)
    if system.family == WINDOWS:
        yield GHOST
    elif is_q35(domain.declared) and model_of(before) in _CONVENTIONAL:
        yield _Q35
    if system.family != WINDOWS:
        yield _CLOUD_INIT
    if count > 1:
        yield _ALL.format(count=count)
