"""One run of one workload: a sample."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.bench.contract import Ends, Measured
from vnicaudit.bench.engine_registry import load
from vnicaudit.bench.facts.covariates import Limits, cost, why_invalid
from vnicaudit.bench.history import now
from vnicaudit.bench.readable import readable
from vnicaudit.bench.running.arms import Opened
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Covariates, Sample, Workload


class Place(NamedTuple):
    """Where a sample stands in the design."""

    block: int
    order: int


def take(workload: Workload, opened: Opened, place: Place, limits: Limits) -> Sample:
    """Run it once. What makes the sample invalid is never its value. Raises EndpointError where an
    end is lost."""
    started = now()
    opened.watch.begin()
    measured = run_once(workload, opened.ends)
    covariates = opened.watch.end(measured, workload.warmup)
    reason = measured.error or why_invalid(covariates, workload, limits) or _nothing(measured)
    return Sample(
        workload=workload.id,
        arm=opened.arm.name,
        block=place.block,
        order=place.order,
        boot=opened.boot,
        started=started,
        values={} if measured.error else _values(measured, covariates),
        details=measured.details,
        valid=not reason,
        reason=reason,
        covariates=covariates,
        histogram=measured.histogram,
        raw=measured.raw,
    )


def run_once(workload: Workload, ends: Ends) -> Measured:
    """What its engine says. What its tools print may be anything, and is at worst no measurement.
    Raises EndpointError where an end is lost."""
    try:
        with readable(f"what {workload.engine} printed"):
            return load(workload.engine).measure(workload, ends)
    except MeasureError as error:
        return Measured(error=str(error))


def _values(measured: Measured, covariates: Covariates) -> dict[str, float]:
    return {**measured.values, **cost(measured, covariates)}


def _nothing(measured: Measured) -> str:
    return "" if measured.values else "the engine measured nothing"
