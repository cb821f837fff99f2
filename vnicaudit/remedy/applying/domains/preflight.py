"""Reasons to refuse changing a domain now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.domain import Domain
from vnicaudit.model.machine import MachineState
from vnicaudit.model.owner import rewritten_by
from vnicaudit.model.plan import Mode, Step
from vnicaudit.model.reasons import RefusalCode
from vnicaudit.remedy.unit_refusal import UnitRefusedError

Reason = tuple[RefusalCode, str]


def check_state(state: MachineState, mode: Mode) -> None:
    """Raises RefusedError with all objections."""
    reasons = tuple(_against(state, mode))
    if reasons:
        codes = dict.fromkeys(code for code, _ in reasons)
        raise UnitRefusedError("; ".join(text for _, text in reasons), *codes)


def check_owner(domain: Domain) -> None:
    """Raises RefusedError for a definition that its owner regenerates."""
    owner = rewritten_by(domain.declared.owner)
    if owner:
        raise UnitRefusedError(
            f"the definition belongs to {owner}, which rewrites it: change it there", "owner"
        )


def check_mode(steps: Iterable[Step], mode: Mode) -> None:
    """Raises RefusedError for a guest that is running now and could not be changed this way."""
    for step in steps:
        server = any((one.field, one.new) == ("source_mode", "server") for one in step.changes)
        if mode == "hotswap" and step.to != "virtio":
            raise UnitRefusedError(
                "only a change to virtio is possible while the guest runs", "mode"
            )
        if mode == "restart" and server:
            raise UnitRefusedError(
                "QEMU would wait for the other end of the socket while it starts: start it by hand",
                "mode",
            )


def check_restart(action: str) -> None:
    """Raises RefusedError for a guest that libvirt would start again after a shutdown. ``action``:
    the action taken when the guest powers itself off."""
    if action != "destroy":
        raise UnitRefusedError(
            f"its definition has <on_poweroff>{action[:20]}</on_poweroff>: QEMU does not exit "
            "when it shuts down, and the new device appears only in a new QEMU",
            "mode",
        )


def _against(state: MachineState, mode: Mode) -> Iterator[Reason]:
    if not state.persistent:
        yield "transient", "it is transient: it has no persistent definition to change"
    if state.job or state.migrating:
        yield (
            "busy",
            "a job (migration, save or backup) is running on it: try again when it is done",
        )
    if state.managed_save:
        yield (
            "saved-memory",
            (
                "it has a managed save image, which would bring the old NIC back: start it and "
                "shut it down once (virsh managedsave-remove discards its saved memory)"
            ),
        )
    if state.memory_snapshots:
        number = state.memory_snapshots
        yield (
            "saved-memory",
            (
                f"it has {count(number, 'snapshot')} with memory, which would bring the old NIC "
                "back: delete them first (virsh snapshot-list)"
            ),
        )
    if mode != "next-boot" and state.phase not in ("running", "off"):
        yield "state", f"the guest is {state.phase}, neither running nor off"
