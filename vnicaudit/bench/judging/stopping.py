"""When to continue, when to measure again, and when to stop.

Results are judged at the interim analyses and never in between. Only a catastrophe or a broken
guard rail stops a measurement at once.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

import msgspec

from vnicaudit.bench.judging.catastrophe import (
    DEAD,
    KNOWN,
    Check,
    Question,
    certain_harm,
    check_wanted,
    dead_arms,
)
from vnicaudit.bench.judging.comparing import compare_all
from vnicaudit.bench.judging.effect import TURNS
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.verdict import HARMLESS, SAME, is_harm, newly_failed_rails, rail_words
from vnicaudit.model.measurement import Comparison, GuardRail, Path, Sample, Workload

ATTEMPTS = 3
"""A run that does not count is repeated at most twice."""


class NextRun(msgspec.Struct, frozen=True):
    """The next action of a measurement. ``again``: repeat the last run, in the same block, in
    ``arm``; empty: in the same arm. ``away``: end this turn of the arm, and take the next one of
    the other arm now. ``give-up``: nothing gets through in any arm. ``reason``: for the user; empty
    if it simply goes on. ``catastrophe``: the reasons, if there is one."""

    action: Literal["go-on", "again", "away", "stop", "give-up"]
    reason: str = ""
    catastrophe: tuple[str, ...] = ()
    arm: str = ""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything measured so far. ``samples``: in the order in which they were made, including
    those that do not count. ``arms``: the first is the one that the others are compared with.
    ``guard_rails``: the latest results; a failed one was checked twice."""

    samples: Sequence[Sample]
    workloads: Sequence[Workload]
    arms: Sequence[str]
    guard_rails: Sequence[GuardRail] = ()
    paths: Sequence[Path] = ()
    troubles: Sequence[str] = ()
    """Problems that guard rails found before the first run."""


def next_step(state: State, terms: Terms) -> NextRun:
    """The next action; to be called after every run."""
    if terms.design not in ("single", "paths"):
        harm = _harm(state, terms)
        if harm:
            return harm
    dead = dead_arms(state.samples, _visited(state, terms))
    if dead.hopeless and (terms.design != "single-flip" or dead.names == (state.arms[0],)):
        said = f"{DEAD} runs in a row were invalid; the last: {state.samples[-1].reason}"
        return NextRun("give-up", "; ".join([said, *state.troubles]))
    if state.samples:
        last = state.samples[-1]
        if not last.valid and _attempts(state, last) < ATTEMPTS:
            return NextRun("again", f"the run is not valid: {last.reason}")
    done, begun = _blocks(state)
    if dead.names and _is_settled(state, terms, dead.names):
        return NextRun("stop", f"no run of {', '.join(dead.names)} is valid")
    turns, more = divmod(done, terms.runs_per_turn)
    if turns >= terms.looks[-1]:
        return NextRun("stop", f"all {done} runs of each arm are done")
    if (
        turns not in terms.looks
        or more
        or begun > done
        or terms.design in ("single", "single-flip")
    ):
        return NextRun("go-on")
    silent = _silent(state)
    if silent:
        return NextRun("stop", silent)
    found = compare_all(state.samples, state.workloads, state.arms, terms, state.paths)
    return stop_early(found, terms)


def _visited(state: State, terms: Terms) -> Sequence[str]:
    """The arms that can be dead now: with a single flip, the one that is being measured."""
    flip = terms.design == "single-flip" and state.samples
    return (state.samples[-1].arm,) if flip else state.arms


def _is_settled(state: State, terms: Terms, dead: Sequence[str]) -> bool:
    """True if a dead arm ends the measurement now: with a single flip at once; in turns when every
    run of one of its blocks was given up, since it has all others of its turn before any other arm
    has one; else at the end of a block, so that the order within blocks changes nothing. The
    results of the other arms must be known."""
    if terms.design in ("single-flip", "single", "paths"):
        return terms.design == "single-flip"
    done, begun = _blocks(state)
    if terms.design not in TURNS:
        return done == begun and done >= KNOWN
    finished = _finished(state)
    others = (arm for arm in state.arms if arm not in dead)
    return any(finished[arm] for arm in dead) and all(finished[arm] >= KNOWN for arm in others)


def _harm(state: State, terms: Terms) -> NextRun | None:
    """The action demanded by harm that cannot wait: stop, or measure to make sure; None if there is
    no harm."""
    before = state.arms[0]
    rails = newly_failed_rails(state.guard_rails, {before})
    if rails:
        return NextRun("stop", "; ".join(map(rail_words, rails)))
    for arm in state.arms[1:]:
        question = Question(state.workloads, before, arm, terms.design)
        if reasons := certain_harm(state.samples, question):
            return NextRun("stop", "; ".join(reasons), reasons)
        if (
            state.samples
            and state.samples[-1].valid
            and (check := check_wanted(state.samples, question))
        ):
            return _to_make_sure(check, before, arm)
    return None


def _to_make_sure(check: Check, before: str, after: str) -> NextRun:
    if check == "after":
        return NextRun(
            "again", f"{before} is unchanged; measuring {after} once more, to be sure", arm=after
        )
    low = "less than half of what it was before"
    if check == "same":
        return NextRun("again", f"{low}; measuring once more, to be sure")
    action: Literal["again", "away"] = "away" if check == "away" else "again"
    return NextRun(action, f"{low}; measuring {before} again, to be sure", arm=before)


def stop_early(comparisons: Sequence[Comparison], terms: Terms) -> NextRun:
    """Decide at an interim analysis whether to stop: harm is certain, or every primary comparison
    is decided. That nothing got worse is not enough as long as something may still turn out
    better."""
    primaries = [comparison for comparison in comparisons if comparison.primary]
    verdicts = {comparison.verdict for comparison in primaries}
    worse = [comparison for comparison in primaries if is_harm(comparison, terms)]
    if terms.catastrophe_only or not primaries:
        return NextRun("go-on")
    if terms.design == "paths":
        clear = all(each in worse or each.verdict in SAME | {"improved"} for each in primaries)
        return NextRun("stop", "every comparison is decided") if clear else NextRun("go-on")
    if worse:
        return NextRun("stop", "it got worse beyond doubt")
    if verdicts <= SAME:
        return NextRun("stop", "beyond doubt, no difference matters")
    if "improved" in verdicts and verdicts <= HARMLESS:
        return NextRun("stop", "it got better and nothing got worse, beyond doubt")
    return NextRun("go-on")


def _attempts(state: State, last: Sample) -> int:
    """Number of invalid attempts at the last run."""
    place = _sample_key(last)
    return sum(not sample.valid and _sample_key(sample) == place for sample in state.samples)


def _blocks(state: State) -> tuple[int, int]:
    """Numbers of blocks finished and started: in a finished one every workload has a run in every
    arm, or was given up."""
    settled = Counter(block for block, _arm, _workload in _settled(state))
    whole = len(state.arms) * len(state.workloads)
    begun = {sample.block for sample in state.samples}
    return sum(settled[block] >= whole for block in begun), len(begun)


def _finished(state: State) -> Counter[str]:
    """Number of finished blocks of each arm, whatever the others do."""
    settled = Counter((block, arm) for block, arm, _workload in _settled(state))
    whole = len(state.workloads)
    return Counter(arm for (_block, arm), count in settled.items() if count >= whole)


def _settled(state: State) -> Iterator[tuple[int, str, str]]:
    """Runs with a valid attempt, or that were given up."""
    tries: Counter[tuple[int, str, str]] = Counter()
    for sample in state.samples:
        tries[_sample_key(sample)] += ATTEMPTS if sample.valid else 1
    return (place for place, count in tries.items() if count >= ATTEMPTS)


def _sample_key(sample: Sample) -> tuple[int, str, str]:
    return sample.block, sample.arm, sample.workload


def _silent(state: State) -> str:
    """A sentence on a primary workload without a valid run in some arm: more runs will not help.
    Empty: none."""
    counted = {(sample.workload, sample.arm) for sample in state.samples if sample.valid}
    for workload in state.workloads:
        for arm in state.arms:
            if workload.primary and (workload.id, arm) not in counted:
                return f"{arm} has no valid run of {workload.id}"
    return ""


# The order of the runs: randomised blocks.
#
# A network drifts: neighbours wake up, CPUs get warm. With all runs before the change first and all
# after it last, a drift of 5 % looks like a regression in a third of all comparisons. In a block
# every arm runs once, in random order, so that drift affects all of them alike. In every second
# block it is the reverse of the order before: a neighbour that comes with every second run then
# slows both arms alike. Without that it makes a difference between them in a fifth of all
# measurements of eleven workloads.
#
# If a change is expensive (a boot, a hot swap), an arm has its turn, with some runs in it, and then
# the other arm has. Two blocks are a pair, the second in the reverse order of the first: before,
# after, after, before. So drift affects both arms alike, and so does anything that recurs with
# every second turn. The very first turn is the first arm's, since the usual value must be known
# before anything is changed; in every later pair chance decides which arm begins. If an arm has two
# turns in a row, the caller has to change away and back in between, or two boots would be one and
# the same.
#
# The order comes from a seed that is stored with the result. Python promises the same sequence of
# ``random()`` for a seed in every version (library reference, "Notes on Reproducibility"), but not
# of ``shuffle``, so only ``random()`` is used.


T = TypeVar("T")


class Slot(NamedTuple):
    """One run to be made. ``block``, ``order``: from 0."""

    block: int
    order: int
    arm: str
    workload: str


def blocks(
    arms: Sequence[str],
    workloads: Sequence[str],
    n: int,
    seed: int,
) -> tuple[Slot, ...]:
    """``n`` blocks; in each, every workload in every arm once, the arms of a workload one after the
    other. Fewer blocks of the same seed are the beginning of more."""
    source = random.Random(seed)  # noqa: S311, an order is no secret
    slots: list[Slot] = []
    orders: dict[str, list[str]] = {}
    for block in range(n):
        for workload in shuffled(workloads, source):
            order = orders[workload][::-1] if block % 2 else shuffled(arms, source)
            orders[workload] = order
            slots += [Slot(block, len(slots) + at, arm, workload) for at, arm in enumerate(order)]
    return tuple(slots)


def turns(
    arms: Sequence[str], workloads: Sequence[str], n: int, seed: int, runs: int = 1
) -> tuple[Slot, ...]:
    """``n`` turns of each arm, balanced; in each, every workload ``runs`` times, which are that
    many blocks: block // ``runs`` is the turn. Fewer turns of the same seed are the beginning of
    more."""
    source = random.Random(seed)  # noqa: S311, an order is no secret
    slots: list[Slot] = []
    order = list(arms)
    for turn in range(n):
        if turn:
            order = order[::-1] if turn % 2 else shuffled(arms, source)
        for arm in order:
            for block in range(turn * runs, (turn + 1) * runs):
                for workload in shuffled(workloads, source):
                    slots.append(Slot(block, len(slots), arm, workload))
    return tuple(slots)


def one_by_one(
    arms: Sequence[str], workloads: Sequence[str], n: int, seed: int
) -> tuple[Slot, ...]:
    """All runs of the first arm, then all of the next: a single flip. The workloads of each round
    are still in random order."""
    source = random.Random(seed)  # noqa: S311, an order is no secret
    rounds = [(arm, block) for arm in arms for block in range(n)]
    runs = [(arm, block, each) for arm, block in rounds for each in shuffled(workloads, source)]
    return tuple(Slot(block, order, arm, each) for order, (arm, block, each) in enumerate(runs))


def shuffled(items: Sequence[T], source: random.Random) -> list[T]:
    """The items in random order, every order equally likely (Fisher and Yates)."""
    left = list(items)
    for last in range(len(left) - 1, 0, -1):
        chosen = int(source.random() * (last + 1))
        left[last], left[chosen] = left[chosen], left[last]
    return left
