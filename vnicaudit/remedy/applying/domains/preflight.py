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
    """Raises RefusedError with everything that speaks against it."""
    reasons = tuple(_against(state, mode))
    if reasons:
        codes = dict.fromkeys(code for code, _ in reasons)
        raise UnitRefusedError("; ".join(text for _, text in reasons), *codes)


def check_owner(domain: Domain) -> None:
    """Raises RefusedError for a definition that somebody else writes anew."""
    owner = rewritten_by(domain.declared.owner)
    if owner:
        raise UnitRefusedError(
            f"the definition is {owner}'s, which rewrites it: change it there", "owner"
        )


def check_mode(steps: Iterable[Step], mode: Mode) -> None:
    """Raises RefusedError for a guest that runs by now, and could not take it this way."""
    for step in steps:
        server = any((one.field, one.new) == ("source_mode", "server") for one in step.changes)
        if mode == "hotswap" and step.to != "virtio":
            raise UnitRefusedError(
                "only a change to virtio is possible while the guest runs", "mode"
            )
        if mode == "restart" and server:
            raise UnitRefusedError(
                "QEMU waits for the other end of the socket while it starts: start it by hand",
                "mode",
            )


def check_restart(action: str) -> None:
    """Raises RefusedError for a guest that libvirt would not leave off. ``action``: what happens
    when the guest powers itself off."""
    if action != "destroy":
        raise UnitRefusedError(
            f"its definition says <on_poweroff>{action[:20]}</on_poweroff>: shutting it down does "
            "not end it, and only an end makes the new device appear",
            "mode",
        )


def _against(state: MachineState, mode: Mode) -> Iterator[Reason]:
    if not state.persistent:
        yield "transient", "it is transient: it has no persistent definition to change"
    if state.job or state.migrating:
        yield (
            "busy",
            "a job is running on it (a migration, a save, a backup): try again when it is done",
        )
    if state.managed_save:
        yield (
            "saved-memory",
            (
                "it has a managed save image, which would bring the NIC back that was saved with "
                "it: start it and shut it down once (virsh managedsave-remove throws its saved "
                "memory away)"
            ),
        )
    if state.memory_snapshots:
        number = state.memory_snapshots
        yield (
            "saved-memory",
            (
                f"{count(number, 'snapshot')} of it hold{'' if number > 1 else 's'} memory, which "
                "would bring the old NIC back: delete them first (virsh snapshot-list)"
            ),
        )
    if mode != "next-boot" and state.phase not in ("running", "off"):
        yield "state", f"the guest is {state.phase}: it neither runs nor is off"
