"""PerfKitBenchmarker's samples: newline-delimited JSON, one line per run and metric.

The keys are those of its ``Sample`` (``metric``, ``value``, ``unit``, ``metadata``, ``timestamp``:
perfkitbenchmarker/sample.py) and those added by its collector (``product_name``, ``test``,
``run_uri``, ``sample_uri``: perfkitbenchmarker/publisher.py). Runs that do not count are left out,
because a reader of the file would average them.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.clock import moment
from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import BenchResult, Sample, Workload
from vnicaudit.reports.encode import encode
from vnicaudit.reports.writer import Options

FORMAT = "perfkit"
SUMMARY = "PerfKitBenchmarker samples, newline-delimited JSON"


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The lines of one run at a time. Options have no effect."""
    del options
    workloads = {workload.id: workload for workload in result.workloads}
    for sample in result.samples:
        if sample.valid:
            about = _metadata(result, workloads[sample.workload], sample)
            yield "".join(_line(result, sample, metric, about) for metric in sample.values)


def _line(result: BenchResult, sample: Sample, metric: str, about: dict[str, object]) -> str:
    known = METRICS.get(metric)
    document = {
        "metric": metric,
        "value": sample.values[metric],
        "unit": known.unit if known is not None else "",
        "metadata": about,
        "timestamp": _seconds(sample.started),
        "product_name": result.run.tool,
        "test": result.run.profile,
        "run_uri": result.run.id,
        "sample_uri": f"{result.run.id}-{sample.order}-{metric}",
    }
    return f"{encode(document)}\n"


def _metadata(result: BenchResult, workload: Workload, sample: Sample) -> dict[str, object]:
    """Labels that distinguish samples. Labels without a value are left out."""
    found: dict[str, object] = {
        "workload": workload.id,
        "engine": workload.engine,
        "pattern": workload.pattern,
        "direction": workload.direction,
        "connections": workload.connections,
        "generators": workload.generators,
        "size": workload.size,
        "rate": workload.rate,
        "state": workload.state or None,
        "arm": sample.arm,
        "block": sample.block,
        "order": sample.order,
        "boot": sample.boot or None,
        "design": result.run.design,
        "seed": result.run.seed,
        **{f"label_{name}": value for name, value in result.run.labels.items()},
    }
    return {name: value for name, value in found.items() if value is not None}


def _seconds(text: str) -> float | None:
    """Unix time; None if the text is not in RFC 3339 format."""
    try:
        return moment(text).timestamp()
    except (ValueError, OverflowError):
        return None
