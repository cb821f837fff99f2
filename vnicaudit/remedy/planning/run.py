"""Targets -> a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone

from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit.options import RunOptions
from vnicaudit.audit.targets import Target
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.plan import Left, Plan, Step
from vnicaudit.model.report import ReadError
from vnicaudit.remedy.hypervisor import vdpa_devices
from vnicaudit.remedy.planning.build import Planner
from vnicaudit.remedy.planning.guests import GuestNames, nobody_asked
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.source import Source, sources

Progress = Callable[[str, int], None]


def make_plan(
    targets: Iterable[Target], work: AuditWork, run: RunOptions, options: PlanOptions,
    on_progress: Progress,
) -> Plan:  # fmt: skip
    """What would be changed, for whom, and what is left as it is. Nothing is changed. Raises
    UsageError for targets that cannot be changed."""
    targets = tuple(targets)
    devices = vdpa_devices() if options.to == "vdpa" else None
    guests = GuestNames(run.live.deadline) if run.live.agent else None
    users = {} if options.to == "virtio" else _users(targets, run)
    planner = Planner(work, options, devices, guests or nobody_asked, users)
    steps: list[Step] = []
    left: list[Left] = []
    errors: list[str] = []
    for target in targets:
        for number, source in enumerate(sources(target, run), 1):
            if isinstance(source, ReadError):
                errors.append(_error(source, target))
                continue
            for found in planner.plan(source):
                if isinstance(found, Step):
                    steps.append(found)
                else:
                    left.append(found)
            on_progress(target.name, number)
    if guests is not None:
        guests.close()
    return Plan(
        tool="vnicaudit",
        version=__version__,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z"),
        to=options.to,
        targets=tuple(target.name for target in targets),
        steps=tuple(replace(step, id=str(number)) for number, step in enumerate(steps, 1)),
        left=tuple(left),
        errors=tuple(errors),
    )


def _users(targets: Iterable[Target], run: RunOptions) -> dict[tuple[str, str], str]:
    """Who has which device or socket already: two guests on one of them is one too many."""
    return {
        (target.name, nic.source): source.domain.name
        for target in targets
        for source in sources(target, run)
        if isinstance(source, Source)
        for nic in source.domain.nics
        if nic.source is not None and nic.declared.type in ("vdpa", "vhostuser")
    }


def _error(error: ReadError, target: Target) -> str:
    place = error.file or target.name
    where = place if error.line is None else f"{place}:{error.line}"
    return f"{where}: {error.message}"
