"""Targets -> a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit.reading.platform import Platforms
from vnicaudit.audit.reading.seen_files import SeenFiles
from vnicaudit.audit.reading.targets import Target, TargetKind
from vnicaudit.base.clock import timestamp
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import NotPlanned, Plan, Planned, UnitStep
from vnicaudit.remedy.planning.requested_targets import RequestedTargets
from vnicaudit.remedy.planning.target_planner import (
    NewPlanner,
    PlanContext,
    PlanParts,
    PlanRequest,
    ReadingObservers,
    TargetPlanner,
)
from vnicaudit.text.secrets import masked_message


def make_plan(
    targets: Iterable[Target], planners: Iterable[NewPlanner], request: PlanRequest
) -> Plan:
    """The plan of all targets. Nothing is changed. ``planners``: one for each kind of target, in
    the order in which they are read; if two accept a target, the later one gets it: an external
    platform comes after those that accept any file.

    Raises UsageError for targets that cannot be changed, and for named domains and NICs that do not
    exist.
    """
    targets = tuple(targets)
    requested = RequestedTargets(request.options)
    context = PlanContext(*request, targets, SeenFiles(targets), requested, ReadingObservers())
    opened = [new(context) for new in planners]
    platforms = request.judges.work.platforms
    by_target = {target.name: _planner_of(target, opened, platforms) for target in targets}
    parts = PlanParts(targets)
    for planner in opened:
        own = tuple(target for target in targets if by_target[target.name] is planner)
        if own:
            planner.plan(own, parts)
    missing = [*(each for planner in opened for each in planner.missing()), *requested.missing()]
    return _plan(context, parts, tuple(_without_covered(parts, by_target, opened)), missing)


def _planner_of(
    target: Target, planners: Sequence[TargetPlanner], platforms: Platforms
) -> TargetPlanner:
    """The planner of a target. Raises UsageError if there is none."""
    for planner in reversed(planners):
        if planner.takes(target):
            return planner
    kind = platforms.kind_of(target) or TargetKind(target.kind, lambda _name: None)
    raise UsageError(f"{target.name}: {kind.not_planned}")


def _without_covered(
    parts: PlanParts, by_target: Mapping[str, TargetPlanner], planners: Sequence[TargetPlanner]
) -> Iterator[Planned]:
    """The planned items of all targets, in their order, without those that another planner
    covers."""
    for name, of_target in parts.planned.items():
        others = [planner for planner in planners if planner is not by_target[name]]
        for one in of_target:
            if not (one.gives_way and any(planner.covers(one) for planner in others)):
                yield one


def _plan(
    context: PlanContext, parts: PlanParts, found: tuple[Planned, ...], missing: list[str]
) -> Plan:
    """The plan of all targets. Raises UsageError if something requested is missing although all
    targets could be read."""
    errors = [error for of_target in parts.errors.values() for error in of_target]
    if missing and not errors:
        raise UsageError("; ".join(missing))
    steps = (one for one in found if isinstance(one, UnitStep))
    return Plan(
        tool="vnicaudit",
        version=__version__,
        created=timestamp("seconds"),
        to=context.options.to,
        targets=tuple(target.name for target in context.targets),
        steps=tuple(replace(step, id=str(number)) for number, step in enumerate(steps, 1)),
        not_planned=tuple(one for one in found if isinstance(one, NotPlanned)),
        errors=tuple(map(masked_message, (*errors, *missing))),
        notes=tuple(parts.notes),
        unread_targets=parts.unread_targets,
    )
