"""The number of turns or runs worth making on a host, from its known variation.

The known variation makes a measurement longer, and intervals wider; it never makes anything shorter
or narrower than without it, since a host may have changed, and a few measurements may be alike by
chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.effect import TURNS, amount_of, is_share, margin_of
from vnicaudit.bench.judging.runs_needed import MOST_RUNS, runs_to_show, shown_by
from vnicaudit.bench.judging.scatter import Scatter
from vnicaudit.bench.judging.statistics import smallest_p
from vnicaudit.bench.judging.terms import MOST_ALPHA, alphas_of_turns, between_key
from vnicaudit.bench.metrics import METRICS, Metric
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.trials.learning import HostHistory
from vnicaudit.model.measurement import Design

MOST_TURNS = 10
"""Maximum number of turns planned for a noisy host: each is a plug, or a boot, and takes
minutes."""

_FEWEST_FREEDOM = 6
"""Degrees of freedom from which a standard deviation is useful: it is known to a third."""


class Learnt(NamedTuple):
    """A plan that takes the host into account. ``between``: :attr:`Terms.between`; ``words``: for
    the user, empty if nothing is known."""

    profile: Profile
    between: dict[str, float]
    words: str


class _Known(NamedTuple):
    """A primary metric of a workload. ``margin``, ``spread``: on its scale."""

    workload: str
    metric: Metric
    margin: float
    scatter: Scatter
    spread: float


def planned(profile: Profile, design: Design, history: HostHistory) -> Learnt:
    """The plan of a trial. Turns that a profile sets itself stay as they are."""
    runs = profile.runs_per_turn if design in TURNS else profile.looks[0]
    known = list(_known(profile, history, runs))
    if not known or profile.catastrophe_only:
        return Learnt(profile, {}, "")
    worst = max(known, key=lambda one: one.spread / one.margin)
    between = _between(known, design)
    words = _scatter(history, worst)
    if design not in TURNS:
        return Learnt(profile, between, words)
    needed = _needed(profile, worst)
    turns = profile.turns if profile.own_turns else _turns(profile.turns, needed)
    words += f"; {turns[-1]} turns planned"
    if needed > turns[-1]:
        about = f"about {needed}" if needed < MOST_RUNS else f"more than {MOST_RUNS}"
        words += f", where {about} would show {_size(worst, worst.margin)}"
    return Learnt(replace(profile, turns=turns), between, words)


def _known(profile: Profile, history: HostHistory, runs: int) -> Iterator[_Known]:
    for workload in profile.workloads:
        for metric in (METRICS[name] for name in workload.decides if name in METRICS):
            scatter = history.scatter.get((workload.id, metric.name))
            if not workload.primary or scatter is None or scatter.run_freedom < _FEWEST_FREEDOM:
                continue
            margin, spread = _margin(metric, profile), scatter.of_turn(runs)
            if margin > 0 and spread > 0:
                yield _Known(workload.id, metric, margin, scatter, spread)


def _margin(metric: Metric, profile: Profile) -> float:
    margin = margin_of(metric, profile.margins)
    return margin if is_share(metric) else math.log1p(margin / 100)


def _between(known: Sequence[_Known], design: Design) -> dict[str, float]:
    """Known differences between turns; for turns that are judged by their means, including the part
    due to their runs."""
    return {
        between_key(one.workload, one.metric.name): (
            one.spread if design in TURNS else one.scatter.turns
        )
        for one in known
        if one.scatter.turns and one.scatter.turn_freedom >= _FEWEST_FREEDOM
    }


def _needed(profile: Profile, worst: _Known) -> int:
    """Turns of each arm that show the margin in four of five measurements."""
    alpha = alphas_of_turns(profile.turns)[-1] / max(1, profile.comparisons)
    return runs_to_show(worst.margin, worst.spread, alpha=alpha) or MOST_RUNS


def _turns(usual: tuple[int, ...], needed: int) -> tuple[int, ...]:
    """The interim analyses, with the last one as late as needed; the previous last one becomes an
    intermediate one, since a difference larger than the margin is clear by then."""
    last = min(needed, MOST_TURNS)
    return usual if last <= usual[-1] else (usual[0], usual[-1], last)


def what_runs_show(profile: Profile, history: HostHistory) -> str:
    """The smallest difference that the runs of a profile show on this host at the final analysis,
    in words; empty if nothing is known. If they can show none at all, says so."""
    runs, many = profile.looks[-1], max(1, profile.comparisons)
    if profile.catastrophe_only:
        return ""
    if many * smallest_p(runs, runs) > profile.alphas[-1]:
        among = f", among {many} primary comparisons" if many > 1 else ""
        return (
            f"with {count(runs, 'run')} of each arm, no difference can be told from "
            f"chance{among}: that needs {_fewest(many, profile.alphas[-1])} (--repeats)"
        )
    known = list(_known(profile, history, 1))
    if not known:
        return ""
    worst = max(known, key=lambda one: one.scatter.runs / one.margin)
    seen = shown_by(runs, worst.scatter.runs, alpha=MOST_ALPHA / many)
    return (
        f"{_scatter(history, worst)}; {count(runs, 'run')} of each arm show a difference of about "
        f"{_size(worst, seen)} or more ({worst.workload}), and {_size(worst, worst.margin)} would "
        "matter"
    )


def _fewest(many: int, alpha: float) -> int:
    """Runs of each arm with which a difference can be told from chance at all."""
    return next(n for n in range(2, MOST_RUNS) if many * smallest_p(n, n) <= alpha)


def _scatter(history: HostHistory, worst: _Known) -> str:
    """``from 6 measurements of this host: turns differ by 3 %, runs by 5 %``."""
    scatter = worst.scatter
    parts = [f"runs differ by {_size(worst, scatter.runs)}"]
    if scatter.turns is not None:
        turns = _size(worst, scatter.turns)
        parts = [f"turns differ by {turns}", f"runs by {_size(worst, scatter.runs)}"]
    if scatter.resembles:
        parts.append("each run resembles the last")
    sources = [
        *([count(history.measurements, "measurement")] if history.measurements else []),
        *([f"{count(history.watched, 'run')} of bench watch"] if history.watched else []),
    ]
    return f"from {' and '.join(sources)} of this host: {', '.join(parts)}"


def _size(of: _Known, difference: float) -> str:
    return amount_of(of.metric, difference)
