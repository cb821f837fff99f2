"""Make the runs in order: each becomes a sample and is stored; the judge decides what comes
next."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.base.deadlines import Clock, timestamp
from vnicaudit.bench.contract import Ends, Measured, Transport, failed_run, one_line, readable
from vnicaudit.bench.facts.covariates import cost
from vnicaudit.bench.facts.validity import Doubt, ValidityLimits, doubts
from vnicaudit.bench.history import StoredMeasurement, without_output
from vnicaudit.bench.judging.order import Slot
from vnicaudit.bench.judging.stopping import NextRun
from vnicaudit.bench.profiles.profile import SEARCHES, Profile
from vnicaudit.bench.profiles.registry import SHIPPED, BenchPlugins
from vnicaudit.bench.running.arms import OpenedArm, Switch
from vnicaudit.bench.running.forecast import Forecast, Listener, VisitPlan
from vnicaudit.bench.running.witness import witness_of
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Covariates, Sample, Workload


class DesignPlace(NamedTuple):
    """The place of a sample in the design."""

    block: int
    order: int


def take_sample(
    workload: Workload,
    opened: OpenedArm,
    place: DesignPlace,
    limits: ValidityLimits,
    *,
    known: bool = True,
    plugins: BenchPlugins,
) -> Sample:
    """Run a workload once. The value never makes a sample invalid. ``known``: the witness's normal
    report in this arm is recorded already. Raises EndpointError if an end is lost."""
    started = timestamp()
    opened.watch.begin()
    measured = run_once(workload, opened.ends, plugins)
    covariates = opened.watch.end(measured, workload.warmup)
    against = _doubts(measured, covariates, workload, limits)
    failed = bool(measured.error) or not measured.values
    failure = measured.failure if failed else None
    return Sample(
        workload=workload.id,
        arm=opened.arm.name,
        block=place.block,
        order=place.order,
        boot=opened.boot,
        started=started,
        values={} if failed else {**measured.values, **cost(measured, covariates)},
        details=measured.details,
        valid=not against,
        reason="; ".join(doubt.words for doubt in against),
        invalid_by=tuple(dict.fromkeys(doubt.by for doubt in against)),
        failure=failure,
        witness=(
            witness_of(opened, plugins.engines.load(workload.engine).transport(workload))
            if failure or not known
            else None
        ),
        covariates=covariates,
        histogram=measured.histogram,
        raw=measured.raw,
    )


def run_once(workload: Workload, ends: Ends, plugins: BenchPlugins) -> Measured:
    """Run a workload once by its engine. Unexpected output of its tools is at worst a failed
    measurement. Raises EndpointError if an end is lost."""
    try:
        with readable(f"what {workload.engine} printed"):
            return plugins.engines.load(workload.engine).measure(workload, ends)
    except MeasureError as error:
        return failed_run(error)


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


_WARM_UP = 3.0
_GONE = 3
"""After that many runs in a row in which an end did not answer, it will not come back."""

_ASTRAY = 6
"""After that many runs in a row whose payload took another NIC, the next one will, too."""

Judge = Callable[[], NextRun]
"""Called after each run; returns what comes next."""


class SamplingContext(NamedTuple):
    """The profile to be measured, and the services for taking its samples."""

    profile: Profile
    limits: ValidityLimits
    switch: Switch
    stored: StoredMeasurement
    listener: Listener
    schedule: VisitPlan
    plugins: BenchPlugins = SHIPPED
    clock: Clock = time


class Collector:
    """Takes samples. ``samples``: all samples so far, without the output of the tools."""

    def __init__(self, work: SamplingContext, samples: Iterable[Sample] = ()) -> None:
        self.samples = list(samples)
        self._work = work
        self._workloads = {workload.id: workload for workload in work.profile.workloads}
        self._forecast = Forecast(work.profile, work.schedule, self.samples)
        self._since = work.clock.monotonic()
        self._lost = 0
        self._astray = 0
        self._said: set[str] = set()

    def checked(self, seconds: float) -> None:
        """Learn the time that the guard rails of one arm take."""
        self._forecast.checked(seconds)

    def warm_up(self, arms: Iterable[OpenedArm]) -> None:
        """One short run in each arm, which is discarded: addresses are learned, queues placed.
        Searches discard their first trial themselves."""
        quick = [each for each in self._workloads.values() if each.pattern not in SEARCHES]
        if not quick:
            return
        short = replace(quick[0], seconds=min(_WARM_UP, quick[0].seconds))
        for opened in arms:
            self._work.listener.prepares(f"warming up {opened.arm.name}")
            self._bring_about(opened, short)
            opened.watch.begin()  # finds the guest's QEMU, once
            began = self._work.clock.monotonic()
            opened.watch.begin()  # as before and after a run, which is part of its duration
            watched = self._work.clock.monotonic() - began
            run_once(short, opened.ends, self._work.plugins)
            self._forecast.warmed_up(short, self._work.clock.monotonic() - began + watched)

    def collect(
        self, slots: Sequence[Slot], arms: Mapping[str, OpenedArm], judge: Judge
    ) -> NextRun:
        """Make these runs, some of them again, until there is nothing left to do or the judge says
        stop, or that it is the other arm's turn; returns the judge's last word. Raises
        EndpointError if an end stays lost, the load keeps taking another NIC, or the judge gives
        up."""
        self._forecast.prepared(self._work.clock.monotonic() - self._since)
        step = NextRun("go-on")
        for at, slot in enumerate(slots):
            if not at:
                self._work.listener.begins(self._forecast.ahead(self.samples, slot))
            step = self._until_it_counts(slot, arms, judge)
            if step.action in ("stop", "away"):
                break
        self._since = self._work.clock.monotonic()
        return step

    def _until_it_counts(self, slot: Slot, arms: Mapping[str, OpenedArm], judge: Judge) -> NextRun:
        """Make one run that counts, and as many more, in any of the arms, as are needed to be
        sure."""
        again = False
        while True:
            self._run(slot, arms[slot.arm], again=again)
            again = True
            step = judge()
            if step.reason and step.action != "give-up":
                self._work.listener.says(step.reason)
            if step.action == "give-up":
                raise EndpointError(step.reason)
            if step.action != "again":
                return step
            slot = slot._replace(arm=step.arm or slot.arm)

    def _run(self, slot: Slot, opened: OpenedArm, *, again: bool) -> None:
        workload = self._workloads[slot.workload]
        began = self._work.clock.monotonic()
        ahead = self._forecast.ahead(self.samples, slot)
        self._work.listener.runs(workload, slot.arm, ahead)
        sample = self._sample(workload, opened, DesignPlace(slot.block, len(self.samples)))
        self._work.stored.add(sample)
        self.samples.append(without_output(sample))
        self._work.listener.sampled(sample)
        self._astray = self._astray + 1 if "wrong-path" in sample.invalid_by else 0
        if self._astray == _ASTRAY:
            raise EndpointError(f"{_ASTRAY} runs in a row were invalid; the last: {sample.reason}")
        self._work.clock.sleep(self._work.profile.cooldown)
        self._forecast.took(slot.workload, self._work.clock.monotonic() - began, again=again)

    def _sample(self, workload: Workload, opened: OpenedArm, place: DesignPlace) -> Sample:
        started = timestamp()
        try:
            self._bring_about(opened, workload)
            transport = self._transport(workload)
            known = any(
                each.witness is not None and each.failure is None
                for each in self.samples
                if each.arm == opened.arm.name
                and transport in ("", self._transport(self._workloads[each.workload]))
            )
            sample = take_sample(
                workload, opened, place, self._work.limits, known=known, plugins=self._work.plugins
            )
        except EndpointError as error:
            self._lost += 1
            if self._lost == _GONE:
                raise
            return _lost_sample(workload, opened, place, started, str(error))
        self._lost = 0
        self._say_unchecked(opened)
        return sample

    def _transport(self, workload: Workload) -> Transport:
        return self._work.plugins.engines.load(workload.engine).transport(workload)

    def _say_unchecked(self, opened: OpenedArm) -> None:
        """Report, once for each end, that it is unknown which of its NICs carried the payload."""
        for url, why in opened.watch.unchecked.items():
            if url not in self._said:
                self._said.add(url)
                self._work.listener.says(
                    f"could not check which NIC of {url} carries the load: {why}"
                )

    def _bring_about(self, opened: OpenedArm, workload: Workload) -> None:
        self._work.switch.arm(opened)
        self._work.switch.state(opened, workload.state)


def _lost_sample(
    workload: Workload, opened: OpenedArm, place: DesignPlace, started: str, reason: str
) -> Sample:  # fmt: skip
    """A sample for a run in which an end did not answer."""
    return Sample(
        workload=workload.id, arm=opened.arm.name, block=place.block, order=place.order,
        boot=opened.boot, started=started, valid=False, reason=one_line(reason),
        invalid_by=("error",), failure="lost",
    )  # fmt: skip
