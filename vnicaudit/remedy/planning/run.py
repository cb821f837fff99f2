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
from vnicaudit.deadline import FILE_SECONDS, Deadline, OutOfTime
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import Left, Plan, Step
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.remedy.hypervisor import vdpa_devices
from vnicaudit.remedy.planning.build import Planner
from vnicaudit.remedy.planning.cloud.run import Clouds, PlanContext
from vnicaudit.remedy.planning.guests import GuestNames, nobody_asked
from vnicaudit.remedy.planning.meant import Meant
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.source import Source, error_text, sources
from vnicaudit.text.secrets import masked_message

Progress = Callable[[str, int], None]

_TOO_LONG = (
    f"took more than {FILE_SECONDS:.0f} s of CPU time to plan: given up, and what was not yet "
    "planned of it is left out"
)


def make_plan(
    targets: Iterable[Target], work: AuditWork, by_all: AuditWork, run: RunOptions,
    options: PlanOptions, on_progress: Progress,
) -> Plan:  # fmt: skip
    """What would be changed, for whom, and what is left as it is. Nothing is changed. ``work``
    says what is to be changed, ``by_all`` (all rules) what would be wrong then.

    Raises UsageError for targets that cannot be changed, and for domains and NICs that were named
    and are not there.
    """
    context = PlanContext(work, by_all, options, Meant(options), on_progress)
    making = _Making(tuple(targets), context, run)
    making.guests()
    making.clouds()
    return making.plan()


class _Making:
    """A plan that is being made: what comes of each target, what of it could not be read, and what
    else is to be said."""

    def __init__(self, targets: tuple[Target, ...], context: PlanContext, run: RunOptions) -> None:
        self._targets = targets
        self._context = context
        self._run = run
        self._clouds = Clouds(targets, context, run.live)
        self._found: dict[str, list[Step | Left]] = {target.name: [] for target in targets}
        self._errors: dict[str, list[str]] = {target.name: [] for target in targets}
        self._notes: list[str] = []
        self._file = ""
        self._deadline = Deadline(FILE_SECONDS)
        """Of ``_file``, the one whose domains are planned."""
        self._late = False

    def guests(self) -> None:
        """Domains of live hosts, and in files."""
        run, options = self._run, self._context.options
        guests = GuestNames(run.live.deadline) if run.live.agent else None
        planner = Planner(
            self._context.work, self._context.by_all, options,
            vdpa_devices() if options.to == "vdpa" else None, guests or nobody_asked,
            {} if options.to == "virtio" else _users(self._others(), run),
        )  # fmt: skip
        try:
            for target, source in self._sources():
                if isinstance(source, ReadError):
                    self._errors[target.name].append(error_text(source, target))
                    continue
                if isinstance(source, NotJudged):
                    self._notes.append(error_text(source, target))
                    continue
                self._context.meant.met(source)
                self._clouds.definitions.met(source.running)
                self._planned(target, source, planner)
        finally:
            if guests is not None:
                guests.close()

    def _planned(self, target: Target, source: Source, planner: Planner) -> None:
        """What comes of one domain. All domains of a file have the CPU time of one file together:
        it costs itself, and not the run."""
        found, file = self._found[target.name], source.file
        if file is None:
            found.extend(planner.plan(source))
            return
        if file != self._file:
            self._file, self._deadline = file, Deadline(FILE_SECONDS)
        elif self._late:
            return
        self._late = False
        try:
            with self._deadline:
                found.extend(planner.plan(source))
        except OutOfTime:
            self._late = True
            self._errors[target.name].append(f"{file}: {_TOO_LONG}")

    def clouds(self) -> None:
        """Servers, images and flavors."""
        for target in self._clouds.targets:
            self._clouds.read(target, self._errors[target.name], self._notes)
        for target in self._clouds.targets:
            self._found[target.name].extend(self._clouds.plan(target))
        self._notes += self._clouds.notes()

    def plan(self) -> Plan:
        """All of it, in the order of the targets. Raises UsageError where it cannot be what was
        meant."""
        if ambiguous := self._clouds.ambiguous():
            raise UsageError("; ".join(ambiguous))
        clouds = {target.name for target in self._clouds.targets}
        found = [
            one for name, of_target in self._found.items() for one in of_target
            if name in clouds or not self._clouds.has(one)
        ]  # fmt: skip
        errors = [error for of_target in self._errors.values() for error in of_target]
        errors += _not_met(self._clouds.missing() + self._context.meant.missing(), errors)
        steps = (one for one in found if isinstance(one, Step))
        return Plan(
            tool="vnicaudit",
            version=__version__,
            created=datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z"),
            to=self._context.options.to,
            targets=tuple(target.name for target in self._targets),
            steps=tuple(replace(step, id=str(number)) for number, step in enumerate(steps, 1)),
            left=tuple(one for one in found if isinstance(one, Left)),
            errors=tuple(map(masked_message, errors)),
            notes=tuple(self._notes),
        )

    def _others(self) -> tuple[Target, ...]:
        return tuple(target for target in self._targets if target not in self._clouds.targets)

    def _sources(self) -> Iterator[tuple[Target, Source | ReadError | NotJudged]]:
        """All domains; what stands in a file that two of the targets name, once."""
        seen: dict[tuple[str, str | None], str] = {}
        for target in self._others():
            all_of_it = sources(target, self._run, self._clouds.configs)
            for number, source in enumerate(all_of_it, 1):
                self._context.on_progress(target.name, number)
                if isinstance(source, Source) and source.file is not None:
                    place = (os.path.realpath(source.file), source.domain.location.xpath)
                    if seen.setdefault(place, target.name) != target.name:
                        continue
                yield target, source


def _not_met(missing: list[str], errors: list[str]) -> list[str]:
    """What was named and is not there, to be said where not all could be read. Raises UsageError
    where all could."""
    if missing and not errors:
        raise UsageError("; ".join(missing))
    return missing


def _users(targets: Iterable[Target], run: RunOptions) -> dict[tuple[str, str], str]:
    """Who has which device or socket already, by definition or while it runs: two guests on one of
    them is one too many."""
    return {
        (target.name, nic.source): source.domain.name
        for target in targets
        for source in sources(target, run, [])
        if isinstance(source, Source)
        for nic in (*source.running.nics, *source.domain.nics)
        if nic.source is not None and nic.declared.type in ("vdpa", "vhostuser")
    }
