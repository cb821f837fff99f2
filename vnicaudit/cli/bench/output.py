"""Progress of a measurement on standard error, its reports, and its exit code."""

from __future__ import annotations

import os
import time
from pathlib import Path

from vnicaudit.base.deadlines import Clock
from vnicaudit.base.wording import count
from vnicaudit.bench.judging.steps import runs_needed, steps_of
from vnicaudit.bench.metrics import METRICS, quantity
from vnicaudit.bench.profiles.profile import sample_seconds
from vnicaudit.bench.running.collector import MeasurementTerms
from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.bench.running.run import MeasurementRequest, bench
from vnicaudit.cli.bench.options import MeasuringOptions, ReportOptions, report_places
from vnicaudit.cli.options.output import OutputOptions, terminal_width, use_color
from vnicaudit.cli.options.records import state_folder
from vnicaudit.cli.output.files import READ_BY_OTHERS, STDOUT, ReportOutput, stream
from vnicaudit.cli.output.progress import Rewritten, is_terminal, show, tell
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import BenchResult, Sample, Workload
from vnicaudit.reports.bench.formats import RENDERERS
from vnicaudit.reports.bench.labels import duration
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writers import Options

_MINUTE = 60
_EXACT = 600
"""Below this many seconds, estimates are rounded to 10 s."""
_EVERY = 30.0
"""Seconds between lines of progress if they cannot be rewritten."""
_REGRESSED = 1
_FILE_WIDTH = 100
"""Width in columns of text written to a file."""


class BenchProgress:
    """Shows the progress of a measurement. It writes only between runs, never during one: on a
    terminal as one line that is rewritten, elsewhere as a line at the start and then at most one
    every :data:`_EVERY` seconds."""

    def __init__(self, output: OutputOptions, clock: Clock = time) -> None:
        self._clock = clock
        self._quiet = output.quiet
        self._verbose = output.verbose
        self._terminal = not output.quiet and is_terminal()
        self._line = Rewritten()
        self._told: float | None = None
        self._last = ""
        self._metrics: dict[str, str] = {}

    def prepares(self, text: str) -> None:
        """Show preparations before or between runs."""
        self._show(text)

    def runs(self, workload: Workload, arm: str, ahead: Ahead) -> None:
        """Show which run starts and how long it takes, the last value, and the remaining time;
        before the first, how long the measurement takes."""
        if not self._metrics and ahead.number == 1:
            soonest, whole = about(ahead.soonest), about(ahead.remaining)
            span = f"{soonest} to {whole}" if soonest != whole else whole
            self.says(f"about {span}: at most {count(ahead.most, 'run')}, not counting repeats")
            self._told = self._clock.monotonic()
        self._metrics[workload.id] = next(iter(workload.decides), "")
        parts = [
            f"run {ahead.number:,} of at most {ahead.most:,}",
            f"about {about(ahead.remaining)} left",
            *([f"last {self._last}"] if self._last else []),
            f"now {workload.id}, {arm}, for about {about(sample_seconds(workload))}",
        ]
        self._show("; ".join(parts))

    def sampled(self, sample: Sample) -> None:
        """Keep the result of a run, to be shown with the next one."""
        self._last = self._in_short(sample)
        if self._verbose and not self._quiet:
            self._write(f"{sample.arm}: {sample.workload}: {outcome(sample)}")

    def says(self, text: str) -> None:
        """Write a line of its own."""
        if not self._quiet:
            self._write(text)

    def clear(self) -> None:
        """Erase the progress line before results are printed."""
        self._line.clear()

    def _in_short(self, sample: Sample) -> str:
        metric = self._metrics.get(sample.workload, "")
        if not sample.valid:
            return "did not count"
        if metric not in METRICS or metric not in sample.values:
            return ""
        return quantity(sample.values[metric], metric)

    def _show(self, text: str) -> None:
        if self._quiet:
            return
        if self._terminal:
            self._line.show(text)
            return
        now = self._clock.monotonic()
        if self._told is None or now - self._told >= _EVERY:
            self._told = now
            self._write(text)

    def _write(self, text: str) -> None:
        self.clear()
        show(f"{safe(text)}\n")


def outcome(sample: Sample) -> str:
    """The outcome of one run, on one line."""
    if not sample.valid:
        return f"does not count: {sample.reason}"
    shown = [name for name in METRICS if name in sample.values][:3]
    return ", ".join(
        f"{METRICS[name].title} {quantity(sample.values[name], name)}" for name in shown
    )


def about(seconds: float) -> str:
    """``40 s``, ``2 min 30 s``, ``12 min``, ``2 h 5 min``: rounded, since it is an estimate."""
    if seconds < _MINUTE:
        return f"{max(5 * round(seconds / 5), 5)} s"
    step = 10 if seconds < _EXACT else _MINUTE
    return duration(step * round(seconds / step))


def check_places(report: ReportOptions) -> None:
    """Raises UsageError for a report that could not be written, before an hour is spent
    measuring."""
    for _name, place in report_places(report):
        if place != STDOUT and (os.path.isfile(place) or not os.path.exists(place)):
            with ReportOutput(place) as output:
                output.abandon()


def measure(request: MeasurementRequest, options: MeasuringOptions) -> int:
    """Measure, write the reports, and print where the measurement is stored, even if a report
    cannot be written. Returns the exit code."""
    progress = BenchProgress(options.output)
    try:
        result, kept = bench(request, Path(state_folder(options.state)), progress)
    finally:
        progress.clear()
    try:
        write_reports(kept.result(), options.report, options.output)
    finally:
        if not options.output.quiet:
            tell(f"Kept: {kept.shown_by}")
    return code_of(result)


def write_reports(result: BenchResult, report: ReportOptions, output: OutputOptions) -> None:
    """Write each format to its place."""
    for name, place in report_places(report):
        to_terminal = place == STDOUT and stream().isatty()
        options = Options(
            terminal_width() if place == STDOUT else _FILE_WIDTH,
            use_color(output.color, to_terminal=to_terminal),
            verbose=output.verbose,
            quiet=output.quiet,
        )
        with ReportOutput(place, readable=name in READ_BY_OTHERS) as written:
            written.finish(RENDERERS[name](result, options))


def code_of(result: BenchResult) -> int:
    """The exit code of a measurement: 1 for a regression, 4 if too few runs counted for a
    conclusion. A path that is slower than another is not a regression, because nothing was changed.
    With several arms there is no decision: then any primary comparison that regressed and is
    significant after Holm's correction counts."""
    if result.decision is not None:
        invalid = result.decision.verdict == "invalid"
        regressed = result.decision.verdict == "regressed"
    else:
        counted = {(one.workload, one.arm) for one in result.samples if one.valid}
        wanted = {(one.id, arm) for one in result.workloads for arm in result.arms if one.primary}
        invalid = not wanted <= counted
        regressed = any(
            one.primary and one.verdict == "regressed" and one.effect is not None
            and one.effect.p_holm <= max(result.run.alphas)
            for one in result.results
        )  # fmt: skip
    if invalid:
        return EndpointError.exit_code
    return _REGRESSED if regressed and result.run.design != "paths" else 0


def runs_words(terms: MeasurementTerms) -> tuple[str, str]:
    """How many runs tell where speed is lost, and the same if there are too few; of both, one is
    empty, or both if there are no steps."""
    rows, steps = terms.profile.comparisons, len(list(steps_of(terms.arms)))
    if terms.terms.design != "paths" or not steps or not rows:
        return "", ""
    runs, needed = terms.terms.looks[-1], runs_needed(terms.arms, rows, terms.terms.alphas[-1])
    among = f"among {count(rows, 'row')} of {count(steps, 'step')}"
    if runs >= needed:
        return f"{needed} runs of each path tell a loss in one row from chance, {among}", ""
    return "", (
        f"with {count(runs, 'run')} of each path, a loss in one row alone cannot be told from "
        f"chance, {among}: that needs {needed} (--repeats)"
    )
