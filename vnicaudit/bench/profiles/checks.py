"""Checks of a profile beyond the types of its keys. All raise UsageError with file and line."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from vnicaudit.base.wording import close_to
from vnicaudit.bench.contract import Engine
from vnicaudit.bench.judging.statistics import smallest_p
from vnicaudit.bench.judging.terms import MOST_ALPHA
from vnicaudit.bench.metrics import METRICS, is_cost
from vnicaudit.bench.profiles.keys import MOST_RUNS, ProfileTable
from vnicaudit.bench.profiles.table import TablePlace


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


def check_repeats(table: ProfileTable, place: TablePlace) -> None:
    """Check that arms whose runs do not overlap at all would be told apart."""
    runs = table.repeats
    if table.catastrophe_only or runs is None or smallest_p(runs, runs) <= MOST_ALPHA:
        return
    enough = next(n for n in range(runs, MOST_RUNS) if smallest_p(n, n) <= MOST_ALPHA)
    raise place.error(
        f"repeats: with {runs} runs per arm, nothing can be shown at an error probability of "
        f"{MOST_ALPHA:g}; it takes {enough}, or catastrophe-only = true",
        "repeats",
    )
