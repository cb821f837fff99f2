"""From samples to comparisons: every metric of every workload, one arm against another."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.bench.judging.catastrophe import Question, catastrophes, silence
from vnicaudit.bench.judging.effect import (
    Deciding,
    deciding,
    effect_of,
    is_share,
    margin_of,
    shift_of,
)
from vnicaudit.bench.judging.sides import (
    Side,
    ceiling,
    difference_notes,
    effect_notes,
    fills,
    levelled,
    path_of,
    side_notes,
    side_of,
)
from vnicaudit.bench.judging.statistics import holm, median, median_interval, variation
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.verdict import fewest_runs, may_be_chance, verdict_of
from vnicaudit.bench.metrics import METRICS, Metric, is_cost
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import ArmSummary, Comparison, Path, Sample, Verdict, Workload

_OPEN: tuple[Verdict, ...] = ("invalid", "inconclusive", "not-judged")
"""Verdicts that stay open because there are too few runs, or one change between them."""


def compare_all(
    samples: Sequence[Sample],
    workloads: Sequence[Workload],
    arms: Sequence[str],
    terms: Terms,
    paths: Sequence[Path] = (),
) -> tuple[Comparison, ...]:
    """:func:`compare` for the first arm with each of the others."""
    first, *others = arms
    return tuple(
        each for other in others for each in compare(samples, workloads, first, other, terms, paths)
    )


def compare(
    samples: Sequence[Sample],
    workloads: Sequence[Workload],
    before_arm: str,
    after_arm: str,
    terms: Terms,
    paths: Sequence[Path] = (),
) -> tuple[Comparison, ...]:
    """Every metric of every workload, those that decide first; from valid samples only.

    A metric decides if its workload is primary and names it. The others are shown if both arms have
    values of them, and play no part in the verdict. With ``boots`` and ``flips``, runs between two
    changes are one value. ``paths`` give the limits of the line. Raises UsageError if an arm is
    compared with itself.
    """
    if before_arm == after_arm:
        raise UsageError(f"{before_arm} cannot be compared with itself")
    harm = _harm(samples, Question(workloads, before_arm, after_arm, terms.design))
    found = []
    for workload in workloads:
        of_this = [sample for sample in samples if sample.workload == workload.id]
        for metric in _metrics(workload, of_this):
            before, after = (
                side_of(
                    of_this, workload.id, arm, metric.name, terms,
                    ceiling(workload, metric.name, path_of(arm, paths)),
                )
                for arm in (before_arm, after_arm)
            )  # fmt: skip
            if metric.name in workload.decides or (before.values and after.values):
                one = comparison_of(workload, metric, before, after, terms)
                one = harm.noted_in(one)
                counted = [sample for sample in of_this if sample.valid]
                if (
                    is_cost(metric)
                    and counted
                    and not any(metric.name in s.values for s in counted)
                ):
                    # no CPU time in any arm: it cannot be read here (a hypervisor that cannot be
                    # reached), and the change is not to blame
                    note = "no run measured it here: the verdict does not depend on it"
                    one = replace(one, primary=False, notes=(note,))
                found.append(one)
    found.sort(key=lambda each: not each.primary)
    return tuple(
        each if harm.ends(each) else _that_stands(each, terms) for each in _adjusted(found)
    )


class _Harm(NamedTuple):
    """Workloads through which nothing got after the change, and metrics (with their workload) that
    fell by more than half, three times in a row: they end a measurement."""

    silent: Collection[str] = ()
    fallen: Collection[tuple[str, str]] = ()

    def ends(self, one: Comparison) -> bool:
        """True for the row of such a workload or metric, where it decides."""
        is_fallen = (one.workload, one.metric) in self.fallen
        return one.primary and (is_fallen or one.workload in self.silent)

    def noted_in(self, one: Comparison) -> Comparison:
        """The row, which says that harm if nothing else is certain: it agrees with the overall
        verdict, however few runs there are."""
        if not self.ends(one):
            return one
        if one.workload in self.silent:
            why = f"nothing got through in {one.after_arm}"
        elif one.verdict in _OPEN:
            why = "less than half of what it was before, three times in a row"
        else:
            return one
        return replace(one, verdict="regressed", notes=(why, *one.notes))


def _harm(samples: Sequence[Sample], question: Question) -> _Harm:
    """None with a design that compares nothing in time."""
    if question.design in ("single", "paths"):
        return _Harm()
    return _Harm(silence(samples, question), catastrophes(samples, question))


def _metrics(workload: Workload, samples: Sequence[Sample]) -> list[Metric]:
    measured = {name for sample in samples for name in sample.values}
    names = dict.fromkeys([*workload.decides, *(name for name in METRICS if name in measured)])
    return [METRICS[name] for name in names if name in METRICS]


def comparison_of(
    workload: Workload, metric: Metric, before: Side, after: Side, terms: Terms
) -> Comparison:
    """One metric of one workload; ``p_holm`` is not adjusted yet. A single flip has no effect: what
    two boots differ by cannot be told from what the change did."""
    notes: list[str] = []
    effect, found = None, None
    if terms.design == "single-flip":
        notes += difference_notes(metric, before, after)
    else:
        level = levelled(before, after, by_difference=is_share(metric))
        first, second = level or (before.values, after.values)
        shift = shift_of(metric, first, second, terms.design)
        alpha = terms.alpha(min(len(before.values), len(after.values)))
        if shift is not None:
            found = deciding(metric, shift, alpha)
            effect = effect_of(metric, shift, (first, second))
        notes += effect_notes(metric, shift, found, alpha)
        if level:
            notes.append("the runs drift: each is compared with the level of both arms at its time")
    notes += [note for side in (before, after) for note in side_notes(metric, side)]
    return Comparison(
        workload=workload.id,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        primary=workload.primary and metric.name in workload.decides,
        before_arm=before.arm,
        after_arm=after.arm,
        before=summary(before.values, before.most),
        after=summary(after.values, after.most),
        effect=effect,
        verdict=_verdict(metric, (before, after), found, terms),
        notes=tuple(notes),
    )


def summary(values: Sequence[float], most: float | None = None) -> ArmSummary | None:
    """Summary of the values of one arm; None if it has none. ``most``: the limit of the line."""
    if not values:
        return None
    middle, interval = median(values), median_interval(values)
    return ArmSummary(
        n=len(values),
        median=middle,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        cv=variation(values),
        line_rate_percent=100 * middle / most if most else None,
    )


def _verdict(
    metric: Metric, sides: tuple[Side, Side], found: Deciding | None, terms: Terms
) -> Verdict:
    """The verdict by the effect; another one if there are too few values, or if both arms show the
    limit of the line or of the generator."""
    if terms.too_few(*(len(side.values) for side in sides)):
        short = [side for side in sides if len(side.values) < terms.looks[0]]
        limited = any(side.spoiled_by_generator for side in short)
        return "generator-limited" if limited else "invalid"
    if terms.design == "single-flip":
        return "not-judged"
    if all(fills(median(side.values), side.most) for side in sides):
        return "at-ceiling"
    verdict = verdict_of(found, margin_of(metric, terms.margins))
    return verdict if _is_conclusive(metric, sides, verdict) else "generator-limited"


def _is_conclusive(metric: Metric, sides: tuple[Side, Side], verdict: Verdict) -> bool:
    """True if the verdict holds despite the limits of the generator. If the generator was the limit
    after the change, it can have hidden a gain but not caused one; before the change, it can have
    hidden harm. Nothing follows for latency and costs, since they belong to another load."""
    before, after = (side.limited for side in sides)
    if not before and not after:
        return True
    if metric.better == "lower" or (before and after):
        return False
    return verdict == ("improved" if after else "regressed")


def _adjusted(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with adjusted p: for primary ones adjusted for their number, for the others
    for the number of all."""
    everything = {
        place: each.effect.p for place, each in enumerate(comparisons) if each.effect is not None
    }
    primaries = {place: p for place, p in everything.items() if comparisons[place].primary}
    adjusted = {**holm(everything), **holm(primaries)}
    return tuple(
        replace(each, effect=replace(each.effect, p_holm=adjusted[place]))
        if each.effect is not None
        else each
        for place, each in enumerate(comparisons)
    )


def _that_stands(comparison: Comparison, terms: Terms) -> Comparison:
    """The comparison, with a weaker verdict if its difference may be chance among so many
    comparisons."""
    effect, verdict = comparison.effect, comparison.verdict
    if effect is None or verdict not in ("improved", "regressed"):
        return comparison
    if effect.p_holm <= terms.alpha(fewest_runs(comparison)):
        return comparison
    weaker: Verdict = "not-worse" if verdict == "improved" else "inconclusive"
    return replace(comparison, verdict=weaker, notes=(may_be_chance(comparison), *comparison.notes))
