"""Facts about all domains of a host, from a few list calls, not one per domain.

``virConnectListAllDomains`` filters on the server: each filter is one round trip, whatever the
number of domains. Only domains with snapshots are asked for their number. The state of one domain
that is to be changed is read anew each time (:func:`state_of`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.model.domain import DomainState
from vnicaudit.model.machine import MachineState, PowerPhase
from vnicaudit.platforms.libvirt.binding import libvirt

if TYPE_CHECKING:
    from concurrent.futures import Future

    from vnicaudit.platforms.libvirt.workers import WorkerThreads


class DomainListing(msgspec.Struct, frozen=True):
    """The domains of a host, by name, and their properties as sets of UUIDs. A set is None if the
    driver refuses the filter."""

    handles: tuple[libvirt.virDomain, ...]
    transient: frozenset[str] | None
    managed_save: frozenset[str] | None
    with_snapshots: frozenset[str] | None

    def state(self, handle: libvirt.virDomain, *, active: bool) -> DomainState:
        """The state of one domain. Calls libvirt only for a domain with snapshots."""
        is_plain = not (self.transient or self.managed_save or self.with_snapshots)
        uuid = "" if is_plain else handle.UUIDString()  # slow: as long as building a record
        transient = _member(uuid, self.transient)
        snapshots, memory = _snapshots(handle, _member(uuid, self.with_snapshots))
        return DomainState(
            active=active,
            persistent=None if transient is None else not transient,
            managed_save=_member(uuid, self.managed_save),
            snapshots=snapshots,
            memory_snapshots=memory,
        )


def list_domains(connection: libvirt.virConnect, workers: WorkerThreads) -> DomainListing:
    """Every domain, active or not. Raises libvirtError if the list itself is refused."""
    everything = workers.call(connection.listAllDomains)
    transient, saved, snapshots = (
        workers.call(partial(connection.listAllDomains, flag))
        for flag in (
            libvirt.VIR_CONNECT_LIST_DOMAINS_TRANSIENT,
            libvirt.VIR_CONNECT_LIST_DOMAINS_MANAGEDSAVE,
            libvirt.VIR_CONNECT_LIST_DOMAINS_HAS_SNAPSHOT,
        )
    )
    return DomainListing(
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
    """The number of snapshots, and how many of them contain the guest's memory (taken while it
    ran)."""
    if not has:
        return (None, None) if has is None else (0, 0)
    try:
        with_memory = handle.snapshotNum(libvirt.VIR_DOMAIN_SNAPSHOT_LIST_ACTIVE)
        return handle.snapshotNum(), with_memory
    except libvirt.libvirtError:
        return None, None


_PHASES: dict[int, PowerPhase] = {
    libvirt.VIR_DOMAIN_RUNNING: "running",
    libvirt.VIR_DOMAIN_BLOCKED: "running",
    libvirt.VIR_DOMAIN_PAUSED: "paused",
    libvirt.VIR_DOMAIN_SHUTDOWN: "shutting-down",
    libvirt.VIR_DOMAIN_SHUTOFF: "off",
    libvirt.VIR_DOMAIN_CRASHED: "off",
    libvirt.VIR_DOMAIN_PMSUSPENDED: "suspended",
}
_MIGRATING = {
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_MIGRATION),
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_POSTCOPY),
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_STARTING_UP),
    (libvirt.VIR_DOMAIN_RUNNING, libvirt.VIR_DOMAIN_RUNNING_POSTCOPY),
}


def state_of(handle: libvirt.virDomain) -> MachineState:
    """The current state of one domain, for changing it."""
    phase, reason = handle.state()
    called = _PHASES.get(phase, "off")
    if called == "off" and phase != libvirt.VIR_DOMAIN_SHUTOFF and handle.isActive():
        called = "crashed"  # its QEMU is kept by <on_crash>preserve</on_crash>
    return MachineState(
        phase=called,
        persistent=bool(handle.isPersistent()),
        managed_save=bool(handle.hasManagedSaveImage()),
        memory_snapshots=_memory_snapshots(handle),
        job=called != "off" and _has_job(handle),
        migrating=(phase, reason) in _MIGRATING,
    )


def _memory_snapshots(handle: libvirt.virDomain) -> int:
    """Number of snapshots that contain the guest's memory; 0 if the driver has no snapshots."""
    try:
        return int(handle.snapshotNum(libvirt.VIR_DOMAIN_SNAPSHOT_LIST_ACTIVE))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT:
            return 0
        raise


def _has_job(handle: libvirt.virDomain) -> bool:
    """True while a migration, a save or a backup is running. False for a domain that is off, for
    which libvirt answers with an error."""
    try:
        return bool(handle.jobInfo()[0] != libvirt.VIR_DOMAIN_JOB_NONE)
    except libvirt.libvirtError as error:
        if error.get_error_code() in (
            libvirt.VIR_ERR_OPERATION_INVALID, libvirt.VIR_ERR_NO_SUPPORT,
        ):  # fmt: skip
            return False
        raise
