"""Checks of a profile beyond the types of its keys. All raise UsageError with file and line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import fsum

from vnicaudit.base.wording import close_to
from vnicaudit.bench.contract import Engine
from vnicaudit.bench.judging.statistics import smallest_p
from vnicaudit.bench.judging.terms import MOST_ALPHA
from vnicaudit.bench.metrics import METRICS, is_cost
from vnicaudit.bench.profiles.keys import MOST_RUNS, ProfileTable
from vnicaudit.bench.profiles.place import TablePlace

_ROUNDING = 1e-12


def check_pattern(name: str, engine: Engine, pattern: str, place: TablePlace) -> None:
    """Check that the engine knows the pattern."""
    if pattern not in engine.PATTERNS:
        known = tuple(engine.PATTERNS)
        hint = close_to(pattern, known) or f"; use {', '.join(known)}"
        raise place.error(f"patterns: {name} has no pattern {pattern!r}{hint}", "patterns")


def check_decides(decides: Sequence[str], engine: Engine, pattern: str, place: TablePlace) -> None:
    """Check that the pattern can be judged by these metrics."""
    own = engine.PATTERNS[pattern]
    known = [*own, *(name for name, metric in METRICS.items() if is_cost(metric))]
    for metric in decides:
        if metric not in known:
            hint = close_to(metric, known) or f"; use {', '.join(own)}, or a CPU cost"
            message = f"decides: {pattern!r} cannot be judged by {metric!r}{hint}"
            raise place.error(message, "decides")


def check_margins(table: ProfileTable, place: TablePlace) -> None:
    """Check that margins are for known metrics."""
    for metric in table.margins:
        if metric not in METRICS:
            hint = close_to(metric, tuple(METRICS)) or f"; use {', '.join(METRICS)}"
            raise place.within("margins").error(f"margins: no metric {metric!r}{hint}", metric)


def check_guards(table: ProfileTable, known: Sequence[str], place: TablePlace) -> None:
    """Check that guard rails exist."""
    for guard in table.guards or ():
        if guard not in known:
            hint = close_to(guard, known) or f"; use {', '.join(known)}"
            raise place.error(f"guards: no guard rail {guard!r}{hint}", "guards")


def check_states(table: ProfileTable, place: TablePlace) -> None:
    """Check that each used state is declared, and each declared one is used."""
    used: set[str] = set()
    for index, entry in enumerate(table.workload):
        used.update(entry.states)
        for state in entry.states:
            if state not in table.states:
                hint = close_to(state, tuple(table.states))
                message = f"states: {state!r} is not declared in [states]{hint}"
                raise place.within("workload", index).error(message, "states")
    for state in table.states:
        if state not in used:
            message = f"states: no workload is run in the state {state!r}"
            raise place.within("states").error(message, state)


def check_id(identity: str, others: Collection[str], place: TablePlace) -> None:
    """Check that no two workloads have the same id."""
    if identity in others:
        raise place.error(f"two workloads are {identity}: make them differ, or give one a name")


def check_interim_analyses(
    table: ProfileTable, looks: Sequence[int], alphas: Sequence[float], place: TablePlace
) -> None:
    """Check that the interim analyses are possible, and can decide something."""
    if table.repeats is not None and (table.looks or table.alphas):
        raise place.error("repeats: set either that, or looks and alphas", "repeats")
    key = "repeats" if table.repeats is not None else "looks"
    if list(looks) != sorted(set(looks)):
        raise place.error("looks: each must be greater than the one before", key)
    if len(alphas) != len(looks):
        raise place.error(f"alphas: there must be one for each of the {len(looks)} looks", "alphas")
    if fsum(alphas) > MOST_ALPHA + _ROUNDING:
        raise place.error(
            f"alphas: they add up to {fsum(alphas):g}; at most {MOST_ALPHA:g}", "alphas"
        )
    if not table.catastrophe_only:
        _check_power(looks, alphas, key, place)
    turns = list(table.turns)
    if turns and (turns != sorted(set(turns)) or turns[0] < 2):
        raise place.error("turns: at least two, each greater than the one before", "turns")


def _check_power(
    looks: Sequence[int], alphas: Sequence[float], key: str, place: TablePlace
) -> None:
    """Check that arms whose runs do not overlap at all would be told apart."""
    for look, alpha in zip(looks, alphas, strict=True):
        if smallest_p(look, look) > alpha:
            enough = next((n for n in range(look, MOST_RUNS) if smallest_p(n, n) <= alpha), None)
            message = (
                f"{key}: with {look} runs per arm, nothing can be shown at an error probability "
                f"of {alpha:g}"
            )
            takes = "" if enough is None else f"; it takes {enough}, or catastrophe-only = true"
            raise place.error(message + takes, key)
