"""The Go benchmark format, for a second opinion from benchstat.

Format: golang.org/design/14313-benchmark-format and golang.org/x/perf/benchfmt (reader.go,
units.go). One line per run; ``Unit … better=…`` says which direction is better. Both arms are in
one file, distinguished by the file configuration ``arm:``; ``benchstat -col arm FILE`` compares
them. If a single arm is selected, ``arm:`` is left out, since ``benchstat before.txt after.txt``
compares only results with the same configuration. Everything else that differs between measurements
is therefore in comments. A line has one value of each metric, as used in comparisons: the value of
a run, or, if all runs between two changes form one value (boots, flips), that value. Runs that do
not count are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from vnicaudit.bench.metrics import METRICS
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult, Better
from vnicaudit.reports.bench.tables.rows import Values, values_that_count
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writer import Options

FORMAT = "gobench"
SUMMARY = "Go benchmark format: benchstat -col arm FILE"


class _Unit(NamedTuple):
    """Unit of a metric, different for each metric of a run. benchstat converts ``ns`` to seconds
    (golang.org/x/perf/benchunit/tidy.go), so our microseconds are written as ns."""

    name: str
    factor: float = 1.0


_UNITS = {
    "goodput": _Unit("bits/s"),
    "packet_rate": _Unit("packets/s"),
    "query_rate": _Unit("queries/s"),
    "transaction_rate": _Unit("transactions/s"),
    "connection_rate": _Unit("connections/s"),
    "latency_mean": _Unit("mean-ns", 1000.0),
    "latency_p50": _Unit("p50-ns", 1000.0),
    "latency_p99": _Unit("p99-ns", 1000.0),
    "latency_p999": _Unit("p99.9-ns", 1000.0),
    "latency_max": _Unit("max-ns", 1000.0),
    "loss": _Unit("%lost"),
    "target_cpu": _Unit("target-%cpu"),
    "peer_cpu": _Unit("peer-%cpu"),
    "host_cpu_per_gbit": _Unit("host-cpu-ns/Gbit", 1000.0),
    "target_cpu_per_gbit": _Unit("target-cpu-ns/Gbit", 1000.0),
    "peer_cpu_per_gbit": _Unit("peer-cpu-ns/Gbit", 1000.0),
    "host_cpu_per_transaction": _Unit("host-cpu-ns/transaction", 1000.0),
    "target_cpu_per_transaction": _Unit("target-cpu-ns/transaction", 1000.0),
    "peer_cpu_per_transaction": _Unit("peer-cpu-ns/transaction", 1000.0),
}


def render(result: BenchResult, options: Options, arm: str | None = None) -> Iterator[str]:
    """The file. ``arm``: write only this arm. Raises UsageError if there is no such arm."""
    del options
    if arm is not None and arm not in result.arms:
        raise UsageError(f"no arm {arm!r}; there are {', '.join(result.arms)}")
    run, values = result.run, values_that_count(result)
    yield f"# {safe(run.tool)} bench {safe(run.id)}, design {run.design}, seed {run.seed}\n"
    for metric in dict.fromkeys(metric for _, metric, _ in values):
        yield f"Unit {_unit(metric).name} better={_better(metric)}\n"
    for name in result.arms if arm is None else (arm,):
        if arm is None:
            yield f"arm: {_field(name)}\n"
        for workload in result.workloads:
            yield from _lines(workload.id, _columns(values, workload.id, name))


def _columns(values: Values, workload: str, arm: str) -> dict[str, tuple[float, ...]]:
    """Metric -> its values."""
    return {key[1]: found for key, found in values.items() if (key[0], key[2]) == (workload, arm)}


def _lines(workload: str, columns: dict[str, tuple[float, ...]]) -> Iterator[str]:
    """``BenchmarkIperf3.tcp.tx.c1.64k 1 7810000000.0 bits/s``."""
    name = _field(workload)
    for row in zip_longest(*columns.values()):
        values = " ".join(
            f"{value * _unit(metric).factor!r} {_unit(metric).name}"
            for metric, value in zip(columns, row, strict=True)
            if value is not None
        )
        yield f"Benchmark{name[:1].upper()}{name[1:]} 1 {values}\n"


def _unit(metric: str) -> _Unit:
    return _UNITS.get(metric) or _Unit(_field(metric))


def _better(metric: str) -> Better:
    known = METRICS.get(metric)
    return "higher" if known is None else known.better


def _field(text: str) -> str:
    """The text as one field of a line: without spaces, and not empty."""
    return "_".join(safe(text).split()) or "_"
