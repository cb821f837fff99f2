"""DNS queries by dnsperf, to the DNS server that the target runs already.

Patterns: ``max``, as fast as answers come back; ``capacity``, the highest rate at which at most
0.5 % of the queries get no answer, by search; ``rate``, the latency of answers at a fixed rate.

dnsperf has so many places for outstanding queries (-q). If nearly all were taken all the time,
queries that it did not send count as not answered; otherwise the limit was its own, and shows
nothing about the target (seen with 2.10: 97 % to 100 % beyond the server's limit, below 60 % else).
Its exit code is 0 even with every query lost: only complete statistics with answers count.
Latencies exclude lost queries, so they are reported with the loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vnicaudit.bench.contract import Ends, Measured, Needs, RequiredTool, Transport, failed_run
from vnicaudit.bench.engines import _dnsperf_options as options
from vnicaudit.bench.engines._dnsperf_batch import (
    HISTOGRAM,
    DnsperfBatch,
    DnsperfJob,
    extended_options,
    must_answer,
    percentile,
)
from vnicaudit.bench.search import LoadTrial, SearchLimits, search
from vnicaudit.errors import EndpointError, MeasureError, UsageError
from vnicaudit.model.measurement import Workload

_LATENCIES = ("latency_mean", "latency_p50", "latency_p99", "latency_p999", "latency_max")

PATTERNS: Mapping[str, tuple[str, ...]] = {
    "max": ("query_rate", *_LATENCIES, "loss"),
    "capacity": ("query_rate",),
    "rate": (*_LATENCIES, "loss", "query_rate"),
}

_PERCENTILES = {"latency_p50": 0.5, "latency_p99": 0.99, "latency_p999": 0.999}
_OFFERED = 0.98
_BUSY = 95.0
"""Per cent of one CPU from which a thread is the limit."""


def needs(workload: Workload) -> Needs:
    """dnsperf at the peer, for every workload (for RHEL it is in EPEL)."""
    del workload
    return Needs(peer=(RequiredTool("dnsperf", {"apt": "dnsperf", "dnf": "dnsperf"}),))


def check(workload: Workload) -> None:
    """Raises UsageError if dnsperf cannot run the workload."""
    if workload.pattern not in PATTERNS:
        known = ", ".join(PATTERNS)
        raise UsageError(
            f"workload {workload.id}: dnsperf has no pattern {workload.pattern!r}: {known}"
        )
    options.check_shape(workload, options.options_of(workload))


def prepare(workload: Workload, ends: Sequence[Ends]) -> str:
    """Nothing is brought. Raises EndpointError if it is judged by percentiles, and dnsperf at a
    peer reports none (before 2.11): a run would not measure what decides."""
    wanted = [metric for metric in workload.decides if metric in _PERCENTILES]
    for peer in {each.peer.url: each.peer for each in ends}.values() if wanted else ():
        known = extended_options(peer)
        if "suppress" in known and HISTOGRAM not in known:  # else it is missing
            raise EndpointError(
                f"{workload.id} is judged by {', '.join(wanted)}, which dnsperf at {peer.url} does "
                "not report: it takes dnsperf 2.11 or newer, or a profile that decides by "
                "latency_mean"
            )
    return ""


def transport(workload: Workload) -> Transport:
    """That of the queries."""
    return options.options_of(workload).transport


def measure(workload: Workload, ends: Ends) -> Measured:
    """Run once, or search once."""
    job = DnsperfJob(workload, ends)
    try:
        if workload.pattern == "capacity":
            return _capacity(job)
        return _steady(job)
    except MeasureError as error:
        return failed_run(error, job.raw, job.details)


def _steady(job: DnsperfJob) -> Measured:
    """Patterns ``max`` and ``rate``: a warm-up, which does not count, and the run."""
    workload, count = job.workload, job.workload.generators
    rate = None if workload.rate is None else round(workload.rate / count)
    places = options.places(job.options, count, workload.rate)
    if workload.warmup:
        must_answer(job.run(options.Load(workload.warmup, rate, places), observed=False), job)
    job.completed = 0
    batch = job.run(options.Load(workload.seconds, rate, places), observed=True)
    must_answer(batch, job)
    job.details |= {
        "outstanding_taken": round(100 * batch.share_taken, 1),
        "offered": round(batch.total("sent") / batch.seconds, 1),
    }
    return Measured(
        values=_values(batch),
        details=job.details,
        seconds=max(one.seconds for one in batch.statistics),
        transactions=float(job.completed),
        generator_limited=_limited(batch, rate),
        raw=tuple(job.raw),
    )


def _limited(batch: DnsperfBatch, rate: int | None) -> bool:
    """True if dnsperf itself was the limit. Unthrottled, it either waits for answers or is the
    limit."""
    if rate is None:
        return not batch.held_back or (batch.busiest or 0) >= _BUSY
    short = batch.total("sent") < _OFFERED * rate * len(batch.statistics) * batch.seconds
    return short and not batch.held_back


def _values(batch: DnsperfBatch) -> dict[str, float]:
    completed = batch.total("completed")
    tails = {name: percentile(batch.statistics, share) for name, share in _PERCENTILES.items()}
    return {
        "query_rate": sum(one.rate for one in batch.statistics),
        "latency_mean": sum(one.completed * one.mean for one in batch.statistics) / completed,
        **{name: value for name, value in tails.items() if value is not None},
        "latency_max": max(one.most for one in batch.statistics),
        "loss": 100 * batch.total("lost_queries") / batch.total("sent"),
    }


def _capacity(job: DnsperfJob) -> Measured:
    """A run at full speed, and the search from the rate that was answered then."""
    first = _full_speed(job)
    latency = min(one.least for one in first.statistics) / 1e6
    rate = first.total("useful") / first.seconds
    limits = SearchLimits(timeout_s=float(job.options.search_seconds))
    found = search(lambda load, _: _trial(job, load, latency, limits), rate, limits=limits)
    job.details |= {
        "lower": found.lower,
        "upper": found.upper,
        "trials": len(found.trials),
        "search": found.reason,
    }
    if not found.complete or not found.lower:
        raise MeasureError(f"the search found no rate: {found.reason}")
    busy = (first.busiest or 0) >= _BUSY and found.rate >= _NEAR * rate
    return Measured(
        values={"query_rate": found.rate},
        details=job.details,
        transactions=float(job.completed),
        generator_limited=found.generator_limited or busy,
        raw=tuple(job.raw),
    )


_NEAR = 0.9
"""If the search ends this near to full speed, both had the same limit."""
_FULL_SPEED = 2.0
"""Minimum seconds for observing the busiest thread."""


def _full_speed(job: DnsperfJob) -> DnsperfBatch:
    places = options.places(job.options, job.workload.generators, None)
    load = options.Load(max(_FULL_SPEED, job.workload.warmup), None, places)
    batch = job.run(load, observed=True)
    must_answer(batch, job)
    return batch


def _trial(job: DnsperfJob, load: float, latency: float, limits: SearchLimits) -> LoadTrial:
    """One trial of the search; if waiting for answers limited the generators, everything counts as
    offered."""
    count = job.workload.generators
    places = options.places(job.options, count, load, latency)
    rate = max(round(load / count), 1)
    batch = job.run(options.Load(limits.trial_seconds, rate, places), observed=False)
    offered = batch.total("sent") / batch.seconds
    if batch.held_back:
        offered = max(offered, load)
    return LoadTrial(load, offered, batch.total("useful") / batch.seconds, batch.seconds)
