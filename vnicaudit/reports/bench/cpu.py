"""Paths side by side, with the CPU time of both ends: what each carried, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vnicaudit.bench.judging.statistics import median
from vnicaudit.bench.metrics import quantity
from vnicaudit.model.measurement import BenchResult, CpuParts, End, Sample, Workload
from vnicaudit.reports.bench.labels import describe
from vnicaudit.reports.bench.rows import NOT_MEASURED
from vnicaudit.reports.model import Cell, Group, ReportSection, Row, Table

_ENDS: tuple[End, ...] = ("target", "peer")


class _Column(NamedTuple):
    """``of``: the value of one run at one end, None if it was not measured."""

    head: str
    of: Callable[[Sample, End], float | None]


def parts_of(sample: Sample, end: End) -> CpuParts:
    """The parts of the CPU time at one end of a run."""
    cpu = sample.covariates.cpu
    return cpu.target_parts if end == "target" else cpu.peer_parts


def _machine(sample: Sample, end: End) -> float | None:
    cpu = sample.covariates.cpu
    return cpu.target if end == "target" else cpu.peer


def _steal(sample: Sample, end: End) -> float | None:
    covariates = sample.covariates
    return covariates.target_steal if end == "target" else covariates.peer_steal


def _per_gbit(sample: Sample, end: End) -> float | None:
    """Microseconds per Gbit of the machine, or of the cgroup if its machine is shared."""
    if (known := sample.values.get(f"{end}_cpu_per_gbit")) is not None:
        return known
    seconds, rate = sample.covariates.seconds, sample.values.get("goodput")
    spent = parts_of(sample, end).group
    return spent / (rate * seconds / 1e9) if spent is not None and rate and seconds else None


def _percent(of: Callable[[Sample, End], float | None]) -> Callable[[Sample, End], float | None]:
    """Per cent of one CPU."""

    def share(sample: Sample, end: End) -> float | None:
        spent, seconds = of(sample, end), sample.covariates.seconds
        return 100 * spent / (seconds * 1e6) if spent is not None and seconds else None

    return share


_MACHINE = _percent(_machine)
_SHARED = _percent(lambda sample, _end: sample.covariates.cpu.shared)
_COLUMNS = (
    _Column("cgroup", _percent(lambda sample, end: parts_of(sample, end).group)),
    _Column("machine", _MACHINE),
    _Column("softirq", _percent(lambda sample, end: parts_of(sample, end).softirq)),
    _Column("one CPU's", _percent(lambda sample, end: parts_of(sample, end).softirq_of_busiest)),
    _Column("steal", _steal),
    _Column("OVS", _percent(lambda sample, end: parts_of(sample, end).vswitch)),
    _Column("vhost", _percent(lambda sample, end: parts_of(sample, end).vhost)),
    _Column("µs/Gbit", _per_gbit),
)
_CAPTION = (
    "Target / peer: medians, % of one CPU (steal: of all); cgroup: what the container or session "
    "of the generator used; machine: the whole node (=: both ends are on it); one CPU's: softirq "
    "on the CPU with most of it; µs/Gbit: of the machine, or of the cgroup if both ends are on one"
)


def cpu_sections(result: BenchResult) -> Iterator[ReportSection]:
    """A table with a row for each path under its workload; nothing if no CPU time was measured, or
    arms are no paths. What no end could see is named, and has no column."""
    if result.run.design in ("paths", "single") and (table := _table(result)) is not None:
        yield ReportSection(title="CPU at both ends", tables=(table,))


def _table(result: BenchResult) -> Table | None:
    runs: dict[tuple[str, str], list[Sample]] = {}
    for sample in result.samples:
        if sample.valid:
            runs.setdefault((sample.workload, sample.arm), []).append(sample)
    seen = [each for each in _COLUMNS if any(_is_seen(each, of_it) for of_it in runs.values())]
    if all(each.of is _steal for each in seen):
        return None
    unseen = ", ".join(each.head for each in _COLUMNS if each not in seen)
    caption = _CAPTION + (f"; not measured at any end: {unseen}" if unseen else "")
    rows = []
    for workload in result.workloads:
        group: Group | None = Group(workload.id, describe(workload))
        for arm in (arm for arm in result.arms if (workload.id, arm) in runs):
            rows.append(Row((arm, *_cells(workload, runs[workload.id, arm], seen)), group))
            group = None
    heads = ("path", "carried", *(each.head for each in seen))
    return Table(caption, heads, tuple(rows), grouped_by="Workload")


def _is_seen(column: _Column, runs: Sequence[Sample]) -> bool:
    is_shared = column.of is _MACHINE and any(run.covariates.cpu.shared is not None for run in runs)
    return is_shared or any(column.of(run, end) is not None for run in runs for end in _ENDS)


def _cells(workload: Workload, runs: Sequence[Sample], columns: list[_Column]) -> Iterator[Cell]:
    metric = workload.decides[0] if workload.decides else "goodput"
    carried = [run.values[metric] for run in runs if metric in run.values]
    yield quantity(median(carried), metric) if carried else NOT_MEASURED
    both = _median([_SHARED(run, "target") for run in runs])
    for column in columns:
        ends = [_median([column.of(run, end) for run in runs]) for end in _ENDS]
        is_shared = column.of is _MACHINE and both != NOT_MEASURED
        yield f"= {both}" if is_shared else " / ".join(ends)


def _median(values: Sequence[float | None]) -> str:
    measured = [value for value in values if value is not None]
    return _short(median(measured)) if measured else NOT_MEASURED


def _short(value: float) -> str:
    """``640``, ``7.2``, ``0.03``, ``753k``: two digits or three, since nothing is decided on it."""
    if value >= 1000:
        return quantity(value, "target_cpu_per_gbit").removesuffix(" µs/Gbit")
    if value >= 10 or not value:
        return f"{value:.0f}"
    return f"{value:.2g}"
