"""Verdicts: on one comparison, and on the change.

Every difference is asked two questions: is it there (p), and does it matter (the margin). A certain
difference of 1 % is no reason to act, and neither is one of 8 % that may be chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from vnicaudit.bench.judging.effect import Deciding, margin_of
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.metrics import METRICS, change, quantity
from vnicaudit.model.measurement import Comparison, Decision, Effect, GuardRail, Verdict


def workload_and_metric(comparison: Comparison) -> str:
    """The workload and the metric."""
    return f"{comparison.workload}, {comparison.metric}"


def comparison_words(comparison: Comparison) -> str:
    """One comparison in full: the metric, the centres of both arms, the effect and its interval."""
    parts = [_centres(comparison)]
    if comparison.effect is not None:
        parts.append(_effect(comparison.effect, effect_unit(comparison.unit)))
    return f"{workload_and_metric(comparison)}: {'; '.join([*parts, *comparison.notes])}"


def _centres(comparison: Comparison) -> str:
    """The centres of the effect; medians if there is none."""
    effect, metric = comparison.effect, (comparison.metric, comparison.unit)
    centres = (None, None) if effect is None else (effect.before, effect.after)
    sides = [
        "nothing"
        if side is None
        else f"{quantity(side.median if at is None else at, *metric)} ({side.n} runs)"
        for side, at in zip((comparison.before, comparison.after), centres, strict=True)
    ]
    names = comparison.before_arm, comparison.after_arm
    return ", ".join(f"{name} {side}" for name, side in zip(names, sides, strict=True))


def _effect(effect: Effect, unit: str) -> str:
    how = "worse" if effect.percent < 0 else "better"
    size = change(effect.percent).lstrip("+-")
    interval = f"{change(effect.low95)} to {change(effect.high95)} {unit}"
    return f"{size} {unit} {how} (95 % interval {interval}; minus is worse)"


def effect_unit(unit: str) -> str:
    """The unit of an effect on a metric with this one."""
    return "points" if unit == "%" else "%"


def rail_words(rail: GuardRail) -> str:
    """A guard rail that is not ok."""
    how = "failed" if rail.verdict == "failed" else "could not be checked"
    return f"guard rail {rail.name} {how} ({rail.arm})" + (
        f": {rail.detail}" if rail.detail else ""
    )


SAME: frozenset[Verdict] = frozenset({"equivalent", "at-ceiling"})
HARMLESS: frozenset[Verdict] = SAME | {"improved", "not-worse"}
"""Verdicts that exclude harm beyond the margin."""

_MEANS: dict[Verdict, str] = {
    "improved": "better",
    "equivalent": "no difference within the margins",
    "not-worse": "harm beyond the margin is excluded",
    "regressed": "worse",
    "inconclusive": "undecided",
    "at-ceiling": "no difference: both fill the line, so throughput cannot tell which is better",
    "generator-limited": "undecided: the generator was the limit",
    "not-judged": "not judged",
    "invalid": "too few valid runs",
}


def verdict_of(found: Deciding | None, margin: float) -> Verdict:
    """The verdict on one effect. ``margin``: in the effect's unit, per cent or percentage points.
    Each sentence of the rule is one line: harm, gain, equivalence, no harm."""
    if found is None:
        return "inconclusive"
    if found.is_there and found.estimate <= -margin:
        return "regressed"
    if found.is_there and found.estimate >= margin:
        return "improved"
    if -margin < found.inner.low and found.inner.high < margin:
        return "equivalent"
    return "not-worse" if found.inner.low > -margin else "inconclusive"


def decide(
    comparisons: Sequence[Comparison],
    terms: Terms,
    *,
    guard_rails: Sequence[GuardRail] = (),
    catastrophe: Sequence[str] = (),
    failures: Mapping[str, str] | None = None,
    unproven: Sequence[str] = (),
    troubles: Sequence[str] = (),
) -> Decision:
    """The decision on the change, with the reasons. Only primary comparisons count.

    One primary that regressed is enough for harm, if it did so after adjusting for their number; so
    is a guard rail that the change broke, and a catastrophe. A change is kept if it made something
    better and nothing seems worse, even where harm is not excluded. If that stays undecided, the
    terms decide. ``failures``: workload ->
    why it was not measured; ``unproven``: why an apparent catastrophe does not count as one, which
    is reported; ``troubles``: problems that guard rails found before the first run, reported if
    runs failed.
    """
    if unproven:
        terms = replace(terms, catastrophe_only=False)
    primaries = [comparison for comparison in comparisons if comparison.primary]
    rails = newly_failed_rails(guard_rails, {comparison.before_arm for comparison in comparisons})
    vetoes = [*catastrophe, *map(rail_words, rails)]
    vetoes += [comparison_words(each) for each in primaries if is_harm(each, terms)]
    verdict: Verdict = "regressed" if vetoes else _overall(primaries, terms)
    action = _action(verdict, terms)
    failed = _not_measured(primaries, failures or {}) if verdict == "invalid" else {}
    rest = [comparison for comparison in primaries if comparison.workload not in failed]
    explained = _explained(verdict, rest, terms) if rest or not failed else []
    reasons = vetoes or [*failed.values(), *explained, *_otherwise(verdict, terms)]
    reasons += () if vetoes else unproven
    reasons += troubles if failed or catastrophe else ()
    doubts = [rail for rail in guard_rails if rail.verdict != "ok" and rail not in rails]
    said = [*reasons, *map(rail_words, doubts)]
    return Decision(verdict=verdict, action=action, reasons=tuple(dict.fromkeys(said)))


def _not_measured(primaries: Sequence[Comparison], failures: Mapping[str, str]) -> dict[str, str]:
    """Why workloads were not measured, for those that make a decision impossible."""
    open_ = (
        each.workload
        for each in primaries
        if each.before is None or each.after is None or each.verdict == "invalid"
    )
    return {name: failures[name] for name in open_ if name in failures}


def is_harm(comparison: Comparison, terms: Terms) -> bool:
    """True if it regressed, and not by chance among so many comparisons."""
    if comparison.verdict != "regressed" or comparison.effect is None:
        return False
    return comparison.effect.p_holm <= terms.alpha(fewest_runs(comparison))


def may_be_chance(comparison: Comparison) -> str:
    """Why a difference does not count, though it would if it were the only comparison."""
    effect = comparison.effect
    p, worse = (1.0, False) if effect is None else (effect.p_holm, effect.percent < 0)
    side = "worse" if worse else "better"
    return f"{side}, but with so many comparisons it may be chance (adjusted p {p:.3f})"


def fewest_runs(comparison: Comparison) -> int:
    """The number of runs of the arm with fewer runs."""
    sides = comparison.before, comparison.after
    return min(0 if side is None else side.n for side in sides)


def newly_failed_rails(rails: Sequence[GuardRail], before: set[str]) -> list[GuardRail]:
    """Return the guard rails that failed, by their latest result, except for those that were broken
    before the change already: it did not break them."""
    latest = {(rail.name, rail.arm): rail for rail in rails}
    failed = [rail for rail in latest.values() if rail.verdict == "failed"]
    already = {rail.name for rail in failed if rail.arm in before}
    return [rail for rail in failed if rail.arm not in before and rail.name not in already]


def _overall(primaries: Sequence[Comparison], terms: Terms) -> Verdict:
    """The verdict on the change if nothing vetoes it."""
    verdicts = {comparison.verdict for comparison in primaries}
    if terms.catastrophe_only:
        nothing = any(each.before is None or each.after is None for each in primaries)
        return "invalid" if nothing else "inconclusive"
    if "invalid" in verdicts or not verdicts:
        return "invalid"
    if terms.design == "single-flip":
        return "not-judged"
    if "improved" in verdicts and not any(map(_seems_worse, primaries)):
        return "improved"
    if "generator-limited" in verdicts:
        return "generator-limited"
    if not verdicts <= HARMLESS:
        return "inconclusive"
    if len(verdicts) == 1:
        return verdicts.pop()
    return "equivalent" if verdicts <= SAME else "not-worse"


def _seems_worse(comparison: Comparison) -> bool:
    """True if it would have regressed as the only comparison: no proof of harm among so many, but
    reason enough not to keep a change."""
    effect = comparison.effect
    return (
        effect is not None and effect.percent < 0 and may_be_chance(comparison) in comparison.notes
    )


def _action(verdict: Verdict, terms: Terms) -> Literal["keep", "roll-back", "none"]:
    if terms.design in ("single", "paths") or not terms.acts:
        return "none"
    if verdict in ("improved", "regressed"):
        return "keep" if verdict == "improved" else "roll-back"
    if verdict == "not-judged" or (terms.catastrophe_only and verdict != "invalid"):
        return "keep"
    return terms.on_equivalent if verdict in HARMLESS else terms.on_inconclusive


def _explained(verdict: Verdict, primaries: Sequence[Comparison], terms: Terms) -> list[str]:
    """Reasons for the verdict: the comparisons that caused it, and the verdicts of the others."""
    if terms.catastrophe_only and verdict != "invalid":
        return ["no catastrophe and no broken guard rail; so few runs decide nothing else"]
    if verdict == "not-judged":
        return [
            "not judged: all runs before one change, then all runs after it, so drift and the "
            "difference between two boots are in every number. Nothing broke"
        ]
    if not primaries:
        return ["no primary comparison: there is nothing to decide by"]
    makers = [each for each in primaries if _makes(each.verdict, verdict)]
    lines = [f"{comparison_words(each)}: {_standing(each, terms)}" for each in makers]
    rest = [
        f"{workload_and_metric(each)}: {_standing(each, terms)}"
        for each in primaries
        if each not in makers
    ]
    return lines + rest


def _makes(verdict: Verdict, overall: Verdict) -> bool:
    """True if a comparison's verdict causes the overall one."""
    if overall == "inconclusive":
        return verdict not in HARMLESS
    return verdict == overall


def _standing(comparison: Comparison, terms: Terms) -> str:
    """The meaning of a comparison's verdict. An effect is called beyond the margin only if its
    whole interval is."""
    effect, verdict = comparison.effect, comparison.verdict
    said = _MEANS[verdict]
    if effect is None:
        return said
    if verdict == "regressed" and not is_harm(comparison, terms):
        return may_be_chance(comparison)
    if verdict in ("improved", "regressed"):
        margin = margin_of(METRICS[comparison.metric], terms.margins)
        nearest = effect.low95 if verdict == "improved" else -effect.high95
        return f"{said} by more than the margin" if nearest > margin else said
    chance = may_be_chance(comparison)
    return chance if chance in comparison.notes else said


def _otherwise(verdict: Verdict, terms: Terms) -> list[str]:
    """Why the change is kept or rolled back if it has no clear benefit or harm."""
    action = _action(verdict, terms)
    if action == "none" or verdict in ("improved", "not-judged"):
        return []
    if terms.catastrophe_only and verdict != "invalid":
        return []
    done = "kept" if action == "keep" else "rolled back"
    if verdict in HARMLESS:
        return [f"nothing got worse and nothing got better: the change is {done}, as requested"]
    return [f"undecided: the change is {done}, as requested"]
