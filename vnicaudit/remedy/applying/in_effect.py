"""A run, looked at later: is what it changed in effect, and is it still what was planned?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Literal, NamedTuple

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GoneError, RefusedError, TargetError
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.clouds.later import looked_at as looked_at_in_cloud
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.engine import Order
from vnicaudit.remedy.applying.files import read
from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.sheet import UnitSheet
from vnicaudit.remedy.applying.task import Baseline, Task, unmet
from vnicaudit.remedy.applying.verify import Watched, failed, looked_at
from vnicaudit.remedy.definitions import reading
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.guest.agent import GuestAgent
from vnicaudit.remedy.history import Parts, Past, all_past, parts_undone, undone_by
from vnicaudit.remedy.hypervisor import Hypervisor

State = Literal["in-effect", "waiting", "differs", "gone", "unknown", "taken-back"]
"""``waiting``: defined, and not in effect until the guest is powered off and on. ``differs``: it is
not what was planned, or the guest is not well with it. ``taken-back``: by a later run."""

_MOST = 64 << 20
_WAITS = (
    "it still runs with the NIC that it had: power it off and on (a reboot inside is not enough)"
)


class Later(NamedTuple):
    """One domain, file, server, image or flavor. ``unreachable``: its host or cloud could not be
    asked."""

    name: str
    state: State
    detail: str = ""
    checks: tuple[Check, ...] = ()
    unreachable: bool = False


def in_effect(found: Past, order: Order) -> Iterator[Later]:
    """Every unit that the run applied, or may have. Nothing is changed."""
    runs = list(all_past(order.state))
    undone, parts = undone_by(runs), parts_undone(runs)
    with ExitStack() as stack:
        hosts = Hosts(order.state, order.deadline, stack, order.reach, hold=False)
        for unit in found.sheet.units:
            done = found.done(unit.key) or {}
            if back := undone.get((found.sheet.id, unit.key)):
                yield Later(unit.name, "taken-back", f"by run {back}")
            elif found.is_lost(unit.key):
                yield Later(unit.name, "unknown", found.told_lost)
            elif found.is_open(unit.key):
                yield _unfinished(found, _unit(found, unit, hosts))
            elif done.get("outcome") == "applied" and found.begun(unit.key):
                yield _unit(found, unit, hosts, parts.get((found.sheet.id, unit.key), {}))


def _unfinished(found: Past, seen: Later) -> Later:
    """One of which the journal does not say how it ended: it may not have been looked at then."""
    words = f"the run is unfinished on it: {found.way_back()} takes it back"
    if seen.state not in ("in-effect", "waiting"):
        return seen._replace(detail=f"{seen.detail}; {words}")
    now = f"{seen.state}: {seen.detail}" if seen.detail else seen.state
    return seen._replace(state="unknown", detail=f"{words}; what was found now is {now}")


def _unit(found: Past, unit: UnitSheet, hosts: Hosts, back: Parts | None = None) -> Later:
    """``back``: NICs of it that were taken back since: they are not looked at."""
    task = found.task(unit.key)
    if task is None:
        return Later(unit.name, "unknown", "nothing says what was to be done to it")
    try:
        hosts.open([unit])
        if isinstance(task, CloudTask):
            state, detail, checks = looked_at_in_cloud(hosts.place_of(unit), task)
            return Later(unit.name, state, detail, checks)
        host = hosts.of(unit)
        if host is None:
            return _file(unit, task)
        return _with_those_back(_domain(unit, _without(task, back or {}), host), back or {})
    except TargetError as error:
        return Later(unit.name, "unknown", str(error), unreachable=True)
    except GoneError as error:
        return Later(unit.name, "gone", str(error))
    except (ActionError, RefusedError) as error:
        return Later(unit.name, "unknown", str(error))


def _without(task: Task, back: Parts) -> Task:
    return replace(task, wanted=tuple(one for one in task.wanted if one.mac not in back))


def _with_those_back(seen: Later, back: Parts) -> Later:
    said = [f"{mac} was taken back by run {run}" for mac, run in back.items()]
    return seen._replace(detail="; ".join(filter(None, (seen.detail, *said))))


def _file(unit: UnitSheet, task: Task) -> Later:
    if digest(read(task.file or "", _MOST)) == task.goal:
        return Later(unit.name, "in-effect", "the file is as planned")
    return Later(unit.name, "differs", "the file is another one than the run made")


def _domain(unit: UnitSheet, task: Task, host: Hypervisor) -> Later:
    machine = host.machine(unit.uuid or "")
    defined = reading().definition_of(machine.definition(secrets=False), task.target)
    if missing := unmet(defined, task.wanted):
        return Later(
            unit.name, "differs", f"the definition was changed since: {'; '.join(missing)}"
        )
    if not machine.state().active:
        return Later(unit.name, "waiting", "it is off: in effect at its next start")
    if unmet(reading().definition_of(machine.live(), task.target), task.wanted):
        return Later(unit.name, "waiting", _WAITS)
    asked = replace(
        task,
        active=True,
        mode="restart" if task.mode == "next-boot" else task.mode,
        baseline=Baseline(agent=GuestAgent(machine).answers()),
    )
    checks = looked_at(Watched(host, machine, asked))
    bad = failed(checks)
    return Later(unit.name, "differs" if bad else "in-effect", bad, checks)
