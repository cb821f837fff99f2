"""Samples and workloads that were never measured."""

from collections.abc import Sequence

from vnicaudit.bench.judging.terms import Terms
from vnicaudit.model.measurement import Covariates, Sample, Workload

TCP = Workload(id="tcp", engine="iperf3", pattern="tcp", decides=("goodput",))
RR = Workload(id="rr", engine="rr", pattern="rr1c-200x1000", decides=("latency_p99",))

QUICK = Terms(looks=(7,), alphas=(0.05,))
SMOKE = Terms(looks=(3,), alphas=(0.05,), catastrophe_only=True)
STEADY = (1.00, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998, 1.008, 0.992, 1.004)
"""Ten runs of a quiet network, as parts of their level."""


def sample(
    value: float | None = None, arm: str = "before", block: int = 0, **more: object
) -> Sample:
    """One run of TCP, unless it is said otherwise; ``value`` is its goodput."""
    made: dict[str, object] = {
        "workload": TCP.id,
        "arm": arm,
        "block": block,
        "order": 0,
        "started": "",
        "values": {} if value is None else {"goodput": value},
    }
    return Sample(**{**made, **more})  # type: ignore[arg-type]


def runs(
    arm: str,
    values: Sequence[float],
    workload: str = TCP.id,
    metric: str = "goodput",
    start: int = 0,
) -> list[Sample]:
    """One sample per value, in blocks of their own."""
    return [
        sample(arm=arm, block=place, order=start + place, workload=workload, values={metric: value})
        for place, value in enumerate(values)
    ]


def pair(
    before: Sequence[float],
    after: Sequence[float],
    workload: str = TCP.id,
    metric: str = "goodput",
) -> list[Sample]:
    """Both arms."""
    first = runs("before", before, workload, metric)
    return first + runs("after", after, workload, metric, len(before))


def steady(level: float, n: int = 10) -> list[float]:
    """Runs around a level, with about 0.6 % of noise."""
    return [level * STEADY[place % len(STEADY)] for place in range(n)]


def spoiled(arm: str, block: int, reason: str = "steal 4.1 %", limited: bool = False) -> Sample:
    """A run that does not count."""
    covariates = Covariates(generator_limited=limited)
    return sample(1.0, arm, block, valid=False, reason=reason, covariates=covariates)
