"""Carry out a plan, or the rest of one that was begun."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property

import msgspec

from vnicaudit.errors import ActionError, GoneError, RefusedError, UsageError
from vnicaudit.model.plan import Mode, Step
from vnicaudit.remedy.applying.clouds.prepare import prepare as prepare_in_cloud
from vnicaudit.remedy.applying.gone import what_became
from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.journal import now
from vnicaudit.remedy.applying.made import made_by, original_of, task_of
from vnicaudit.remedy.applying.means import Limits
from vnicaudit.remedy.applying.prepare import Prepared, prepare, prepare_file
from vnicaudit.remedy.applying.runner import Ended, Preparing, Runner, Tell
from vnicaudit.remedy.applying.schedule import Schedule
from vnicaudit.remedy.applying.sheet import RunSheet, UnitSheet, by_unit, unit_sheets
from vnicaudit.remedy.applying.state import StateFolder, write_private
from vnicaudit.remedy.cloud import Reach
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.history import Past, all_past, begin_run, in_doubt, left_off, unfinished
from vnicaudit.remedy.hypervisor import vdpa_devices
from vnicaudit.remedy.trial import Trials
from vnicaudit.text.own_commands import command

PLAN = "plan.json"


ALREADY = "it is so already: nothing to do"
"""What :func:`look` says where nothing stands in the way, and nothing is left to do."""


class Order(msgspec.Struct, frozen=True):
    """What is asked for. ``deadline``: seconds libvirt, or a cloud, may take for one answer;
    ``reach``: what there is beside a cloud's API; ``tell_left``: is told what an interruption
    leaves in the middle, also where nobody wants to hear of the rest; ``halted``: says why no more
    is to be begun, while nothing speaks against finishing what was (empty: nothing)."""

    mode: Mode
    limits: Limits
    schedule: Schedule
    deadline: float
    state: StateFolder
    reach: Reach = Reach()
    tell_left: Tell | None = None
    halted: Callable[[], str] | None = None


def apply(
    steps: Sequence[Step], text: bytes, order: Order, tell: Tell, trials: Trials | None = None
) -> Ended:
    """Carry out these steps of the plan whose file has that content; an earlier run of it that did
    not come to its end is carried on. ``trials``: each guest is measured before and after, and
    taken back where that says so. Raises RefusedError where nothing can be begun."""
    units, plan = unit_sheets(steps), digest(text)
    with ExitStack() as stack:
        hosts = Hosts(order.state, order.deadline, stack, order.reach)
        hosts.open(units)
        sheet = RunSheet("", "apply", now(), plan, order.mode, tuple(units), order.limits)
        found = _unfinished(order, sheet) or begin_run(order.state, sheet)
        if trials is None and any(found.folder.glob("*.bench")):
            raise UsageError(
                f"run {found.sheet.id} of this plan is unfinished, and measured: finish it with "
                f"--bench, or take it back ({found.way_back()})"
            )
        if not (found.folder / PLAN).exists():
            write_private(found.folder / PLAN, text)
        preparing = _Preparing(steps, plan, order)
        runner = Runner(found, hosts, preparing, tell, trials, order.tell_left, order.halted)
        return runner.go(order.schedule)


def look(steps: Sequence[Step], text: bytes, order: Order) -> list[tuple[str, str]]:
    """What :func:`apply` would do: each domain (or file), and why it would not be begun; empty
    where it would. Nothing is changed, and no run is noted."""
    with ExitStack() as stack:
        hosts = Hosts(order.state, order.deadline, stack, order.reach, hold=False)
        units = unit_sheets(steps)
        hosts.open(units)
        return look_at(units, hosts, _Preparing(steps, digest(text), order))


def look_at(
    units: Sequence[UnitSheet],
    hosts: Hosts,
    preparing: Preparing,
    seen: Callable[[UnitSheet, Prepared], None] | None = None,
) -> list[tuple[str, str]]:
    """Each unit, and why it would not be begun; empty where it would. ``seen``: is told what would
    be done."""
    return [(unit.name, _would(unit, hosts, preparing, seen)) for unit in units]


def _would(
    unit: UnitSheet,
    hosts: Hosts,
    preparing: Preparing,
    seen: Callable[[UnitSheet, Prepared], None] | None,
) -> str:
    try:
        prepared = preparing(unit, hosts)
    except GoneError as error:
        return (
            what_became(unit, hosts, begun=False).message if unit.kind == "domain" else str(error)
        )
    except (RefusedError, ActionError) as error:
        return str(error)
    if prepared.task is None:
        return ALREADY
    if seen is not None:
        seen(unit, prepared)
    return ""


class _Preparing:
    """What is to be done to one unit that was not begun."""

    def __init__(self, steps: Sequence[Step], plan: str, order: Order) -> None:
        self._steps = by_unit(steps)
        self._plan = plan
        self._order = order

    def __call__(self, unit: UnitSheet, hosts: Hosts) -> Prepared:
        steps = self._steps.get(unit.key, ())
        if not steps:
            raise RefusedError("the plan has no step for it any more")
        if unit.object is not None:
            return self._in_cloud(unit, steps, hosts)
        host = hosts.of(unit)
        if host is None:
            return prepare_file(steps, unit.key)
        vdpa = host.local and any(step.to == "vdpa" for step in steps)
        return prepare(
            steps, host.machine(unit.uuid or ""), self._order.mode, unit.key,
            self._earlier(unit.key), vdpa_devices() if vdpa else None,
        )  # fmt: skip

    def _in_cloud(self, unit: UnitSheet, steps: tuple[Step, ...], hosts: Hosts) -> Prepared:
        place = hosts.place_of(unit)
        left_off, again = unit.uuid in self._left_off, unit.uuid in self._in_doubt
        return Prepared(
            prepare_in_cloud(
                steps, place, self._order.mode, unit.key, left_off=left_off, again=again
            )
        )

    @cached_property
    def _left_off(self) -> frozenset[str]:
        return left_off(self._order.state)

    @cached_property
    def _in_doubt(self) -> frozenset[str]:
        return in_doubt(self._order.state)

    @cached_property
    def _of_this_plan(self) -> tuple[Past, ...]:
        """Its runs, newest first; what this one does to a unit is not asked of it."""
        mine = ("apply", self._plan)
        past = all_past(self._order.state)
        return tuple(found for found in past if (found.sheet.kind, found.sheet.plan) == mine)

    def _earlier(self, key: str) -> Callable[[bytes], bytes | None]:
        """What a definition was before a run of this plan made it what it is."""

        def before(current: bytes) -> bytes | None:
            for found in self._of_this_plan:
                if made_by(found, key, current):
                    return original_of(found, task_of(found, key))
            return None

        return before


def _unfinished(order: Order, sheet: RunSheet) -> Past | None:
    """The run of this plan that did not come to its end. Raises UsageError where it is to be done
    in another way now, RefusedError where another run is in the middle of one of these domains."""
    for found in unfinished(order.state):
        run = found.sheet
        if (run.kind, run.plan) == (sheet.kind, sheet.plan):
            if run.mode != sheet.mode:
                raise UsageError(
                    f"run {run.id} of this plan is unfinished, with --mode {run.mode}: finish it "
                    f"with that, or take it back ({found.way_back()})"
                )
            if run.units != sheet.units:
                raise UsageError(
                    f"run {run.id} of this plan is unfinished, with other steps of it "
                    "(--include-unsafe): finish it with those, or take it back "
                    f"({found.way_back()})"
                )
            return found._replace(sheet=msgspec.structs.replace(run, limits=order.limits))
        refuse_beside(found, sheet.units)
    return None


def refuse_beside(found: Past, units: Iterable[UnitSheet]) -> None:
    """Raises RefusedError where an unfinished run is in the middle of one of these domains."""
    begun = {(unit.uuid, unit.file) for unit in found.sheet.units if found.is_open(unit.key)}
    for unit in units:
        if (unit.uuid, unit.file) in begun:
            run = found.sheet
            undoing = command(f"rollback {run.plan}", found.folder.parent.parent)
            again = undoing if run.kind == "rollback" else "its plan again"
            raise RefusedError(
                f"run {run.id} is unfinished on {unit.name}: finish it ({again}), or take it back "
                f"({found.way_back()})"
            )
