"""Our own generator: requests and answers, or a stream, over TCP, with the latency of each request.

The server runs at the target, the client at the peer; the names of patterns, and which way a
stream goes: ``_patterns.py``. What is counted, and how: docs/decisions/0007-own-generator.md.

Options: ``workers`` (processes at each end; without it one per CPU, at most one per connection),
``port`` (of the server, for firewalls; without it the system's choice).
"""

from __future__ import annotations

from vnicaudit.bench.contract import Ends, Measured, Needs
from vnicaudit.bench.engines._patterns import Pattern, Patterns
from vnicaudit.bench.engines._rr.checks import checked, messages
from vnicaudit.bench.engines._rr.command import Runs, run_pair
from vnicaudit.bench.engines._rr.places import PYTHON
from vnicaudit.bench.engines._rr.report import Report, error_of, received, report_of
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran, Workload

PATTERNS = Patterns(
    rr=(
        "transaction_rate", "latency_mean", "latency_p50", "latency_p99", "latency_p999",
        "latency_max", "goodput",
    ),
    stream=("goodput",),
)  # fmt: skip
"""rr1c's ``goodput`` is the payload of requests and answers together."""

_LIMIT = 0.95
"""Share of the time at which a worker is taken to be the bottleneck itself: that it had a CPU, or
waited for one (both ends on one machine share its CPUs)."""
_LATE = 0.02
"""Share of what was to be offered that may go out late."""


def needs(workload: Workload) -> Needs:  # noqa: ARG001
    """Python at both ends."""
    return Needs(target=(PYTHON,), peer=(PYTHON,))


def check(workload: Workload) -> None:
    """Raises UsageError where this cannot be run as written."""
    checked(workload)


def measure(workload: Workload, ends: Ends) -> Measured:
    """One run."""
    pattern = checked(workload)
    runs = run_pair(workload, pattern, ends)
    raw = tuple(ran for ran in (runs.client, runs.server) if ran is not None)
    try:
        return measured(workload, pattern, _report(runs, pattern), raw)
    except MeasureError as error:
        return Measured(error=str(error), raw=raw)


def measured(
    workload: Workload, pattern: Pattern, report: Report, raw: tuple[Ran, ...]
) -> Measured:
    """What a report says, in the metrics' units."""
    carried = received(report, pattern)
    answered = report.latencies.total
    sides = (*report.client, *report.server)
    values = {"goodput": carried * 8 / workload.seconds}
    if pattern.mode == "rr":
        values |= {"transaction_rate": answered / workload.seconds, **_latencies(report)}
    return Measured(
        values=values,
        details=_details(report),
        seconds=workload.seconds,
        bytes=carried,
        transactions=answered if pattern.mode == "rr" else None,
        generator_cpu=100 * max(side.cpu for side in sides),
        generator_limited=max(side.cpu + side.wait for side in sides) >= _LIMIT
        or _too_late(workload, pattern, report),
        histogram=report.latencies.encode() if pattern.mode == "rr" else None,
        raw=raw,
    )


def _report(runs: Runs, pattern: Pattern) -> Report:
    if runs.client is None:
        raise MeasureError(f"the generator's server did not start{_reason(runs.server)}")
    if runs.client.code is None:
        raise MeasureError("the generator's client did not end in time")
    if not runs.client.stdout and runs.client.code:
        raise MeasureError(f"the generator's client failed{_reason(runs.client)}")
    return report_of(runs.client.stdout, pattern)


def _reason(ran: Ran) -> str:
    """What a program said before it failed, as the end of a sentence."""
    said = error_of(ran.stdout) or (ran.stderr.strip().splitlines() or [""])[-1]
    return f": {said[:200]}" if said else ""


def _latencies(report: Report) -> dict[str, float]:
    """Microseconds. Mean and largest are exact, percentiles to three digits."""
    latencies = report.latencies
    return {
        "latency_mean": sum(side.sum for side in report.client) / latencies.total / 1000,
        "latency_p50": latencies.value_at_percentile(50) / 1000,
        "latency_p99": latencies.value_at_percentile(99) / 1000,
        "latency_p999": latencies.value_at_percentile(99.9) / 1000,
        "latency_max": max(side.max for side in report.client) / 1000,
    }


def _details(report: Report) -> dict[str, str | float | int | bool | None]:
    return {
        "client_workers": len(report.client),
        "server_workers": len(report.server),
        "client_cpu": 100 * max(side.cpu for side in report.client),
        "server_cpu": 100 * max(side.cpu for side in report.server),
        "client_wait": 100 * max(side.wait for side in report.client),
        "server_wait": 100 * max(side.wait for side in report.server),
        "late": sum(side.late for side in (*report.client, *report.server)),
        "waiting": sum(side.waiting for side in report.client),
        "waiting_longest_us": 1e6 * max(side.oldest for side in report.client),
    }


def _too_late(workload: Workload, pattern: Pattern, report: Report) -> bool:
    """Whether requests went out late though connections were free; a stream catches up."""
    if pattern.mode != "rr":
        return False
    late = sum(side.late for side in (*report.client, *report.server))
    return late > _LATE * messages(workload, pattern) * workload.seconds
