"""Several targets under load at once: each run covers all of them.

Metrics of which higher is better are added up, and the lowest is a metric of its own; of metrics of
which lower is better, the worst target counts. The targets must be under load at the same time: one
that is measured when the others have ended says nothing about all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.base.waiting import LOOK
from vnicaudit.bench.contract import Ends, Measured, failed_run
from vnicaudit.bench.facts.attribution import cost
from vnicaudit.bench.facts.covariates import Watch
from vnicaudit.bench.facts.validity import Doubt, ValidityLimits, doubts
from vnicaudit.bench.metrics import LEAST, METRICS
from vnicaudit.bench.profiles.profile import SEARCHES, Profile
from vnicaudit.bench.profiles.registry import BenchPlugins
from vnicaudit.bench.readable import readable
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.errors import MeasureError, UsageError
from vnicaudit.model.measurement import Covariates, Workload

_LEAST_SHARE = 0.8
"""Share of a run's seconds during which all targets must be under load at the same time."""


class TakenRun(NamedTuple):
    """A run with its circumstances. ``measured``: its values include the costs; ``doubts``: why it
    does not count; ``failed``: with several targets, the index of the one that the result names as
    failed."""

    measured: Measured
    covariates: Covariates
    doubts: tuple[Doubt, ...]
    failed: int | None = None


def run_together(
    workload: Workload, opened: OpenedArm, limits: ValidityLimits, plugins: BenchPlugins
) -> TakenRun:
    """One run on the target and on those beside it. Raises EndpointError if an end is lost."""
    every = (opened, *opened.beside)
    for each in every:
        each.watch.begin()
    runs = at_once(lambda ends: run_once(workload, ends, plugins), [each.ends for each in every])
    taken = [
        _with_covariates(workload, run.measured, each.watch, limits)
        for each, run in zip(every, runs, strict=True)
    ]
    if len(taken) == 1:
        return taken[0]
    urls = [each.ends.target.url for each in every]
    return _as_one(taken, urls, tuple(apart(runs, workload)))


def _with_covariates(
    workload: Workload, measured: Measured, watch: Watch, limits: ValidityLimits
) -> TakenRun:
    covariates = watch.end(measured, workload.warmup)
    against = _doubts(measured, covariates, workload, limits)
    return TakenRun(replace(measured, values=_values(measured, covariates)), covariates, against)


def _as_one(taken: Sequence[TakenRun], urls: Sequence[str], apart: tuple[Doubt, ...]) -> TakenRun:
    limited = any(each.covariates.generator_limited for each in taken)
    against = doubts_of_all([each.doubts for each in taken], urls)
    return TakenRun(
        together([each.measured for each in taken], urls),
        replace(taken[0].covariates, generator_limited=limited),
        (*against, *apart),
        next((place for place, each in enumerate(taken) if is_failed(each.measured)), None),
    )


def is_failed(measured: Measured) -> bool:
    """True if the run failed."""
    return bool(measured.error) or not measured.values


def run_once(workload: Workload, ends: Ends, plugins: BenchPlugins) -> Measured:
    """Run a workload once by its engine. Unexpected output of its tools is at worst a failed
    measurement. Raises EndpointError if an end is lost."""
    try:
        with readable(f"what {workload.engine} printed"):
            return plugins.engines.load(workload.engine).measure(workload, ends)
    except MeasureError as error:
        return failed_run(error)


def _values(measured: Measured, covariates: Covariates) -> dict[str, float]:
    if measured.error or not measured.values:
        return {}
    return {**measured.values, **cost(measured, covariates)}


def _doubts(
    measured: Measured, covariates: Covariates, workload: Workload, limits: ValidityLimits
) -> tuple[Doubt, ...]:
    """Why the run does not count: its failure, or else its circumstances."""
    if measured.error:
        return (Doubt("error", measured.error),)
    found = doubts(covariates, workload, limits)
    if not found and not measured.values:
        return (Doubt("nothing-measured", "the engine measured nothing"),)
    return found


class RunOfOne(NamedTuple):
    """``end_time``: seconds of the monotonic clock when the result was known."""

    measured: Measured
    end_time: float


def at_once(run: Callable[[Ends], Measured], every: Sequence[Ends]) -> list[RunOfOne]:
    """Run it on all ends at the same time. Raises EndpointError if one of them is lost, after all
    others have ended; if this is interrupted, closing a session ends everything that runs in it."""

    def timed(ends: Ends) -> RunOfOne:
        return RunOfOne(run(ends), time.monotonic())

    if len(every) == 1:
        return [timed(every[0])]
    with ThreadPoolExecutor(len(every)) as pool:
        running = [pool.submit(timed, ends) for ends in every]
        interrupted = True
        try:
            while wait(running, LOOK).not_done:
                continue
            interrupted = False
        finally:
            for ends in every if interrupted else ():
                ends.target.close()
                ends.peer.close()
        return [each.result() for each in running]


def together(all_measured: Sequence[Measured], urls: Sequence[str]) -> Measured:
    """One result of all targets; if some failed, the error of the first of them."""
    raw = tuple(ran for each in all_measured for ran in each.raw)
    for measured, url in zip(all_measured, urls, strict=True):
        if is_failed(measured):
            why = measured.error or "the engine measured nothing"
            return replace(measured, values={}, error=f"{url}: {why}", raw=raw)
    details = dict(all_measured[0].details)
    for measured, url in zip(all_measured, urls, strict=True):
        details |= {f"{name} of {url}": value for name, value in measured.values.items()}
    values = dict(_combined([each.values for each in all_measured]))
    return replace(all_measured[0], values=values, details=details, histogram=None, raw=raw)


def _combined(values: Sequence[dict[str, float]]) -> Iterator[tuple[str, float]]:
    for name in values[0]:
        each = [one[name] for one in values if name in one]
        if len(each) < len(values) or name not in METRICS:
            continue
        if METRICS[name].better == "lower":
            yield name, max(each)
            continue
        yield name, sum(each)
        if f"{name}{LEAST}" in METRICS:
            yield f"{name}{LEAST}", min(each)


def doubts_of_all(against: Sequence[Sequence[Doubt]], urls: Sequence[str]) -> Iterator[Doubt]:
    """Doubts about each target, with its name."""
    for mine, url in zip(against, urls, strict=True):
        for doubt in mine:
            yield Doubt(doubt.by, f"{url}: {doubt.words}")


def apart(runs: Sequence[RunOfOne], workload: Workload) -> Iterator[Doubt]:
    """A doubt if the targets were not under load at the same time. The start of a run is its end
    minus its measured duration."""
    if any(run.measured.error for run in runs):
        return
    began = [run.end_time - (run.measured.seconds or workload.seconds) for run in runs]
    common = min(run.end_time for run in runs) - max(began)
    if common < _LEAST_SHARE * workload.seconds:
        yield Doubt(
            "short",
            f"only {max(common, 0):.3g} of {workload.seconds:g} seconds were measured on all "
            f"targets at the same time, less than {_LEAST_SHARE:.0%}",
        )


def deciding_by_the_least(profile: Profile) -> Profile:
    """The profile, with the lowest rate of any target beside each rate that decides. Raises
    UsageError for searches: each would search for its own highest rate while the others change
    theirs."""
    searched = [
        each.id for each in profile.workloads if each.pattern in SEARCHES and each.rate is None
    ]
    if searched:
        raise UsageError(
            f"--beside: {searched[0]} is a search, and several at once would disturb each other: "
            "leave it out with --only, or set a rate"
        )
    changed = (
        replace(each, decides=tuple(_with_least(each.decides))) for each in profile.workloads
    )
    return replace(profile, workloads=tuple(changed))


def _with_least(decides: Sequence[str]) -> Iterator[str]:
    for name in decides:
        yield name
        if f"{name}{LEAST}" in METRICS:
            yield f"{name}{LEAST}"
