"""What designs, verdicts, metrics and workloads are called in reports."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.bench.metrics import METRICS
from vnicaudit.model.measurement import Decision, Workload
from vnicaudit.reports.bench.words.quantity import quantity, size
from vnicaudit.reports.wording import count


class DesignWords(NamedTuple):
    """``means``: how the runs were ordered, and what that leaves in the numbers."""

    name: str
    means: str


DESIGNS = {
    "single": DesignWords("single", "one arm: nothing is compared"),
    "paths": DesignWords("paths", "paths side by side, in random order"),
    "live-flip": DesignWords(
        "live flip", "a command in the guest switches between the arms, in random order"
    ),
    "flips": DesignWords("flips", "the change is made and taken back again and again, in turns"),
    "boots": DesignWords(
        "boots",
        "the change is made and taken back by power cycles, in turns; a sample is a boot",
    ),
    "shadow": DesignWords("shadow NIC", "the candidate beside the old NIC, in random order"),
    "single-flip": DesignWords(
        "single flip",
        "all runs before the change, then all after it: drift and the difference between two boots "
        "are part of every effect, so only an effect larger than both is decided",
    ),
}
"""``Design`` -> its words."""

STYLES = {
    "improved": "good", "equivalent": "fix", "not-worse": "fix", "regressed": "bad",
    "inconclusive": "medium", "at-ceiling": "low", "generator-limited": "medium",
    "invalid": "bad", "ok": "good", "failed": "bad", "unknown": "medium",
}  # fmt: skip
"""Verdicts, those of guard rails too -> what colours them (:mod:`vnicaudit.reports.paint`)."""

MEANINGS = {
    "improved": "better, by more than the margin",
    "equivalent": "within the margins both ways",
    "not-worse": "harm beyond the margin is excluded",
    "regressed": "worse, by more than the margin",
    "inconclusive": "the runs do not decide it",
    "at-ceiling": "both fill the line: throughput cannot tell",
    "generator-limited": "what was measured is the generator",
    "invalid": "too few runs that count",
}
"""``Verdict`` -> what it says, as the end of a sentence."""

ACTIONS = {"keep": "keep the change", "roll-back": "take the change back", "none": ""}
"""What is to be done."""
DONE = {
    "kept": "the change was kept",
    "rolled-back": "the change was taken back",
    "not-rolled-back": "the change was to be taken back, and could not be",
}
"""What was done in fact."""

_METRICS = {
    "packet_rate": "packets", "query_rate": "queries", "transaction_rate": "requests",
    "latency_mean": "latency mean", "latency_p50": "latency p50", "latency_p99": "latency p99",
    "latency_p999": "latency p99.9", "latency_max": "latency max",
    "host_cpu_per_gbit": "host CPU", "target_cpu_per_gbit": "target CPU",
    "peer_cpu_per_gbit": "peer CPU", "host_cpu_per_transaction": "host CPU/req",
    "target_cpu_per_transaction": "target CPU/req", "peer_cpu_per_transaction": "peer CPU/req",
}  # fmt: skip
_DIRECTIONS = {"tx": "the target sends", "rx": "the target receives", "both": "both ways"}

_BIT_RATES = ("tcp", "udp")
"""Patterns whose offered load is in bit/s."""


def verdict_words(verdict: str) -> str:
    """``not worse``."""
    return verdict.replace("-", " ")


def metric_words(metric: str) -> str:
    """Short, for a table's row; a metric of another version is called what the file calls it."""
    return _METRICS.get(metric, metric)


def metric_title(metric: str) -> str:
    """In full, for headings."""
    known = METRICS.get(metric)
    return metric if known is None else known.title


def describe(workload: Workload) -> str:
    """``iperf3 tcp, the target sends, 1 connection, 64 KiB``."""
    parts = [f"{workload.engine} {workload.pattern}", _DIRECTIONS[workload.direction]]
    parts.append(count(workload.connections, "connection"))
    if workload.generators != 1:
        parts.append(count(workload.generators, "generator"))
    if workload.size is not None:
        parts.append(size(workload.size))
    if workload.rate is not None:
        unit = "bit/s" if workload.pattern in _BIT_RATES else "1/s"
        parts.append(f"offered {quantity(workload.rate, 'offered', unit)}")
    if workload.state:
        parts.append(f"server {workload.state}")
    return ", ".join(parts)


def decided(decision: Decision) -> str:
    """``improved: keep the change``; once it is done, what was done."""
    action = ACTIONS[decision.action] if decision.done is None else DONE[decision.done]
    return verdict_words(decision.verdict) + (f": {action}" if action else "")
