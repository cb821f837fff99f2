"""What speaks against changing a domain now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import REWRITTEN_BY, Domain
from vnicaudit.model.machine import MachineState
from vnicaudit.model.plan import Mode, Step
from vnicaudit.remedy.definitions import reading


def check_state(state: MachineState, mode: Mode) -> None:
    """Raises RefusedError with everything that speaks against it."""
    reasons = tuple(_against(state, mode))
    if reasons:
        raise RefusedError("; ".join(reasons))


def check_owner(domain: Domain) -> None:
    """Raises RefusedError for a definition that somebody else writes anew."""
    owner = REWRITTEN_BY.get(domain.declared.owner)
    if owner is not None:
        raise RefusedError(f"the definition is {owner}'s, which writes it anew: change it there")


def check_mode(steps: Iterable[Step], mode: Mode) -> None:
    """Raises RefusedError for a guest that runs by now, and could not take it this way."""
    for step in steps:
        server = any((one.field, one.new) == ("source_mode", "server") for one in step.changes)
        if mode == "hotswap" and step.to != "virtio":
            raise RefusedError("only a change to virtio can be made under a running guest")
        if mode == "restart" and server:
            raise RefusedError(
                "QEMU waits for the other end of the socket while it starts: start it by hand"
            )


def check_restart(running: bytes) -> None:
    """Raises RefusedError for a guest that libvirt would not leave off."""
    action = reading().power_off_action(running)
    if action != "destroy":
        raise RefusedError(
            f"its definition says <on_poweroff>{action[:20]}</on_poweroff>: shutting it down does "
            "not end it, and only an end makes the new device appear"
        )


def _against(state: MachineState, mode: Mode) -> Iterator[str]:
    if not state.persistent:
        yield "it is transient: there is no persistent definition to change"
    if state.job or state.migrating:
        yield "a job is under way on it (a migration, a save, a backup): try again when it is done"
    if state.managed_save:
        yield (
            "it has a managed save image, which would bring the NIC back that was saved with it: "
            "start it and shut it down once (virsh managedsave-remove throws its saved memory away)"
        )
    if state.memory_snapshots:
        count = state.memory_snapshots
        yield (
            f"{count} snapshot{'s' if count > 1 else ''} of it hold{'' if count > 1 else 's'} "
            "memory, which would bring back the NIC of then: delete them first (virsh "
            "snapshot-list)"
        )
    if mode != "next-boot" and state.phase not in ("running", "off"):
        yield f"the guest is {state.phase}: it neither runs nor is off"
