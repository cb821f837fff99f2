"""Steps of a plan -> a transaction, after checking the present state. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from vnicaudit.base.wording import count
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import rewritten_by
from vnicaudit.model.host import MachineState, VdpaDevice
from vnicaudit.model.plan import Mode, RefusalCode, Step
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.platforms.domain_xml.write import rewritten
from vnicaudit.remedy.applying.domains.checks import guest_before
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DefinitionTransaction,
    nic_of,
    runs_with,
    unmet,
)
from vnicaudit.remedy.applying.driver import NOTHING_TO_DO, Prepared
from vnicaudit.remedy.applying.journal.events import NicChanges
from vnicaudit.remedy.hypervisor import Adapters, Machine
from vnicaudit.remedy.planning.backends import still_against
from vnicaudit.remedy.replacing import (
    UnitRefusedError,
    check_about,
    check_diff,
    digest,
    is_of_source,
    unified_diff,
)

# Reasons to refuse changing a domain now.


Refusal = tuple[RefusalCode, str]
"""A code, and the sentence for people."""


def check_state(state: MachineState, mode: Mode) -> None:
    """Raises RefusedError with all objections."""
    refuse_for(_against(state, mode))


def refuse_for(refusals: Iterable[Refusal]) -> None:
    """Raises RefusedError with all these refusals, if there are any."""
    refusals = tuple(refusals)
    if refusals:
        codes = dict.fromkeys(code for code, _ in refusals)
        raise UnitRefusedError("; ".join(text for _, text in refusals), *codes)


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
        if mode == "hotswap" and step.mode(mode).code == "off":
            raise UnitRefusedError(
                "it was off when the plan was made, which does not say whether its NIC can be "
                "replaced while it runs: make a new plan",
                "mode",
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


def _against(state: MachineState, mode: Mode) -> Iterator[Refusal]:
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


Earlier = Callable[[bytes], "bytes | None"]
"""A definition (passwords included) -> the definition that an earlier run of the same plan changed
into it; None if no run did."""


def prepare(
    steps: tuple[Step, ...], machine: Machine, mode: Mode, earlier: Earlier,
    adapters: Adapters, *, local: bool,
) -> Prepared:  # fmt: skip
    """The transaction of the steps on one domain. ``local``: its host is this machine, whose vDPA
    devices can be inspected. Raises RefusedError with the reason if the change is not started."""
    for step in steps:
        check_about(step)
    state = machine.state()
    check_state(state, mode)
    before = machine.definition(secrets=True)
    as_planned = is_of_source(steps[0], digest(before))  # if so, it has no passwords
    shown = before if as_planned else machine.definition(secrets=False)
    domain = definitions.definition_of(shown, steps[0].target)
    check_owner(domain)
    if as_planned or is_of_source(steps[0], digest(shown)):
        wanted = _nic_changes(domain, steps)
        reviewed = _reviewed(shown, steps, wanted)
        vdpa = local and any(step.to == "vdpa" for step in steps)
        devices = adapters.machine.vdpa_devices() if vdpa else None
        _check_backends(shown, domain, steps, wanted, devices)
        if state.active:
            check_mode(steps, mode)
        goal = reviewed if as_planned else _goal(before, wanted)
    else:
        wanted = _changes_made_already(domain, steps)
        if mode == "next-boot" or not state.active or runs_with(machine, steps[0].target, wanted):
            return NOTHING_TO_DO
        # The definition has the changes already: only the running guest takes them. A rollback
        # restores the definition that an earlier run changed; if no run did, it leaves it alone.
        before, goal = earlier(before) or before, before
    active = state.active
    if active and mode == "restart":
        check_restart(definitions.power_off_action(machine.live()))
    macs = tuple(one.mac for one in wanted)
    seen = guest_before(machine, macs, mode, adapters.clock, active=active)
    transaction = DefinitionTransaction(
        mode, wanted, active, before=digest(before), goal=digest(goal), guest_before=seen,
    )  # fmt: skip
    return Prepared(transaction, before, goal)


@contextmanager
def of_the_plan() -> Iterator[None]:
    """In a text that is as reviewed, a change that cannot be written comes from an edited plan:
    says so."""
    try:
        yield
    except RefusedError as error:
        raise UnitRefusedError(str(error), "plan") from None


def _nic_changes(domain: Domain, steps: tuple[Step, ...]) -> tuple[NicChanges, ...]:
    found = []
    for step in steps:
        nic = nic_of(domain, step.about.mac or "")
        if nic is None or nic.index != step.about.index:
            raise UnitRefusedError(
                f"step {step.id}: {step.about.mac} is no longer the only NIC with that MAC "
                "address, or has moved",
                "drift",
            )
        number = int((nic.location.xpath or "").rpartition("[")[2].rstrip("]"))
        found.append(NicChanges(nic.index, number, nic.mac or "", step.changes))
    return tuple(found)


def _changes_made_already(domain: Domain, steps: tuple[Step, ...]) -> tuple[NicChanges, ...]:
    """The NIC changes of the steps, all of which the definition already has. Raises RefusedError
    if the definition changed in another way since the plan was made."""
    try:
        wanted = _nic_changes(domain, steps)
    except RefusedError:
        wanted = ()
    if not wanted or unmet(domain, wanted):
        raise UnitRefusedError(
            "the definition has changed since the plan was made: make a new plan", "drift"
        )
    return wanted


def _reviewed(shown: bytes, steps: tuple[Step, ...], wanted: tuple[NicChanges, ...]) -> bytes:
    """The text with the changes of all steps, each of which must match its diff. Raises
    RefusedError if one does not."""
    for step, one in zip(steps, wanted, strict=True):
        with of_the_plan():
            after = _changed(shown, one)
        check_diff(step, unified_diff(shown, after, steps[0].about.name_or_id))
    return after if len(steps) == 1 else _goal(shown, wanted)


def _check_backends(
    shown: bytes,
    domain: Domain,
    steps: tuple[Step, ...],
    wanted: tuple[NicChanges, ...],
    devices: tuple[VdpaDevice, ...] | None,
) -> None:
    """Raises RefusedError if a NIC cannot be moved to a backend other than a tap."""
    for step, one in zip(steps, wanted, strict=True):
        if step.to == "virtio":
            continue
        children = definitions.children_of(shown, one.number)
        against = still_against(step, domain.nics[one.index], domain, children, devices)
        if against:
            raise UnitRefusedError(f"step {step.id}: {'; '.join(against)}", "backend")


def _goal(before: bytes, wanted: tuple[NicChanges, ...]) -> bytes:
    for one in wanted:
        before = _changed(before, one)
    return before


def _changed(text: bytes, one: NicChanges) -> bytes:
    return rewritten(text, f"/domain/devices/interface[{one.number}]", one.changes)
