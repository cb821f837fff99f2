"""How a measurement goes on, on standard error: a line that rewrites itself on a terminal; with
``--verbose``, a line for each run anywhere."""

from __future__ import annotations

import sys

from vnicaudit.bench.judging.reasons import amount
from vnicaudit.bench.metrics import METRICS
from vnicaudit.cli.telling import show
from vnicaudit.model.measurement import Sample, Workload
from vnicaudit.reports.safe import safe

_MINUTE, _HOUR = 60, 3600


class BenchProgress:
    """Listens to a measurement. It writes between runs only, never while one runs."""

    def __init__(self, *, quiet: bool, verbose: bool) -> None:
        self._quiet = quiet
        self._verbose = verbose
        self._terminal = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._visible = False
        self._runs = 0

    def begins(self, seconds: float) -> None:
        """Say how long it will take: who waits wants to know."""
        if not self._quiet and seconds >= _MINUTE:
            self.says(f"about {duration(seconds)} of measuring")

    def runs(self, workload: Workload, arm: str, left: float) -> None:
        """Show what is run now."""
        self._runs += 1
        if self._terminal:
            text = f"run {self._runs}: {workload.id}, {arm}; about {duration(left)} left"
            show(f"\r\x1b[K{safe(text)}")
            self._visible = True

    def sampled(self, sample: Sample) -> None:
        """Show what came of it."""
        if self._verbose and not self._quiet:
            self._line(f"{sample.arm}: {sample.workload}: {outcome(sample)}")

    def says(self, text: str) -> None:
        """A line of its own."""
        if not self._quiet:
            self._line(text)

    def clear(self) -> None:
        """Take the line away before results are printed."""
        if self._visible:
            show("\r\x1b[K")
            self._visible = False

    def _line(self, text: str) -> None:
        self.clear()
        show(f"{safe(text)}\n")


def outcome(sample: Sample) -> str:
    """What one run came to, in a line."""
    if not sample.valid:
        return f"does not count: {sample.reason}"
    shown = [name for name in METRICS if name in sample.values][:3]
    return ", ".join(
        f"{METRICS[name].title} {amount(sample.values[name], METRICS[name].unit)}" for name in shown
    )


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``2 h 5 min``."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    hours, rest = divmod(round(seconds), _HOUR)
    minutes = round(rest / _MINUTE)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
