"""``vnicaudit bench watch``: measure briefly at regular intervals and report when the path
changed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec.structs import replace

from vnicaudit.base.clock import moment
from vnicaudit.cli.bench.options import (
    LineOptions,
    drawn_seed,
    limits_of,
    line_of,
    line_options,
    max_cpu_wait_option,
    max_steal_option,
)
from vnicaudit.cli.options.candidates import profiles
from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.records import as_record
from vnicaudit.cli.options.sections import SectionedCommand
from vnicaudit.cli.options.state import state_folder, state_option
from vnicaudit.cli.output.files import ReportOutput
from vnicaudit.cli.output.stderr import tell
from vnicaudit.cli.output.stdout import emit, flush
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import BusyError, EndpointError, MeasureError, UsageError

if TYPE_CHECKING:
    from vnicaudit.base.waiting import Clock
    from vnicaudit.bench.running.run import MeasurementRequest
    from vnicaudit.bench.watching.series import PathIdentity
    from vnicaudit.bench.watching.state import SeriesState
    from vnicaudit.model.measurement import BenchResult
    from vnicaudit.remedy.adapters import GetAdapters

PATIENCE = 30.0
"""Seconds to wait for another measurement on the same path before a period is skipped."""
_CHANGED = 1
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LEAST, _MOST = 60.0, 7 * 86_400.0
_LEAST_DAYS = 30
"""Minimum days for which runs are kept: judging looks back for weeks."""

_EPILOG = """\b
Examples:
  vnicaudit bench watch agent://web01,ssh://root@gen1
  vnicaudit bench watch web=agent://web01,ssh://root@gen1 --every 30m \\
      --metrics /var/lib/prometheus/node-exporter/vnicaudit-web.prom
  vnicaudit bench watch agent://web01,ssh://root@gen1 --once --fail-on-change   for a timer

\b
Exit codes: 0 measured, or skipped because another measurement was running; 1 this
run confirmed a loss of the margin or more (--once --fail-on-change); 2 usage, 4 an
endpoint could not be reached, or no run was valid (--once), 130 interrupted."""


class BenchWatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit bench watch``."""

    path: str
    profile: str
    every: str
    once: bool
    fail_on_change: bool
    metrics: str | None
    keep: str
    max_steal: float | None
    max_cpu_wait: float | None
    line: LineOptions
    state: str | None
    output: OutputOptions


@click.command("watch", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("path", metavar="PATH")
@click.option(
    "-p",
    "--profile",
    shell_complete=profiles,
    default="smoke",
    show_default=True,
    metavar="NAME|FILE",
    help="Measure the workloads of this profile, one run each: see `vnicaudit bench profiles`.",
)
@click.option(
    "--every",
    default="1h",
    show_default=True,
    metavar="PERIOD",
    help="Start a run in every PERIOD (`30m`, `2h`, `1d`; one minute to seven days).",
)
@click.option("--once", is_flag=True, help="Measure once and exit: for systemd timers and cron.")
@click.option(
    "--fail-on-change",
    is_flag=True,
    help="With --once: exit with 1 when this run confirms a loss of the margin or more.",
)
@click.option(
    "--metrics",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write metrics to FILE after each run, for node_exporter's textfile collector.",
)
@click.option(
    "--keep",
    default="90d",
    show_default=True,
    metavar="PERIOD",
    help="Remove runs of this path that are older than this (at least `30d`); `all`: remove none.",
)
@max_steal_option
@max_cpu_wait_option
@line_options
@state_option
@output_options
@pass_wiring
@as_record(BenchWatchOptions)
def command(options: BenchWatchOptions, wiring: Wiring) -> int:
    """Measure PATH briefly at regular intervals, and report when its level changes.

    A change is reported once two consecutive looks, six hours apart, have found it. Runs are stored
    with the label `watch` for the time set by --keep: see `vnicaudit bench show`.
    """
    every = period_of(options.every)
    kept_for(options.keep)
    if options.fail_on_change and not options.once:
        raise UsageError("--fail-on-change needs --once: without it, watch never ends")
    if options.metrics is not None:
        with ReportOutput(options.metrics, readable=True) as output:
            output.abandon()
    request = request_of(options, wiring.adapters)
    return _once(options, request) if options.once else watch(options, request, every, time)


def watch(
    options: BenchWatchOptions, request: MeasurementRequest, every: float, clock: Clock
) -> int:
    """Measure once in every period until interrupted. A failed run is reported, and the next
    follows."""
    from vnicaudit.bench.watching.periods import periods

    for _number in periods(every, clock):
        try:
            _once(options, request)
        except (EndpointError, MeasureError) as error:
            tell(f"skipped this period: {error}")
            _written_states(options, request)
    return 0


def period_of(text: str) -> float:
    """The period in seconds. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,6})([smhd])", text, re.ASCII)
    seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if not _LEAST <= seconds <= _MOST:
        raise UsageError(f"--every {text!r}: expected a number with s, m, h or d, from 60s to 7d")
    return seconds


def kept_for(text: str) -> float | None:
    """Seconds for which runs are kept; None: forever. Raises UsageError."""
    if text == "all":
        return None
    match = re.fullmatch(r"(\d{1,5})d", text, re.ASCII)
    if match is None or int(match[1]) < _LEAST_DAYS:
        raise UsageError(
            f"--keep {text!r}: expected all, or a number of days, at least {_LEAST_DAYS}d"
        )
    return int(match[1]) * 86_400.0


def request_of(options: BenchWatchOptions, adapters: GetAdapters) -> MeasurementRequest:
    """The request for one run of each workload. Raises UsageError if it cannot be made."""
    from vnicaudit.bench.endpoints.paths import parse_paths
    from vnicaudit.bench.profiles.load import load_profile
    from vnicaudit.bench.running.run import MeasurementRequest, measurement_terms_of
    from vnicaudit.bench.watching.watched_runs import LABEL

    profile = replace(load_profile(options.profile), looks=(1,), alphas=(0.05,))
    paths = parse_paths((options.path,))
    request = MeasurementRequest(
        profile=profile,
        paths=paths,
        arms={},
        states={},
        labels={LABEL: paths[0].name},
        line=line_of(options.line),
        seed=drawn_seed(),
        limits=limits_of(profile, options.max_steal, options.max_cpu_wait),
        adapters=adapters,
        patience=PATIENCE,
    )
    measurement_terms_of(request)
    return request


def _once(options: BenchWatchOptions, request: MeasurementRequest) -> int:
    """Run once, print the lines and write the metrics; returns the exit code. Raises EndpointError,
    MeasureError."""
    from vnicaudit.reports.bench.watch_line import watch_line

    result = _measured(options, request)
    states = _written_states(options, request)
    if result is None:
        return 0
    _drop_old(options, request)
    for one in states:
        emit(f"{watch_line(one)}\n")
    flush()
    if not any(one.valid for one in result.samples):
        tell("no run was valid: see `vnicaudit bench show`")
        return EndpointError.exit_code
    return _CHANGED if options.fail_on_change and confirms_loss(states, result.run.started) else 0


def _measured(options: BenchWatchOptions, request: MeasurementRequest) -> BenchResult | None:
    """The result of one run; None if another measurement occupies the path."""
    from vnicaudit.bench.running.run import bench
    from vnicaudit.cli.bench.output import BenchProgress

    progress = BenchProgress(options.output)
    try:
        return bench(request, Path(state_folder(options.state)), progress)[0]
    except BusyError as error:
        progress.clear()
        tell(f"skipped this period: {error}")
        return None
    finally:
        progress.clear()


def _written_states(
    options: BenchWatchOptions, request: MeasurementRequest
) -> tuple[SeriesState, ...]:
    """The state of each series so far; also writes their metrics."""
    states = _states(request, Path(state_folder(options.state)))
    _write_metrics(options.metrics, request.paths[0].name, states)
    return states


def _drop_old(options: BenchWatchOptions, request: MeasurementRequest) -> None:
    """Remove runs older than the time set by --keep; a failure is reported."""
    from vnicaudit.bench.watching.retention import drop_runs

    seconds = kept_for(options.keep)
    if seconds is None:
        return
    try:
        drop_runs(Path(state_folder(options.state)), _identity(request), time.time() - seconds)
    except UsageError as error:
        tell(str(error))


def _identity(request: MeasurementRequest) -> PathIdentity:
    from vnicaudit.bench.watching.series import PathIdentity

    (path,) = request.paths
    return PathIdentity(path.target, path.peer)


def _states(request: MeasurementRequest, state: Path) -> tuple[SeriesState, ...]:
    from vnicaudit.bench.watching.state import states_of

    return tuple(
        states_of(state, _identity(request), request.profile.workloads, request.profile.margins)
    )


def confirms_loss(states: Iterable[SeriesState], started: str) -> bool:
    """True if the run started at that time confirmed a loss."""
    began = moment(started).timestamp()
    return any(
        one.change is not None and one.change.worse and one.change.confirmed == began
        for one in states
    )


def _write_metrics(place: str | None, name: str, states: Sequence[SeriesState]) -> None:
    """Replace the metrics file, completely or not at all. Raises UsageError."""
    if place is None:
        return
    from vnicaudit.reports.metrics.families import written
    from vnicaudit.reports.metrics.watch import watch_families

    with ReportOutput(place, readable=True) as output:
        output.finish(written(watch_families(name, states, time.time()), "prometheus"))
