"""What bears on whether a domain may be changed now."""

from __future__ import annotations

from vnicaudit.model.machine import MachineState
from vnicaudit.platforms.libvirt.binding import libvirt

_PHASES = {
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
    """Asked anew."""
    phase, reason = handle.state()
    called = _PHASES.get(phase, "off")
    if called == "off" and handle.isActive():
        called = "crashed"  # and QEMU kept, by <on_crash>preserve</on_crash>
    return MachineState(
        phase=called,
        persistent=bool(handle.isPersistent()),
        managed_save=bool(handle.hasManagedSaveImage()),
        memory_snapshots=_memory_snapshots(handle),
        job=_has_job(handle),
        migrating=(phase, reason) in _MIGRATING,
    )


def _memory_snapshots(handle: libvirt.virDomain) -> int:
    """Snapshots that hold the guest's memory; none where the driver has no snapshots."""
    try:
        return int(handle.snapshotNum(libvirt.VIR_DOMAIN_SNAPSHOT_LIST_ACTIVE))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT:
            return 0
        raise


def _has_job(handle: libvirt.virDomain) -> bool:
    """Whether a migration, a save or a backup is under way. A domain that is off has none."""
    try:
        return bool(handle.jobInfo()[0] != libvirt.VIR_DOMAIN_JOB_NONE)
    except libvirt.libvirtError as error:
        if error.get_error_code() in (
            libvirt.VIR_ERR_OPERATION_INVALID, libvirt.VIR_ERR_NO_SUPPORT,
        ):  # fmt: skip
            return False
        raise
