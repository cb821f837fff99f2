"""From samples to comparisons: every metric of every workload, one arm against another."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from vnicaudit.bench.judging.ceiling import ceiling, fills, path_of
from vnicaudit.bench.judging.effect import Deciding, deciding, effect_of, margin_of, shift_of
from vnicaudit.bench.judging.runs import runs_of
from vnicaudit.bench.judging.sides import Side, Sides, effect_notes, side_notes
from vnicaudit.bench.judging.statistics import holm, median, median_interval, variation
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.verdict import verdict_of
from vnicaudit.bench.metrics import METRICS, Metric
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Comparison, Path, Sample, Summary, Verdict, Workload


def compare(
    samples: Sequence[Sample],
    workloads: Sequence[Workload],
    before_arm: str,
    after_arm: str,
    terms: Terms,
    paths: Sequence[Path] = (),
) -> tuple[Comparison, ...]:
    """Every metric of every workload, those that decide first; only samples that are valid.

    A metric decides where its workload is primary and names it. The others are shown where both
    arms were measured by them, and their p is not adjusted: nothing rests on it. With ``boots`` and
    ``flips``, runs between two changes are one value. ``paths`` tell what the line allows. Raises
    UsageError where an arm is compared with itself.
    """
    if before_arm == after_arm:
        raise UsageError(f"{before_arm} cannot be compared with itself")
    found = []
    for workload in workloads:
        of_this = [sample for sample in samples if sample.workload == workload.id]
        for metric in _metrics(workload, of_this):
            before, after = (
                Side(
                    arm,
                    runs_of(of_this, workload.id, arm, metric.name, terms.design),
                    ceiling(workload, metric.name, path_of(arm, paths)),
                )
                for arm in (before_arm, after_arm)
            )
            if metric.name in workload.decides or (before.runs.values and after.runs.values):
                one = compared(workload, metric, Sides(before, after), terms)
                found.append(one if _told(of_this, metric) else _set_aside(one))
    return _adjusted(sorted(found, key=lambda each: not each.primary))


def _told(samples: Sequence[Sample], metric: Metric) -> bool:
    """Whether some run that counts has it. If none has, in any arm, these tools or hosts do not
    tell it (CPU time of a hypervisor that cannot be reached): that is no fault of the change."""
    counted = [sample for sample in samples if sample.valid]
    return not counted or any(metric.name in sample.values for sample in counted)


def _set_aside(comparison: Comparison) -> Comparison:
    note = "no run tells it here: the verdict does not rest on it"
    return replace(comparison, primary=False, notes=(note,))


def _metrics(workload: Workload, samples: Sequence[Sample]) -> list[Metric]:
    measured = {name for sample in samples for name in sample.values}
    names = dict.fromkeys([*workload.decides, *(name for name in METRICS if name in measured)])
    return [METRICS[name] for name in names if name in METRICS]


def compared(workload: Workload, metric: Metric, sides: Sides, terms: Terms) -> Comparison:
    """One metric of one workload; ``p_holm`` is not adjusted yet."""
    before, after = sides.before.runs.values, sides.after.runs.values
    shift = shift_of(metric, before, after, flip=terms.design == "single-flip")
    alpha = terms.alpha(min(len(before), len(after)))
    found = deciding(metric, shift, alpha) if shift else None
    notes = [*effect_notes(metric, shift, found, alpha)]
    notes += [note for side in sides for note in side_notes(metric, side)]
    return Comparison(
        workload=workload.id,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        primary=workload.primary and metric.name in workload.decides,
        before_arm=sides.before.arm,
        after_arm=sides.after.arm,
        before=summary(before, sides.before.most),
        after=summary(after, sides.after.most),
        effect=effect_of(metric, shift) if shift else None,
        verdict=_verdict(metric, sides, found, terms),
        notes=tuple(notes),
    )


def summary(values: Sequence[float], most: float | None = None) -> Summary | None:
    """Of the values of one arm; None where it has none. ``most``: what the line allows."""
    if not values:
        return None
    middle, interval = median(values), median_interval(values)
    return Summary(
        n=len(values),
        median=middle,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        cv=variation(values),
        line_rate_percent=100 * middle / most if most else None,
    )


def _verdict(metric: Metric, sides: Sides, found: Deciding | None, terms: Terms) -> Verdict:
    """What the effect says, but where there is too little to say it, or where both arms show the
    line or the generator."""
    if terms.too_few(*(len(side.runs.values) for side in sides)):
        short = [side for side in sides if len(side.runs.values) < terms.looks[0]]
        limited = any(side.runs.spoiled_by_generator for side in short)
        return "generator-limited" if limited else "invalid"
    if all(fills(median(side.runs.values), side.most) for side in sides):
        return "at-ceiling"
    verdict = verdict_of(found, margin_of(metric, terms.margins))
    return verdict if _stands(metric, sides, verdict) else "generator-limited"


def _stands(metric: Metric, sides: Sides, verdict: Verdict) -> bool:
    """Whether it holds, seen what the generator could do. Where that was the limit after the
    change, it can have hidden a gain but not made one; before it, it can have hidden harm. It
    tells nothing of latency and costs, since they are those of another load."""
    before, after = (side.runs.limited for side in sides)
    if not before and not after:
        return True
    if metric.better == "lower" or (before and after):
        return False
    return verdict == ("improved" if after else "regressed")


def _adjusted(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """p of the primary ones, adjusted for how many of them there are."""
    p_values = {
        place: each.effect.p
        for place, each in enumerate(comparisons)
        if each.primary and each.effect is not None
    }
    adjusted = holm(p_values)
    return tuple(
        replace(each, effect=replace(each.effect, p_holm=adjusted[place]))
        if each.effect is not None and place in adjusted
        else each
        for place, each in enumerate(comparisons)
    )
