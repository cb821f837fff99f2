"""Steps of a plan -> a task, after a look at what is there now. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from vnicaudit.audit.files import MAX_BYTES
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.plan import Mode, Step
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.files import read
from vnicaudit.remedy.applying.preflight import (
    check_mode,
    check_owner,
    check_restart,
    check_state,
)
from vnicaudit.remedy.applying.sheet import name_of
from vnicaudit.remedy.applying.task import Baseline, Task, Wanted, nic_of, unmet
from vnicaudit.remedy.applying.verify import baseline
from vnicaudit.remedy.definitions import all_changed, changed_at, reading, rewritten
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.guest.agent import GuestAgent
from vnicaudit.remedy.hypervisor import Machine
from vnicaudit.remedy.planning.backends import still_against
from vnicaudit.remedy.planning.diffs import unified_diff

Earlier = Callable[[bytes], "bytes | None"]
"""A definition (passwords included) -> what it was before an earlier run of the same plan made it
so; None where none did."""


class Prepared(NamedTuple):
    """A task and the definitions it is about, where it is about some. ``task`` None: all of it is
    so already."""

    task: Task | CloudTask | None
    before: bytes = b""
    goal: bytes = b""


def prepare(
    steps: tuple[Step, ...], machine: Machine, mode: Mode, key: str, earlier: Earlier,
    devices: tuple[VdpaDevice, ...] | None,
) -> Prepared:  # fmt: skip
    """The task of the steps on one domain. ``devices``: the vDPA devices of its host; None where
    it cannot be looked at. Raises RefusedError with why it is not begun."""
    state = machine.state()
    check_state(state, mode)
    shown = machine.definition(secrets=False)
    domain = reading().definition_of(shown, steps[0].target)
    check_owner(domain)
    before = machine.definition(secrets=True)
    if digest(shown) == steps[0].digest:
        wanted = _wanted(domain, steps)
        _check_reviewed(shown, steps, wanted, _name(steps[0]))
        _check_backends(shown, domain, steps, wanted, devices)
        if state.active:
            check_mode(steps, mode)
        goal = _goal(before, wanted)
    else:
        wanted = _already(domain, steps)
        if mode == "next-boot" or not state.active or _runs(machine, steps[0].target, wanted):
            return Prepared(None)
        before, goal = earlier(before) or before, before
    active = state.active
    if active and mode == "restart":
        check_restart(machine.live())
    macs = tuple(one.mac for one in wanted)
    seen = seen_before(machine, macs, mode, active=active)
    task = Task(
        key, machine.name, steps[0].target, tuple(step.id for step in steps), wanted, mode,
        digest(before), digest(goal), machine.uuid, None, active, seen,
    )  # fmt: skip
    return Prepared(task, before, goal)


def prepare_file(steps: tuple[Step, ...], key: str) -> Prepared:
    """The task of the steps in one file. Raises RefusedError with why it is not begun."""
    first = steps[0]
    path = first.file or ""
    before = read(path, MAX_BYTES)
    if digest(before) != first.digest:
        if _is_so(before, steps):
            return Prepared(None)
        raise RefusedError("the file changed since the plan was made: make a new plan")
    for step in steps:
        if unified_diff(before, _text_after(before, (step,)), path) != step.diff:
            raise RefusedError(_DISAGREE.format(step.id))
    goal = _text_of_all(before, steps)
    ids = tuple(step.id for step in steps)
    wanted = tuple(
        Wanted(step.nic.index or 0, 0, step.nic.mac or "", step.changes) for step in steps
    )
    task = Task(
        key, name_of(steps), first.target, ids, wanted, "next-boot", digest(before), digest(goal),
        first.nic.uuid, path,
    )  # fmt: skip
    return Prepared(task, before, goal)


_DISAGREE = "step {}: what is to be changed is not what its diff shows: make a new plan"


def _text_after(data: bytes, steps: Iterable[Step]) -> bytes:
    for step in steps:
        if step.place is None:
            raise RefusedError(f"step {step.id} does not say where in the file")
        data = changed_at(data, step.place, step.changes)
    return data


def _text_of_all(data: bytes, steps: tuple[Step, ...]) -> bytes:
    """The text with all steps made: at once, unless two of them are on one NIC."""
    wanted = [(step.place or "", step.changes) for step in steps]
    if len(dict(wanted)) < len(wanted):
        return _text_after(data, steps)
    return all_changed(data, wanted)


def _is_so(data: bytes, steps: Iterable[Step]) -> bool:
    """Whether each change has been made already: there is nothing in it that would be written."""
    for step in steps:
        for change in step.changes:
            try:
                if changed_at(data, step.place or "", (change,)) != data:
                    return False
            except RefusedError:
                if change.new is not None:  # what is gone already cannot be taken out
                    return False
    return True


def _wanted(domain: Domain, steps: tuple[Step, ...]) -> tuple[Wanted, ...]:
    found = []
    for step in steps:
        nic = nic_of(domain, step.nic.mac or "")
        if nic is None or nic.index != step.nic.index:
            raise RefusedError(
                f"step {step.id}: {step.nic.mac} is not the one NIC with that MAC address, at its "
                "place, any more"
            )
        number = int((nic.location.xpath or "").rpartition("[")[2].rstrip("]"))
        found.append(Wanted(nic.index, number, nic.mac or "", step.changes))
    return tuple(found)


def _already(domain: Domain, steps: tuple[Step, ...]) -> tuple[Wanted, ...]:
    """What is wanted, where the definition says so already. Raises RefusedError where it is
    another one than the plan was made for."""
    try:
        wanted = _wanted(domain, steps)
    except RefusedError:
        wanted = ()
    if not wanted or unmet(domain, wanted):
        raise RefusedError("the definition changed since the plan was made: make a new plan")
    return wanted


def _check_reviewed(
    shown: bytes, steps: tuple[Step, ...], wanted: tuple[Wanted, ...], name: str
) -> None:
    """Raises RefusedError where a step would do something else than its diff says."""
    for step, one in zip(steps, wanted, strict=True):
        after = rewritten(shown, one.number, one.changes)
        if unified_diff(shown, after, name) != step.diff:
            raise RefusedError(_DISAGREE.format(step.id))


def _check_backends(
    shown: bytes, domain: Domain, steps: tuple[Step, ...], wanted: tuple[Wanted, ...],
    devices: tuple[VdpaDevice, ...] | None,
) -> None:  # fmt: skip
    """Raises RefusedError where a NIC could not go to another backend than a tap."""
    for step, one in zip(steps, wanted, strict=True):
        if step.to == "virtio":
            continue
        children = reading().children_of(shown, one.number)
        against = still_against(step, domain.nics[one.index], domain, children, devices)
        if against:
            raise RefusedError(f"step {step.id}: {'; '.join(against)}")


def _goal(before: bytes, wanted: tuple[Wanted, ...]) -> bytes:
    for one in wanted:
        before = rewritten(before, one.number, one.changes)
    return before


def _name(step: Step) -> str:
    return step.nic.domain or step.nic.uuid or ""


def _runs(machine: Machine, target: str, wanted: tuple[Wanted, ...]) -> bool:
    return not unmet(reading().definition_of(machine.live(), target), wanted)


def seen_before(machine: Machine, macs: tuple[str, ...], mode: Mode, *, active: bool) -> Baseline:
    """What a running guest shows before anything is done. Raises RefusedError where it has to
    have an agent and has none."""
    if not active or mode == "next-boot":
        return Baseline()
    agent = GuestAgent(machine)
    found = baseline(machine, macs, agent.answers, agent.interfaces)
    if mode == "hotswap" and not found.agent:
        raise RefusedError(
            "no guest agent answers: without one the guest's addresses could not be put back; "
            "restart it instead (--mode restart)"
        )
    return found
