"""Names of designs, verdicts, metrics and workloads in reports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

import msgspec
from msgspec.structs import asdict, replace

from vnicaudit.base.wording import count
from vnicaudit.bench.metrics import METRICS, digits, quantity
from vnicaudit.model.measurement import BenchResult, Comparison, Path, Workload


def percent(value: float) -> str:
    """A share: ``83.0 %``."""
    return f"{digits(value)} %"


def size(count: int) -> str:
    """Size of a message: ``64 KiB``, ``200 B``."""
    for factor, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor and count % factor == 0:
            return f"{count // factor} {unit}"
    return f"{count:,} B"


_MINUTE, _HOUR = 60, 3600


def duration(seconds: float) -> str:
    """``40 s``, ``7 min 12 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min" + (f" {whole % _MINUTE} s" if whole % _MINUTE else "")
    hours, minutes = divmod(round(seconds / _MINUTE), _MINUTE)
    return f"{hours} h" + (f" {minutes} min" if minutes else "")


class DesignWords(NamedTuple):
    """``means``: how the runs were ordered, and what influence of that remains in the numbers."""

    name: str
    means: str


DESIGNS = {
    "single": DesignWords("single", "one arm: nothing is compared"),
    "paths": DesignWords("paths", "paths side by side, in random order"),
    "live-flip": DesignWords(
        "live flip", "a command in the guest switches between the arms, in random order"
    ),
    "flips": DesignWords("flips", "the change is made and undone repeatedly, in turns"),
    "boots": DesignWords(
        "boots",
        "the change is made and undone by power cycles, in turns; a sample is a boot",
    ),
    "single-flip": DesignWords(
        "single flip",
        "all runs before the change, then all after it: drift and the difference between two boots "
        "are part of every number, so they are not judged",
    ),
}
"""``Design`` -> its words."""

STYLES = {
    "improved": "good", "equivalent": "fix", "not-worse": "fix", "regressed": "bad",
    "inconclusive": "medium", "at-ceiling": "low", "generator-limited": "medium",
    "not-judged": "name", "invalid": "bad", "ok": "good", "failed": "bad", "unknown": "medium",
}  # fmt: skip
"""Verdicts, including those of guard rails -> their colour style
(:mod:`vnicaudit.reports.safe`)."""

WORDS = {
    "improved": "better", "equivalent": "no difference", "not-worse": "not worse",
    "regressed": "worse", "inconclusive": "undecided", "at-ceiling": "no difference",
    "generator-limited": "undecided", "not-judged": "not judged", "invalid": "not measured",
}  # fmt: skip
"""``Verdict`` -> its one name in all reports for people; a word of another version is its own."""

MEANINGS = {
    "improved": "better, beyond chance",
    "equivalent": "within the margins both ways",
    "not-worse": "harm beyond the margin is excluded",
    "regressed": "worse, beyond chance",
    "inconclusive": "the runs do not decide it",
    "at-ceiling": "both fill the line: throughput cannot tell",
    "generator-limited": "the generator was the limit",
    "not-judged": "one change: drift and the difference between two boots are in every number",
    "invalid": "too few valid runs",
}
"""``Verdict`` -> its meaning, as the end of a sentence."""

ACTIONS = {"keep": "keep the change", "roll-back": "roll the change back", "none": ""}
"""``Decision.action`` -> what to do."""
DONE = {
    "kept": "the change was kept",
    "rolled-back": "the change was rolled back",
    "not-rolled-back": "the change should have been rolled back, but could not be",
}
"""``Decision.done`` -> what was done."""

_METRICS = {
    "packet_rate": "packets", "query_rate": "queries", "transaction_rate": "requests",
    "connection_rate": "new connections",
    "latency_mean": "latency mean", "latency_p50": "latency p50", "latency_p99": "latency p99",
    "latency_p999": "latency p99.9", "latency_max": "latency max",
    "target_cpu": "target CPU used", "peer_cpu": "peer CPU used",
    "host_cpu_per_gbit": "host CPU", "target_cpu_per_gbit": "target CPU",
    "peer_cpu_per_gbit": "peer CPU", "host_cpu_per_transaction": "host CPU/req",
    "target_cpu_per_transaction": "target CPU/req", "peer_cpu_per_transaction": "peer CPU/req",
}  # fmt: skip
DIRECTIONS = {"tx": "the target sends", "rx": "the target receives", "both": "both ways"}

_FILLS = {"rx": "towards", "tx": "from"}
"""Option ``fill`` of rr -> direction, seen from the target."""


_BIT_RATES = ("tcp", "udp")
"""Patterns whose offered load is in bit/s."""


def verdict_words(comparison: Comparison) -> str:
    """The verdict on a comparison in words: ``not worse``."""
    return word_of(comparison.verdict, [comparison])


def word_of(verdict: str, comparisons: Iterable[Comparison]) -> str:
    """A verdict in words. ``comparisons``: those that it rests on; if they have values of both
    arms, too few of them count."""
    measured = [each.before is not None and each.after is not None for each in comparisons]
    if verdict == "invalid" and measured and all(measured):
        return "too few runs"
    return WORDS.get(verdict, verdict)


def metric_words(metric: str) -> str:
    """A short name for a table's row; metrics of another version keep the name in the file."""
    return _METRICS.get(metric, metric)


def metric_title(metric: str) -> str:
    """The full name of a metric, for headings."""
    known = METRICS.get(metric)
    return metric if known is None else known.title


def describe(workload: Workload) -> str:
    """``iperf3 tcp, the target sends, 1 connection, 64 KiB``."""
    parts = [f"{workload.engine} {workload.pattern}", DIRECTIONS[workload.direction]]
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
    if workload.options.get("fill") in _FILLS:
        parts.append(f"while a stream fills the path {_FILLS[workload.options['fill']]} the target")
    return ", ".join(parts)


_HERE = "?connect=qemu:///system"
"""Query that changes nothing about the meaning of an endpoint's URL."""


def with_guest_names(result: BenchResult) -> BenchResult:
    """The measurement with the name of each guest instead of its UUID in all texts for people."""
    names = {
        path.domain: path.guest
        for path in result.paths
        if path.domain and path.guest and path.domain != path.guest
    }
    if not names:
        return result

    def renamed(value: object) -> object:
        """A value with names in each of its texts."""
        if isinstance(value, str):
            for domain, guest in names.items():
                value = value.replace(f"{domain}{_HERE}", guest).replace(domain, guest)
            return value
        if isinstance(value, tuple):
            return tuple(map(renamed, value))
        if isinstance(value, dict):
            return {key: renamed(each) for key, each in value.items()}
        if isinstance(value, msgspec.Struct):
            return replace(value, **{key: renamed(each) for key, each in asdict(value).items()})
        return value

    return cast("BenchResult", renamed(result))


_CHANGES = ("flips", "boots", "single-flip")


def guest_of(path: Path) -> str:
    """The name by which an operator knows a path's target."""
    if path.guest:
        return path.guest
    scheme, _, rest = path.target.partition("://")
    return rest.partition("?")[0].rpartition("@")[2] or scheme


def nic_of(result: BenchResult, arm: str) -> str | None:
    """The NIC in that arm; None if it is not known."""
    return next((path.nic for path in result.paths if path.name == arm), None)


def change_words(result: BenchResult, arm: str) -> str:
    """``rtl8139 → virtio``; ``four against one`` if arms have names of their own."""
    first = result.arms[0]
    nics = nic_of(result, first), nic_of(result, arm)
    if result.run.design in _CHANGES and None not in nics and nics[0] != nics[1]:
        return f"{nics[0]} → {nics[1]}"
    return f"{arm} against {first}"
