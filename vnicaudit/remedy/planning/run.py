"""Targets -> a plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone

from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit.options import RunOptions
from vnicaudit.audit.targets import Target
from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import Left, Plan, Step
from vnicaudit.model.report import ReadError
from vnicaudit.remedy.hypervisor import vdpa_devices
from vnicaudit.remedy.planning.build import Planner
from vnicaudit.remedy.planning.guests import GuestNames, nobody_asked
from vnicaudit.remedy.planning.meant import Meant
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.source import Source, sources

Progress = Callable[[str, int], None]


def make_plan(
    targets: Iterable[Target], work: AuditWork, by_all: AuditWork, run: RunOptions,
    options: PlanOptions, on_progress: Progress,
) -> Plan:  # fmt: skip
    """What would be changed, for whom, and what is left as it is. Nothing is changed. ``work``
    says what is to be changed, ``by_all`` (all rules) what would be wrong then.

    Raises UsageError for targets that cannot be changed, and for domains and NICs that were named
    and are not there.
    """
    targets = tuple(targets)
    devices = vdpa_devices() if options.to == "vdpa" else None
    guests = GuestNames(run.live.deadline) if run.live.agent else None
    users = {} if options.to == "virtio" else _users(targets, run)
    planner = Planner(work, by_all, options, devices, guests or nobody_asked, users)
    meant = Meant(options)
    steps: list[Step] = []
    left: list[Left] = []
    errors: list[str] = []
    try:
        for target, source in _all(targets, run, on_progress):
            if isinstance(source, ReadError):
                errors.append(_error(source, target))
                continue
            meant.met(source)
            for found in planner.plan(source):
                if isinstance(found, Step):
                    steps.append(found)
                else:
                    left.append(found)
    finally:
        if guests is not None:
            guests.close()
    errors += _not_met(meant, errors)
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


def _all(
    targets: Iterable[Target], run: RunOptions, on_progress: Progress
) -> Iterator[tuple[Target, Source | ReadError]]:
    """Everything of all targets; what stands in a file that two of them name, once."""
    seen: dict[tuple[str, str | None], str] = {}
    for target in targets:
        for number, source in enumerate(sources(target, run), 1):
            on_progress(target.name, number)
            if isinstance(source, Source) and source.file is not None:
                place = (os.path.realpath(source.file), source.domain.location.xpath)
                if seen.setdefault(place, target.name) != target.name:
                    continue
            yield target, source


def _not_met(meant: Meant, errors: list[str]) -> list[str]:
    """What was named and is not there, to be said where not all could be read. Raises UsageError
    where all could."""
    missing = meant.missing()
    if missing and not errors:
        raise UsageError("; ".join(missing))
    return missing


def _users(targets: Iterable[Target], run: RunOptions) -> dict[tuple[str, str], str]:
    """Who has which device or socket already, by definition or while it runs: two guests on one of
    them is one too many."""
    return {
        (target.name, nic.source): source.domain.name
        for target in targets
        for source in sources(target, run)
        if isinstance(source, Source)
        for nic in (*source.running.nics, *source.domain.nics)
        if nic.source is not None and nic.declared.type in ("vdpa", "vhostuser")
    }


def _error(error: ReadError, target: Target) -> str:
    place = error.file or target.name
    where = place if error.line is None else f"{place}:{error.line}"
    return f"{where}: {error.message}"
