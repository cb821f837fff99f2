"""Facts about all domains of a host in a handful of list calls, none per domain.

``virConnectListAllDomains`` filters on the server: each filter is one round trip, whatever the
number of domains. Only domains that have snapshots are asked how many.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

import msgspec

from vnicaudit.model.domain import DomainState
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.crew import Crew


class Listing(msgspec.Struct, frozen=True):
    """The domains of a host, by name, and which of them are what (UUIDs). A set is None where
    the driver refuses the filter."""

    handles: tuple[libvirt.virDomain, ...]
    transient: frozenset[str] | None
    managed_save: frozenset[str] | None
    with_snapshots: frozenset[str] | None

    def state(self, handle: libvirt.virDomain, *, active: bool) -> DomainState:
        """What is known of one domain. Asks libvirt only for a domain that has snapshots."""
        uuid = handle.UUIDString()
        transient = _member(uuid, self.transient)
        snapshots, memory = _snapshots(handle, _member(uuid, self.with_snapshots))
        return DomainState(
            active=active,
            persistent=None if transient is None else not transient,
            managed_save=_member(uuid, self.managed_save),
            snapshots=snapshots,
            memory_snapshots=memory,
        )


def list_domains(connection: libvirt.virConnect, crew: Crew) -> Listing:
    """Every domain, active or not. Raises libvirtError when the list itself is refused."""
    everything = crew.call(connection.listAllDomains)
    transient, saved, snapshots = (
        crew.call(partial(connection.listAllDomains, flag))
        for flag in (
            libvirt.VIR_CONNECT_LIST_DOMAINS_TRANSIENT,
            libvirt.VIR_CONNECT_LIST_DOMAINS_MANAGEDSAVE,
            libvirt.VIR_CONNECT_LIST_DOMAINS_HAS_SNAPSHOT,
        )
    )
    return Listing(
        handles=tuple(sorted(everything.result(), key=lambda handle: handle.name())),
        transient=_uuids(transient),
        managed_save=_uuids(saved),
        with_snapshots=_uuids(snapshots),
    )


def _uuids(answer: Future[list[libvirt.virDomain]]) -> frozenset[str] | None:
    try:
        return frozenset(handle.UUIDString() for handle in answer.result())
    except libvirt.libvirtError:
        return None


def _member(uuid: str, uuids: frozenset[str] | None) -> bool | None:
    return None if uuids is None else uuid in uuids


def _snapshots(handle: libvirt.virDomain, has: bool | None) -> tuple[int | None, int | None]:
    """How many snapshots, and how many of them hold the guest's memory (taken while it ran)."""
    if not has:
        return (None, None) if has is None else (0, 0)
    try:
        with_memory = handle.snapshotNum(libvirt.VIR_DOMAIN_SNAPSHOT_LIST_ACTIVE)
        return handle.snapshotNum(), with_memory
    except libvirt.libvirtError:
        return None, None
