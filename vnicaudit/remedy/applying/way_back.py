"""What is to be done to a unit in order to take back what an earlier run did to it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol

import msgspec

from vnicaudit.errors import RefusedError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.clouds.back import prepare_back
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.engine import Order
from vnicaudit.remedy.applying.files import read
from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.made import NOT_BEGUN, made_by, original_of, task_of
from vnicaudit.remedy.applying.means import Definitions
from vnicaudit.remedy.applying.preflight import check_restart, check_state
from vnicaudit.remedy.applying.prepare import Prepared, seen_before
from vnicaudit.remedy.applying.sheet import UnitSheet
from vnicaudit.remedy.applying.task import Task, Wanted, by_hand
from vnicaudit.remedy.definitions import elements, likeness
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.history import Past, all_past, in_doubt, left_off
from vnicaudit.remedy.hypervisor import Machine
from vnicaudit.text.shell import word

_ONLY_RAN = (
    "the run changed nothing of its definition, and only had the guest run with it: there is "
    "nothing to put back"
)


class Wish(Protocol):
    """What of it is meant."""

    @property
    def over_edits(self) -> bool:
        """Also where somebody changed the definition since."""

    def wanted(self, wanted: Iterable[Wanted]) -> tuple[Wanted, ...]:
        """The NICs that are meant."""


class WayBack:
    """What is to be done to a unit: what an earlier run did, the other way round."""

    def __init__(self, found: Past, chosen: Wish, order: Order) -> None:
        self._found = found
        self._chosen = chosen
        self._order = order
        self._mode: Mode = order.mode

    def __call__(self, unit: UnitSheet, hosts: Hosts) -> Prepared:
        if unit.object is not None:
            return Prepared(self._in_cloud(unit, hosts))
        task, host = task_of(self._found, unit.key), hosts.of(unit)
        if host is not None and task.before == task.goal:
            raise RefusedError(_ONLY_RAN)
        original = original_of(self._found, task)
        if host is None:
            return self._file(task, original)
        return self._live(task, original, host.machine(unit.uuid or ""))

    def _in_cloud(self, unit: UnitSheet, hosts: Hosts) -> CloudTask | None:
        task = self._found.task(unit.key)
        if not isinstance(task, CloudTask):
            raise RefusedError(NOT_BEGUN)
        if set(unit.macs) != set(self._whole(unit.key).macs):
            raise RefusedError("all NICs of a server change at once: take it back without --nic")
        task = msgspec.structs.replace(task, again=unit.uuid in self._in_doubt)
        return prepare_back(
            task, hosts.place_of(unit), self._mode, left_off=unit.uuid in self._off,
            over_edits=self._chosen.over_edits,
        )  # fmt: skip

    @cached_property
    def _off(self) -> frozenset[str]:
        return left_off(self._order.state)

    @cached_property
    def _in_doubt(self) -> frozenset[str]:
        return in_doubt(self._order.state)

    def _whole(self, key: str) -> UnitSheet:
        return next(unit for unit in self._found.sheet.units if unit.key == key)

    def _file(self, task: Task, goal: bytes) -> Prepared:
        before = Definitions(self._found.folder, task.key).get("goal", task.goal, by_hand(task))
        current = read(task.file or "", len(before) + len(goal) + 1)
        if current == goal:
            return Prepared(None)
        if current != before:
            which = f"--restore --domain {word(task.file or '')}"
            raise RefusedError(
                "somebody changed the file since: look at it, and put it right by hand; or have "
                f"its original put back as a whole: {self._found.way_back(which)}"
            )
        if len(self._chosen.wanted(task.wanted)) < len(task.wanted):
            raise RefusedError(
                "the file as a whole was changed by the run, and is only put back as a whole: "
                "without --nic"
            )
        return Prepared(_reversed(task, task.wanted, before, goal), before, goal)

    def _live(self, task: Task, original: bytes, machine: Machine) -> Prepared:
        state = machine.state()
        check_state(state, self._mode)
        if state.active and self._mode == "restart":
            check_restart(machine.live())
        wanted = self._chosen.wanted(task.wanted)
        current = machine.definition(secrets=True)
        if likeness().same(current, original):
            original = current  # libvirt chooses the order of controllers
        else:
            self._check_edits(current, task.key)
        goal = original
        whole = len(wanted) == len(task.wanted) and made_by(self._found, task.key, current)
        if not whole and current != original:
            goal = _nics_put_back(current, original, wanted)
        made = _reversed(task, wanted, current, goal)
        seen = seen_before(machine, made.macs, self._mode, active=state.active)
        active = state.active or self._left_off(task)
        made = msgspec.structs.replace(
            made, mode=self._mode, active=active, baseline=seen, exact=whole
        )
        if current == goal and not (active and self._mode != "next-boot"):
            return Prepared(None)
        return Prepared(made, current, goal)

    def _left_off(self, task: Task) -> bool:
        """Whether the guest is off because the run could not undo what it did."""
        done = self._found.done(task.key) or {}
        return task.active and done.get("undone") is False

    def _check_edits(self, current: bytes, key: str) -> None:
        if self._chosen.over_edits:
            return
        if not any(made_by(found, key, current) for found in self._runs):
            raise RefusedError(
                "somebody changed the definition since: look at it (virsh dumpxml --inactive), "
                "then put only the NIC back with --over-edits"
            )

    @cached_property
    def _runs(self) -> tuple[Past, ...]:
        """The run, and those that have taken back some of it since."""
        mine = ("rollback", self._found.sheet.id)
        past = all_past(self._order.state)
        back = (found for found in past if (found.sheet.kind, found.sheet.plan) == mine)
        return self._found, *back


def _nics_put_back(current: bytes, original: bytes, wanted: Iterable[Wanted]) -> bytes:
    parts = elements()
    for one in wanted:
        number = parts.interface_number(current, one.mac)
        if number is None:
            raise RefusedError(f"there is not one NIC {one.mac} any more")
        old = parts.interface_number(original, one.mac)
        if old is None:
            raise RefusedError(f"the saved definition has not one NIC {one.mac}")
        current = parts.with_interface(current, number, parts.interface_of(original, old))
    return current


def _reversed(task: Task, wanted: tuple[Wanted, ...], before: bytes, goal: bytes) -> Task:
    return msgspec.structs.replace(
        task,
        wanted=tuple(one.inverse() for one in reversed(wanted)),
        before=digest(before),
        goal=digest(goal),
    )
