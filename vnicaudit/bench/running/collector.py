"""Runs in their order: each is measured and kept; whoever judges says what comes next."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.bench.facts.covariates import Limits
from vnicaudit.bench.history import Kept, light, now
from vnicaudit.bench.judging.order import Slot
from vnicaudit.bench.judging.stopping import Step
from vnicaudit.bench.profiles.estimate import SEARCHES, one
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.arms import Opened, Switch
from vnicaudit.bench.running.listener import Listener
from vnicaudit.bench.running.sampling import Place, run_once, take
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Sample, Workload

_WARM_UP = 3.0
_DEAD = 6
"""So many runs in a row of which nothing came back: there is no way through, or no longer."""
_GONE = 3
"""So many runs in a row in which an end did not answer: it will not come back."""

Judge = Callable[[], Step]
"""Is asked after each run what comes next."""


class Work(NamedTuple):
    """What is measured, and with what."""

    profile: Profile
    limits: Limits
    switch: Switch
    kept: Kept
    listener: Listener


class Collector:
    """Takes samples. ``samples``: all that were taken, without what the tools said."""

    def __init__(self, work: Work, samples: Iterable[Sample] = ()) -> None:
        self.samples = list(samples)
        self._work = work
        self._workloads = {workload.id: workload for workload in work.profile.workloads}
        self._took: dict[str, float] = {}
        self._lost = 0
        self._silent = 0

    def warm_up(self, arms: Iterable[Opened]) -> None:
        """One short run in each, which is thrown away: addresses are learned, queues placed.
        Searches throw their first trial away themselves."""
        quick = [each for each in self._workloads.values() if each.pattern not in SEARCHES]
        if not quick:
            return
        short = replace(quick[0], seconds=min(_WARM_UP, quick[0].seconds))
        for opened in arms:
            self._bring_about(opened, short)
            run_once(short, opened.ends)

    def collect(self, slots: Sequence[Slot], arms: Mapping[str, Opened], judge: Judge) -> Step:
        """Make these runs, some of them again, until there is nothing left to do or the judge says
        stop; what it said last. Raises EndpointError where an end stays lost."""
        ahead = Counter(slot.workload for slot in slots)
        self._work.listener.begins(self._expected(ahead))
        step = Step("go-on")
        for slot in slots:
            step = self._until_it_counts(slot, arms[slot.arm], self._expected(ahead), judge)
            if step.action == "stop":
                break
            ahead[slot.workload] -= 1
        return step

    def _until_it_counts(self, slot: Slot, opened: Opened, left: float, judge: Judge) -> Step:
        while True:
            self._run(slot, opened, left)
            step = judge()
            if step.why:
                self._work.listener.says(step.why)
            if step.action != "stop":
                self._check_alive()
            if step.action != "again":
                return step

    def _check_alive(self) -> None:
        """Raises EndpointError where there is no way through, or no longer one: whatever is run
        comes to nothing, after a time-out each."""
        last = self.samples[-1]
        self._silent = 0 if last.valid or last.values else self._silent + 1
        if self._silent == _DEAD:
            raise EndpointError(f"{_DEAD} runs in a row came to nothing; the last: {last.reason}")

    def _run(self, slot: Slot, opened: Opened, left: float) -> None:
        workload = self._workloads[slot.workload]
        began = time.monotonic()
        self._work.listener.runs(workload, slot.arm, left)
        sample = self._sample(workload, opened, Place(slot.block, len(self.samples)))
        self._work.kept.add(sample)
        self.samples.append(light(sample))
        self._work.listener.sampled(sample)
        time.sleep(self._work.profile.cooldown)
        self._took[slot.workload] = time.monotonic() - began

    def _sample(self, workload: Workload, opened: Opened, place: Place) -> Sample:
        started = now()
        try:
            self._bring_about(opened, workload)
            sample = take(workload, opened, place, self._work.limits)
        except EndpointError as error:
            self._lost += 1
            if self._lost == _GONE:
                raise
            return _lost(workload, opened, place, started, str(error))
        self._lost = 0
        return sample

    def _bring_about(self, opened: Opened, workload: Workload) -> None:
        self._work.switch.arm(opened)
        self._work.switch.state(opened, workload.state)

    def _expected(self, ahead: Mapping[str, int]) -> float:
        """Seconds of so many runs of each workload: as it took last, else as is usual."""
        return sum(
            runs * self._took.get(name, one(self._workloads[name]) + self._work.profile.cooldown)
            for name, runs in ahead.items()
        )


def _lost(
    workload: Workload, opened: Opened, place: Place, started: str, reason: str
) -> Sample:  # fmt: skip
    """A run in which an end did not answer."""
    return Sample(
        workload=workload.id, arm=opened.arm.name, block=place.block, order=place.order,
        boot=opened.boot, started=started, valid=False, reason=reason,
    )  # fmt: skip
