"""Numbers and verdicts in words, for the person responsible for the change."""

from __future__ import annotations

from vnicaudit.model.measurement import Comparison, Effect, GuardRail

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def amount(value: float, unit: str) -> str:
    """``9.41 Gb/s``, ``18.0 k/s``, ``812 µs``: three digits, as a median is not more exact."""
    if unit == "us":
        for factor, name in ((1e6, "s"), (1e3, "ms")):
            if abs(value) >= factor:
                return f"{_digits(value / factor)} {name}"
    if unit in ("bit/s", "1/s"):
        for factor, prefix in _PREFIXES:
            if abs(value) >= factor:
                return (
                    f"{_digits(value / factor)} {prefix}{unit.removeprefix('1').replace('it', '')}"
                )
    return f"{_digits(value)} {unit.replace('us', 'µs').replace('bit', 'b')}"


def _digits(value: float) -> str:
    places = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return f"{value:,.{places}f}" if abs(value) < 1e9 else f"{value:.2e}"


def signed(value: float) -> str:
    """``-7.2``, ``+0.4``, ``+5,800``."""
    places = 1 if abs(value) < 1000 else 0
    return f"{value:+,.{places}f}" if abs(value) < 1e9 else f"{value:+.1e}"


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
    effect = comparison.effect
    centres = (None, None) if effect is None else (effect.before, effect.after)
    sides = [
        "nothing"
        if side is None
        else f"{amount(side.median if at is None else at, comparison.unit)} ({side.n} runs)"
        for side, at in zip((comparison.before, comparison.after), centres, strict=True)
    ]
    names = comparison.before_arm, comparison.after_arm
    return ", ".join(f"{name} {side}" for name, side in zip(names, sides, strict=True))


def _effect(effect: Effect, unit: str) -> str:
    how = "worse" if effect.percent < 0 else "better"
    size = signed(effect.percent).lstrip("+-")
    interval = f"{signed(effect.low95)} to {signed(effect.high95)} {unit}"
    return f"{size} {unit} {how} (95 % interval {interval}; minus is worse)"


def effect_unit(unit: str) -> str:
    """The unit of an effect on a metric with this one."""
    return "percentage points" if unit == "%" else "%"


def rail_words(rail: GuardRail) -> str:
    """A guard rail that is not ok."""
    how = "failed" if rail.verdict == "failed" else "could not be checked"
    return f"guard rail {rail.name} {how} ({rail.arm})" + (
        f": {rail.detail}" if rail.detail else ""
    )
