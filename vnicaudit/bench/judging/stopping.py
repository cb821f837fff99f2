"""When to go on, when to measure again, and when to stop.

It is judged at the looks and never in between. Only a catastrophe or a broken guard rail stops at
once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from vnicaudit.bench.judging.catastrophe import catastrophe, silence, suspicious
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.reasons import rail_words
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.verdict import broken, harmed
from vnicaudit.model.measurement import Comparison, GuardRail, Path, Sample, Verdict, Workload

ATTEMPTS = 3
"""A run that does not count is repeated twice at most."""

_SAME: frozenset[Verdict] = frozenset({"equivalent", "at-ceiling"})
_GAINED: frozenset[Verdict] = _SAME | {"improved", "not-worse"}


class Step(msgspec.Struct, frozen=True):
    """What comes next. ``again``: the run that was made last, in the same arm and block. ``why``:
    for the user; empty where it simply goes on. ``catastrophe``: the reasons, where it is one."""

    action: Literal["go-on", "again", "stop"]
    why: str = ""
    catastrophe: tuple[str, ...] = ()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """All there is so far. ``samples``: in the order in which they were made, those that do not
    count included. ``arms``: the first is what the others are compared with. ``guard_rails``: what
    was found last; one that failed was looked at twice."""

    samples: Sequence[Sample]
    workloads: Sequence[Workload]
    arms: Sequence[str]
    guard_rails: Sequence[GuardRail] = ()
    paths: Sequence[Path] = ()


def next_step(state: State, terms: Terms) -> Step:
    """To be asked after every run."""
    if terms.design not in ("single", "paths"):
        harm = _harm(state)
        if harm:
            return harm
    if state.samples:
        last = state.samples[-1]
        if not last.valid and _attempts(state, last) < ATTEMPTS:
            return Step("again", f"it does not count: {last.reason}")
    done, begun = _blocks(state)
    if done >= terms.looks[-1]:
        return Step("stop", f"all {done} runs of each arm are made")
    if done not in terms.looks or begun > done or terms.design in ("single", "single-flip"):
        return Step("go-on")
    return _look(state, terms)


def _harm(state: State) -> Step | None:
    """What cannot wait; None where there is nothing of that kind."""
    before = state.arms[0]
    rails = broken(state.guard_rails, {before})
    if rails:
        return Step("stop", "; ".join(map(rail_words, rails)))
    for arm in state.arms[1:]:
        reasons = catastrophe(state.samples, state.workloads, before, arm)
        reasons += silence(state.samples, state.workloads, before, arm)
        if reasons:
            return Step("stop", "; ".join(reasons), reasons)
    if state.samples and suspicious(state.samples[-1], state.samples, state.workloads, before):
        return Step("again", "less than half of what it was before; once more, to be sure")
    return None


def _look(state: State, terms: Terms) -> Step:
    silent = _silent(state)
    if silent:
        return Step("stop", silent)
    before, *others = state.arms
    found = (
        compare(state.samples, state.workloads, before, arm, terms, state.paths) for arm in others
    )
    return stop_early([each for comparisons in found for each in comparisons], terms)


def stop_early(comparisons: Sequence[Comparison], terms: Terms) -> Step:
    """Whether a look is enough: harm is certain, or every primary comparison is decided. That
    nothing got worse is no end as long as something may still turn out better."""
    primaries = [comparison for comparison in comparisons if comparison.primary]
    verdicts = {comparison.verdict for comparison in primaries}
    worse = [comparison for comparison in primaries if harmed(comparison, terms)]
    if terms.catastrophe_only or not primaries:
        return Step("go-on")
    if terms.design == "paths":
        clear = all(each in worse or each.verdict in _SAME | {"improved"} for each in primaries)
        return Step("stop", "every comparison is decided") if clear else Step("go-on")
    if worse:
        return Step("stop", "it got worse beyond doubt")
    if verdicts <= _SAME:
        return Step("stop", "no difference matters, beyond doubt")
    if "improved" in verdicts and verdicts <= _GAINED:
        return Step("stop", "it got better and nothing got worse, beyond doubt")
    return Step("go-on")


def _attempts(state: State, last: Sample) -> int:
    """How often the run that was made last was tried."""
    place = _place(last)
    return sum(not sample.valid and _place(sample) == place for sample in state.samples)


def _blocks(state: State) -> tuple[int, int]:
    """How many blocks are finished, and begun: finished is one in which every workload has a run
    in every arm, or was given up."""
    tries: dict[tuple[int, str, str], int] = {}
    for sample in state.samples:
        place = _place(sample)
        tries[place] = tries.get(place, 0) + (ATTEMPTS if sample.valid else 1)
    settled = Counter(place[0] for place, count in tries.items() if count >= ATTEMPTS)
    whole = len(state.arms) * len(state.workloads)
    begun = {place[0] for place in tries}
    return sum(settled[block] >= whole for block in begun), len(begun)


def _place(sample: Sample) -> tuple[int, str, str]:
    return sample.block, sample.arm, sample.workload


def _silent(state: State) -> str:
    """A workload that decides and of which no run counts in some arm: more runs will not help."""
    counted = {(sample.workload, sample.arm) for sample in state.samples if sample.valid}
    for workload in state.workloads:
        for arm in state.arms:
            if workload.primary and (workload.id, arm) not in counted:
                return f"no run of {workload.id} counts in {arm}"
    return ""
