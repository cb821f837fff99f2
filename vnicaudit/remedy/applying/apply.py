"""Apply a plan, or resume a run of it that was interrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from typing import Literal

import msgspec

from vnicaudit.base.clock import timestamp
from vnicaudit.base.private_files import write_private
from vnicaudit.errors import ActionError, GoneError, RefusedError, UsageError
from vnicaudit.model.plan import Mode, Step
from vnicaudit.model.runs import Foreseen, ForeseenOutcome, Outcome
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.applying.beside import OtherRuns, refuse_beside
from vnicaudit.remedy.applying.driver import Prepared, PrepareRequest
from vnicaudit.remedy.applying.host_by_host import HostByHost, open_begun, open_locked
from vnicaudit.remedy.applying.journal.past_run import PastRun, all_past, begin_run, unfinished
from vnicaudit.remedy.applying.journal.run_request import RunLimits, RunRequest, UnitRequest
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.kinds import Drivers, KindTable
from vnicaudit.remedy.applying.runner import Preparing, Runner, RunResult, Tell
from vnicaudit.remedy.applying.schedule import Schedule
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.cloud import CloudAccess
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.trial import Trials
from vnicaudit.remedy.unit_refusal import UnitRefusedError, codes_of

PLAN = "plan.json"


_ALREADY = "nothing to do: it is already as planned"
_MEANWHILE = "meanwhile a plan without that host (vnicaudit fleet plan --limit) changes others"
_NOT_BEGUN: dict[Outcome, ForeseenOutcome] = {"gone": "gone", "refused": "refused"}
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

    def drivers(self, stack: ExitStack, *, hold: bool = True) -> Drivers:
        """The drivers of one command; the connections and locks they open are held until ``stack``
        is left."""
        session = Session(
            self.adapters, self.reach, self.state, self.deadline, stack, hold=hold,
            host_by_host=self.host_by_host, without_lock=self.without_host_lock,
            tell=self.tell_remaining,
        )  # fmt: skip
        return Drivers(self.kinds, session)

    def going_on_with(self, run: RunRequest) -> RunContext:
        """The context in which a past run is finished or rolled back: hosts are reached as that run
        reached them."""
        return msgspec.structs.replace(
            self, host_by_host=run.host_by_host, without_host_lock=run.without_host_lock
        )

    def request(
        self, kind: Literal["apply", "rollback"], plan: str, units: Sequence[UnitRequest]
    ) -> RunRequest:
        """The request of a new run. ``plan``: see :class:`RunRequest`."""
        return RunRequest(
            "", kind, timestamp(), plan, self.mode, tuple(units), self.limits,
            host_by_host=self.host_by_host, without_host_lock=self.without_host_lock,
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
        preparing: Preparing = _Preparing(steps, plan, context)
        if context.host_by_host:
            open_begun(found, drivers, _MEANWHILE)
            preparing = HostByHost(preparing, OtherRuns(context.state, context.kinds, found))
        runner = Runner(
            found, drivers, preparing, tell, trials, context.tell_remaining, context.halted
        )
        result = runner.go(context.schedule)
        if context.host_by_host:
            open_locked(found, drivers, context.state, context.tell_remaining or tell)
        return result


def dry_run_apply(steps: Sequence[Step], text: bytes, context: RunContext) -> tuple[Foreseen, ...]:
    """The foreseen outcome of each domain (or file) that :func:`apply` would change. Nothing is
    changed and no run is recorded."""
    with ExitStack() as stack:
        drivers = context.drivers(stack, hold=False)
        units = context.kinds.units(steps)
        preparing: Preparing = _Preparing(steps, digest(text), context)
        if context.host_by_host:
            drivers.check(units)
            preparing = HostByHost(preparing, None)
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
) -> tuple[Foreseen, ...]:
    """The foreseen outcome of each unit, as far as it can be told before the unit is started.
    ``show`` is told the changes that would be made."""
    later = Counter(unit.target for unit in units)
    found = []
    for unit in units:
        found.append(_foreseen(unit, drivers, preparing, show))
        later[unit.target] -= 1
        drivers.leave_all_but(+later)
    return tuple(found)


def _foreseen(
    unit: UnitRequest,
    drivers: Drivers,
    preparing: Preparing,
    show: Callable[[UnitRequest, Prepared], None] | None,
) -> Foreseen:
    def is_to_be(outcome: ForeseenOutcome, why: str = "", codes: tuple[str, ...] = ()) -> Foreseen:
        return Foreseen(unit.name, outcome, why, codes, unit.steps, unit.place)

    try:
        prepared = preparing(unit, drivers)
    except GoneError as error:
        result = drivers.of(unit).explain(unit, error, begun=False, dry_run=True)
        return is_to_be(_NOT_BEGUN.get(result.outcome, "failed"), result.message, result.codes)
    except RefusedError as error:
        return is_to_be("refused", str(error), codes_of(error))
    except ActionError as error:
        return is_to_be("failed", str(error))
    if prepared.transaction is None:
        return is_to_be("already", _ALREADY)
    if show is not None:
        show(unit, prepared)
    return is_to_be("would-change")


class _Preparing:
    """Prepares the change of each unit that has not been started."""

    def __init__(self, steps: Sequence[Step], plan: str, context: RunContext) -> None:
        self._steps = context.kinds.by_unit(steps)
        self._plan = plan
        self._context = context

    def __call__(self, unit: UnitRequest, drivers: Drivers) -> Prepared:
        steps = self._steps.get(unit.key, ())
        if not steps:
            raise UnitRefusedError("the plan no longer has a step for it", "plan")
        past = partial(all_past, self._context.state)
        request = PrepareRequest(self._context.mode, lambda: self._of_this_plan, past)
        return drivers.of(unit).prepare(unit, steps, request)

    @cached_property
    def _of_this_plan(self) -> tuple[PastRun, ...]:
        """The runs of this plan, newest first, read once: changes by the present run do not
        matter."""
        mine = ("apply", self._plan)
        past = all_past(self._context.state)
        return tuple(found for found in past if (found.request.kind, found.request.plan) == mine)


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
        refuse_beside(found, request.units, context.kinds)
    return None
