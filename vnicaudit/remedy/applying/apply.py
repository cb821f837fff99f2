"""Apply a plan, or resume a run of it that was interrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Literal

import msgspec

from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.files import write_private
from vnicaudit.errors import (
    ActionError,
    GoneError,
    NoResponseError,
    RefusedError,
    TargetError,
    UsageError,
    VnicauditError,
)
from vnicaudit.model.plan import Mode, Step
from vnicaudit.model.runs import Outcome, Preview, PreviewOutcome
from vnicaudit.remedy.applying.driver import Drivers, KindTable, Prepared, PrepareRequest
from vnicaudit.remedy.applying.journal.events import RunLimits, RunRequest, UnitRequest
from vnicaudit.remedy.applying.journal.past_run import PastRun, all_past, begin_run, unfinished
from vnicaudit.remedy.applying.journal.state import HeldError, StateFolder
from vnicaudit.remedy.applying.runner import Preparing, Runner, RunResult, Tell
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.applying.unit_queue import Schedule
from vnicaudit.remedy.hypervisor import Adapters, CloudAccess, Trials
from vnicaudit.remedy.replacing import UnitRefusedError, codes_of, digest
from vnicaudit.text.targets import command

# Other runs that were interrupted while they changed units of this run.


def refuse_concurrent(found: PastRun, units: Iterable[UnitRequest], kinds: KindTable) -> None:
    """Raises RefusedError if an unfinished run is in the middle of one of these domains."""
    begun = [unit for unit in found.request.units if found.is_open(unit.key)]
    for unit in units:
        if any(kinds.is_same(unit, other) for other in begun):
            run = found.request
            undoing = command(f"rollback {run.plan}", found.folder.parent.parent)
            again = undoing if run.kind == "rollback" else "apply its plan again"
            raise UnitRefusedError(
                f"run {run.id} is unfinished on {unit.name}: finish it ({again}), or undo it "
                f"({found.rollback_command()})",
                "held",
            )


def refuse_others(mine: PastRun, context: RunContext) -> Callable[[UnitRequest], None]:
    """A function that raises RefusedError if a run other than ``mine`` is in the middle of a unit,
    whose place is locked."""

    def refuse(unit: UnitRequest) -> None:
        for found in unfinished(context.state):
            if found.request.id != mine.request.id:
                refuse_concurrent(found, (unit,), context.kinds)

    return refuse


# Open the hosts of a fleet one by one, each when its turn comes.


def host_by_host(
    preparing: Preparing, refuse: Callable[[UnitRequest], None] | None = None
) -> Preparing:
    """Prepares the change of a unit after opening its host. A host that cannot be reached, stops
    answering before anything is started, or is locked by another run affects only its own units.
    ``refuse``: raises RefusedError if another run may have left the unit half done."""

    def opened_first(unit: UnitRequest, drivers: Drivers) -> Prepared:
        try:
            drivers.open((unit,))
        except HeldError as error:
            raise UnitRefusedError(str(error), "held") from None
        except (TargetError, NoResponseError) as error:
            raise _unreachable(error) from None
        if refuse is not None:
            refuse(unit)
        try:
            return preparing(unit, drivers)
        except NoResponseError as error:
            drivers.give_up(unit, error)
            raise _unreachable(error) from None

    return opened_first


def open_reachable(
    units: Iterable[UnitRequest], drivers: Drivers, errors: tuple[type[VnicauditError], ...]
) -> tuple[list[UnitRequest], VnicauditError | None]:
    """``(units, error)``: the units whose host could be opened, and why the first other one could
    not, which must not leave guests of other hosts as they are. ``errors``: those that concern only
    one host. Raises the first error if no host could be opened."""
    reached: list[UnitRequest] = []
    first: VnicauditError | None = None
    by_place: dict[tuple[str, str], list[UnitRequest]] = {}
    for unit in units:
        by_place.setdefault((unit.kind, unit.target), []).append(unit)
    for there in by_place.values():
        try:
            drivers.open(there)
        except errors as error:
            first = first or error
        else:
            reached += there
    if first is not None and not reached:
        raise first
    return reached, first


def open_begun(run: PastRun, drivers: Drivers) -> None:
    """Open the hosts where the run left a unit half done: work resumes there first. Raises
    TargetError, NoResponseError and HeldError."""
    for unit in (one for one in run.request.units if run.is_open(one.key)):
        words = f"; {unit.name} is half changed there: {_MEANWHILE}"
        try:
            drivers.open((unit,))
        except TargetError as error:
            message = f"{error.message}{words}"
            raise TargetError(message, file=error.file, failure=error.failure) from None
        except NoResponseError as error:
            raise NoResponseError(f"{error}{words}") from None


def open_locked(run: PastRun, drivers: Drivers, state: StateFolder, tell: Tell) -> None:
    """Open the hosts of a run that a killed process left locked and where nothing is left to do:
    their locks are removed when they are left. ``tell`` is told of those that do not answer."""
    for target, unit in {unit.target: unit for unit in run.request.units}.items():
        if not state.may_be_locked(target):
            continue
        try:
            drivers.open((unit,))
        except HeldError:  # by a living process, or by somebody else
            continue
        except (TargetError, NoResponseError) as error:
            words = f"an interrupted run may have left it locked: {_words(error)}"
            tell(unit.place, f"{words}; repeat the command when it answers")


def _unreachable(error: TargetError | NoResponseError) -> UnitRefusedError:
    return UnitRefusedError(f"its host does not answer: {_words(error)}", "unreachable")


def _words(error: TargetError | NoResponseError) -> str:
    return error.message if isinstance(error, TargetError) else str(error)


PLAN = "plan.json"


_ALREADY = "nothing to do: it is already as planned"
_MEANWHILE = (
    "repeat the command when the host answers; meanwhile a plan without that host (vnicaudit plan "
    "-i --limit) changes others"
)
_NOT_BEGUN: dict[Outcome, PreviewOutcome] = {"gone": "gone", "refused": "refused"}
"""A driver's result for a unit that no longer exists -> the outcome that a dry run foresees."""


class RunContext(msgspec.Struct, frozen=True):
    """The options of a run and the services it uses. ``deadline``: timeout in seconds of one call
    to libvirt or a cloud; ``kinds``: the kinds of units and their drivers, which work with
    ``adapters`` and ``reach``; ``tell_remaining``: is told what an interruption leaves half done,
    even where other progress is not shown; ``halted``: returns the reason to start no further unit
    while those in progress are still finished (empty: none)."""

    mode: Mode
    limits: RunLimits
    schedule: Schedule
    deadline: float
    state: StateFolder
    kinds: KindTable
    adapters: Adapters
    reach: CloudAccess = CloudAccess()
    tell_remaining: Tell | None = None
    halted: Callable[[], str] | None = None
    host_by_host: bool = False
    """Each host is opened and locked only while it has work: a host that cannot be reached, or is
    locked by another run, affects only its own units."""
    without_host_lock: bool = False
    host_names: dict[str, str] = {}
    """URI -> the name in the inventory of the plan."""

    def drivers(self, stack: ExitStack, *, hold: bool = True) -> Drivers:
        """The drivers of one command; the connections and locks they open are held until ``stack``
        is left."""
        session = Session(
            self.adapters, self.reach, self.state, self.deadline, stack, hold=hold,
            host_by_host=self.host_by_host, without_lock=self.without_host_lock,
            tell=self.tell_remaining, names=self.host_names,
        )  # fmt: skip
        return Drivers(self.kinds, session)

    def runner(
        self,
        found: PastRun,
        drivers: Drivers,
        preparing: Preparing,
        tell: Tell,
        trials: Trials | None = None,
    ) -> Runner:
        """The runner for the units of a run."""
        remaining, halted = self.tell_remaining, self.halted
        return Runner(found, drivers, preparing, tell, trials, remaining, halted)

    def going_on_with(self, run: RunRequest) -> RunContext:
        """The context in which a past run is finished or rolled back: hosts are reached as that run
        reached them."""
        return msgspec.structs.replace(
            self, host_by_host=run.host_by_host, without_host_lock=run.without_host_lock,
            host_names=run.host_names,
        )  # fmt: skip

    def request(
        self, kind: Literal["apply", "rollback"], plan: str, units: Sequence[UnitRequest]
    ) -> RunRequest:
        """The request of a new run. ``plan``: see :class:`RunRequest`."""
        return RunRequest(
            "", kind, timestamp(), plan, self.mode, tuple(units), self.limits,
            host_by_host=self.host_by_host, without_host_lock=self.without_host_lock,
            host_names=self.host_names,
        )  # fmt: skip


def apply(
    steps: Sequence[Step],
    text: bytes,
    context: RunContext,
    tell: Tell,
    trials: Trials | None = None,
) -> RunResult:
    """Apply these steps of the plan whose file has the content ``text``; an earlier run of the same
    plan that did not finish is resumed. ``trials``: each guest is measured before and after its
    change, and the change is rolled back if the trial says so. Raises RefusedError if nothing can
    be started."""
    units, plan = context.kinds.units(steps), digest(text)
    with ExitStack() as stack:
        drivers = context.drivers(stack)
        if context.host_by_host:
            drivers.check(units)
            hold_plans((plan,), context, stack)
        else:
            drivers.open(units)
        request = context.request("apply", plan, units)
        found = _unfinished(context, request) or begin_run(context.state, request)
        if trials is None and any(found.folder.glob("*.bench")):
            raise UsageError(
                f"run {found.request.id} of this plan, a measured one, is unfinished: finish it "
                f"with --bench, or undo it ({found.rollback_command()})"
            )
        if not (found.folder / PLAN).exists():
            write_private(found.folder / PLAN, text)
        preparing = _preparer(steps, plan, context)
        if context.host_by_host:
            open_begun(found, drivers)
            preparing = host_by_host(preparing, refuse_others(found, context))
        result = context.runner(found, drivers, preparing, tell, trials).go(context.schedule)
        if context.host_by_host:
            open_locked(found, drivers, context.state, context.tell_remaining or tell)
        return result


def dry_run_apply(steps: Sequence[Step], text: bytes, context: RunContext) -> tuple[Preview, ...]:
    """The foreseen outcome of each domain (or file) that :func:`apply` would change. Nothing is
    changed and no run is recorded."""
    with ExitStack() as stack:
        drivers = context.drivers(stack, hold=False)
        units = context.kinds.units(steps)
        preparing = _preparer(steps, digest(text), context)
        if context.host_by_host:
            drivers.check(units)
            preparing = host_by_host(preparing)
        else:
            drivers.open(units)
        return dry_run_units(units, drivers, preparing)


def hold_plans(plans: Iterable[str], context: RunContext, stack: ExitStack) -> None:
    """Keep other processes from resuming a run of these plans. Raises HeldError."""
    for plan in plans:
        stack.enter_context(context.state.lock(f"plan-{plan}", "this plan"))


def dry_run_units(
    units: Sequence[UnitRequest],
    drivers: Drivers,
    preparing: Preparing,
    show: Callable[[UnitRequest, Prepared], None] | None = None,
) -> tuple[Preview, ...]:
    """The foreseen outcome of each unit, as far as it can be told before the unit is started.
    ``show`` is told the changes that would be made."""
    later = Counter(unit.target for unit in units)
    found = []
    for unit in units:
        found.append(_preview(unit, drivers, preparing, show))
        later[unit.target] -= 1
        drivers.leave_all_but(+later)
    return tuple(found)


def _preview(
    unit: UnitRequest,
    drivers: Drivers,
    preparing: Preparing,
    show: Callable[[UnitRequest, Prepared], None] | None,
) -> Preview:
    def is_to_be(outcome: PreviewOutcome, why: str = "", codes: tuple[str, ...] = ()) -> Preview:
        return Preview(unit.name, outcome, why, codes, unit.steps, unit.place)

    try:
        prepared = preparing(unit, drivers)
    except GoneError as error:
        result = drivers.of(unit).result_if_gone(unit, error, begun=False, dry_run=True)
        return is_to_be(_NOT_BEGUN.get(result.outcome, "failed"), result.message, result.codes)
    except RefusedError as error:
        return is_to_be("refused", str(error), codes_of(error))
    except ActionError as error:
        return is_to_be("failed", str(error))
    if prepared.transaction is None:
        return is_to_be("already", _ALREADY)
    if show is not None:
        show(unit, prepared)
    return is_to_be("would-change", prepared.note)


def _preparer(steps: Sequence[Step], plan: str, context: RunContext) -> Preparing:
    """Prepares the change of each unit that has not been started."""
    by_unit = context.kinds.by_unit(steps)

    @cache
    def of_this_plan() -> tuple[PastRun, ...]:
        """Newest first, read once: changes by the present run do not matter."""
        past, mine = all_past(context.state), ("apply", plan)
        return tuple(one for one in past if (one.request.kind, one.request.plan) == mine)

    request = PrepareRequest(context.mode, of_this_plan)

    def preparing(unit: UnitRequest, drivers: Drivers) -> Prepared:
        if unit.key not in by_unit:
            raise UnitRefusedError("the plan no longer has a step for it", "plan")
        return drivers.of(unit).prepare(unit, by_unit[unit.key], request)

    return preparing


def _unfinished(context: RunContext, request: RunRequest) -> PastRun | None:
    """The unfinished run of this plan. Raises UsageError if this request differs from it,
    RefusedError if another run is in the middle of one of these domains."""
    for found in unfinished(context.state):
        run = found.request
        if (run.kind, run.plan) == (request.kind, request.plan):
            if run.mode != request.mode:
                raise UsageError(
                    f"run {run.id} of this plan, started with --mode {run.mode}, is unfinished: "
                    f"finish it with that mode, or undo it ({found.rollback_command()})"
                )
            if run.units != request.units:
                raise UsageError(
                    f"run {run.id} of this plan, started with other steps (--include-unsafe, "
                    "--domain, --nic), is unfinished: finish it with the same options, or undo "
                    f"it ({found.rollback_command()})"
                )
            return found._replace(request=msgspec.structs.replace(run, limits=context.limits))
        refuse_concurrent(found, request.units, context.kinds)
    return None
