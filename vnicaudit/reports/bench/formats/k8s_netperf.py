"""Documents as k8s-netperf writes them to its index, readable by its dashboards and by Orion.

A JSON array with one document per workload and arm. Keys are those of ``Doc`` in
github.com/cloud-bulldozer/k8s-netperf, pkg/archive/archive.go. Values that were not measured are
left out, where k8s-netperf would write 0. ``throughput`` and ``latency`` are means there, so they
are means here; ``confidence`` is the interval of the mean. In k8s-netperf the *client* sends, so
the target is the client if it sends, and the server otherwise. Facts without a key in k8s-netperf
(the arm, the direction, the workload's id) are under ``vnicaudit``. Other kinds of work than
streams and requests with answers (DNS, packet rates) have no profile there, and no document here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from vnicaudit.bench.judging.effect import t_quantile
from vnicaudit.model.measurement import BenchResult, Path, Sample, Workload
from vnicaudit.reports.bench.tables.rows import values_that_count
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import encode_items

FORMAT = "k8s_netperf"
SUMMARY = "documents of k8s-netperf's index"

_P99 = "latency_p99"


class _Rate(NamedTuple):
    """A metric, the end of the profile's name, its unit in k8s-netperf, and the divisor to get that
    unit."""

    metric: str
    profile: str
    unit: str
    factor: float


_RATES = (
    _Rate("goodput", "STREAM", "Mb/s", 1e6),
    _Rate("transaction_rate", "RR", "OP/s", 1.0),
    _Rate("connection_rate", "CRR", "OP/s", 1.0),
)


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The array, one document per line. Options have no effect."""
    del options
    values = values_that_count(result)
    runs: dict[tuple[str, str], list[Sample]] = {}
    for sample in result.samples:
        if sample.valid:
            runs.setdefault((sample.workload, sample.arm), []).append(sample)
    documents = [
        _document(result, workload, arm, rate, values[workload.id, rate.metric, arm])
        | _other_means(runs.get((workload.id, arm), ()))
        for workload in result.workloads
        for arm in result.arms
        for rate in _RATES
        if (workload.id, rate.metric, arm) in values
    ]
    items = f"\n{encode_items([_without_nulls(one) for one in documents])}\n" if documents else ""
    yield f"[{items}]\n"


def _without_nulls(document: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if value is not None}


def _document(
    result: BenchResult, workload: Workload, arm: str, rate: _Rate, values: Sequence[float]
) -> dict[str, object]:
    values = [value / rate.factor for value in values]
    return {
        "uuid": result.run.id,
        "timestamp": result.run.finished or result.run.started,
        **_work(workload, rate.profile),
        **_place(_path(result, arm), workload),
        "samples": len(values),
        "throughput": fmean(values),
        "tputMetric": rate.unit,
        "toolVersion": f"{result.run.tool} {result.run.version}",
        "confidence": _confidence(values),
        "serverCPUCollected": False,
        "clientCPUCollected": False,
        "vnicaudit": _own(result, workload, arm),
    }


def _work(workload: Workload, profile: str) -> dict[str, object]:
    protocol = "UDP" if workload.pattern.lower().startswith("udp") else "TCP"
    return {
        "hostNetwork": False,
        "driver": workload.engine,
        "parallelism": workload.connections,
        "profile": f"{protocol}_{profile}",
        "duration": round(workload.seconds),
        "service": False,
        "acrossAZ": False,
        "messageSize": workload.size,
        "ltcyMetric": "usec",
    }


def _place(path: Path | None, workload: Workload) -> dict[str, object]:
    if path is None:
        return {}
    target, peer = {"ip": path.address, "nodeName": path.target}, {"nodeName": path.peer}
    client, server = (target, peer) if workload.direction == "tx" else (peer, target)
    return {
        "local": path.same_host,
        "virt": path.domain is not None or path.hypervisor is not None,
        "metadata": {"mtu": path.mtu} if path.mtu is not None else None,
        "serverNodeInfo": server,
        "clientNodeInfo": client,
    }


def _path(result: BenchResult, arm: str) -> Path | None:
    """The path of the arm, or the only path."""
    named = [path for path in result.paths if path.name == arm]
    return next(iter(named or result.paths), None)


def _other_means(samples: Sequence[Sample]) -> dict[str, object]:
    """Means of the other values measured with the rate."""
    found = [sample.details.get("retransmits") for sample in samples]
    retransmits = [float(number) for number in found if isinstance(number, (int, float))]
    return {
        "latency": _mean([one.values[_P99] for one in samples if _P99 in one.values]),
        "tcpRetransmits": _mean(retransmits),
        "udpLossPercent": _mean([one.values["loss"] for one in samples if "loss" in one.values]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _confidence(values: Sequence[float]) -> list[float] | None:
    """The 95 % interval of the mean by Student's t, calculated as in k8s-netperf."""
    if len(values) < 2:
        return None
    reach = t_quantile(0.975, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return [fmean(values) - reach, fmean(values) + reach]


def _own(result: BenchResult, workload: Workload, arm: str) -> dict[str, object]:
    return {
        "arm": arm,
        "workload": workload.id,
        "pattern": workload.pattern,
        "direction": workload.direction,
        "generators": workload.generators,
        "state": workload.state,
        "design": result.run.design,
        "profile": result.run.profile,
        "labels": result.run.labels,
    }
