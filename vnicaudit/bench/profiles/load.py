"""Load a profile: a shipped one by its name, a user's own by its path. A mistake in it is a usage
error that names the file, the table and the key.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from typing import NamedTuple

from msgspec.structs import replace

import vnicaudit
from vnicaudit.audit.settings.file import read_settings_file
from vnicaudit.base.wording import close_to
from vnicaudit.bench.contract import Engine
from vnicaudit.bench.engines import load_engine
from vnicaudit.bench.facts.guards import GUARDS
from vnicaudit.bench.judging.terms import DEFAULT, MOST_ALPHA, fewest_runs
from vnicaudit.bench.line_rate import parse_rate
from vnicaudit.bench.metrics import METRICS, is_cost
from vnicaudit.bench.profiles.keys import ProfileTable, TablePlace, WorkloadTable, checked_table
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Direction, Workload

# Checks of a profile beyond the types of its keys. All raise UsageError with the place.


def _check_known(
    key: str, names: Iterable[str], known: Collection[str], what: str, place: TablePlace
) -> None:
    """Check that all ``names`` under a key are ``known``. ``what``: the kind of thing they are."""
    for name in names:
        if name not in known:
            all_known = f"; use {', '.join(known)}" if known else ""
            hint = close_to(name, tuple(known)) or all_known
            raise place.error(f"{key}: {what} {name!r}{hint}")


def _check_workload_keys(table: WorkloadTable, engine: Engine, place: TablePlace) -> None:
    """Check that the engine knows the patterns, and that they can be judged by these metrics."""
    patterns = tuple(engine.PATTERNS)
    for pattern in table.patterns:
        if pattern not in engine.PATTERNS:  # some take any number of sizes
            _check_known("patterns", [pattern], patterns, f"{table.engine} has no pattern", place)
        costs = (name for name, metric in METRICS.items() if is_cost(metric))
        judged = (*engine.PATTERNS[pattern], *costs)
        _check_known("decides", table.decides, judged, f"{pattern!r} cannot be judged by", place)


def _check_states(table: ProfileTable, file: str) -> None:
    """Check that each used state is declared, and each declared one is used."""
    used: set[str] = set()
    for number, entry in enumerate(table.workload, 1):
        used.update(entry.states)
        place = TablePlace(file, number)
        _check_known("states", entry.states, table.states, "not declared in [states]:", place)
    for state in table.states:
        if state not in used:
            raise TablePlace(file).error(f"states: no workload is run in the state {state!r}")


def _check_repeats(table: ProfileTable, place: TablePlace) -> None:
    """Check that arms whose runs do not overlap at all would be told apart."""
    runs, enough = table.repeats, fewest_runs(MOST_ALPHA, 1)
    if table.catastrophe_only or runs is None or runs >= enough:
        return
    raise place.error(
        f"repeats: with {runs} runs per arm, nothing can be shown at an error probability of "
        f"{MOST_ALPHA:g}; it takes {enough}, or catastrophe-only = true"
    )


# A table of a profile -> workloads: one for every combination of its lists, each with a readable id
# that is always the same for the same work, whatever else is run.


MOST = 1000
"""Maximum number of workloads of one table: more would run for days."""

_SHOWN = 4


class _Combination(NamedTuple):
    """One value of each list; None if the table leaves it to the pattern."""

    pattern: str
    direction: Direction | None
    generators: int
    connections: int | None
    size: float | None
    rate: float | None
    state: str


def workloads(table: WorkloadTable, place: TablePlace) -> list[Workload]:
    """Every combination, in the order of the table. Raises UsageError for one that its engine
    cannot run."""
    try:
        engine = load_engine(table.engine)
    except UsageError as error:
        raise place.error(f"engine: {error}") from None
    _check_workload_keys(table, engine, place)
    found = [_workload(table, engine, chosen, place) for chosen in _combinations(table, place)]
    return _with_primaries(found, table.primary, place)


def _combinations(table: WorkloadTable, place: TablePlace) -> Iterator[_Combination]:
    lists = (
        table.patterns,
        table.directions or (None,),
        table.generators,
        table.connections or (None,),
        _amounts(table.sizes, 1024, "sizes", place) or (None,),
        _amounts(table.rates, 1000, "rates", place) or (None,),
        table.states or ("",),
    )
    number = math.prod(map(len, lists))
    if number > MOST:
        raise place.error(f"{number} workloads in one table; at most {MOST}")
    return (_Combination(*chosen) for chosen in product(*lists))


def _amounts(
    values: Sequence[int | float | str], base: int, key: str, place: TablePlace
) -> list[float]:
    found = []
    for value in values:
        number = amount(value, base)
        if number is None or (key == "sizes" and number % 1):
            example = '1500 or "64K"' if key == "sizes" else '5000 or "2.5G"'
            raise place.error(f"{key}: {value!r} is invalid; expected a value such as {example}")
        found.append(number)
    return found


def _workload(
    table: WorkloadTable, engine: Engine, chosen: _Combination, place: TablePlace
) -> Workload:
    """One workload for its engine; without a direction, the first direction that the engine
    accepts."""
    metrics = engine.PATTERNS[chosen.pattern]
    directions = usual_directions(metrics) if chosen.direction is None else (chosen.direction,)
    problems = []
    for direction in directions:
        workload = Workload(
            id="",
            engine=table.engine,
            pattern=chosen.pattern,
            direction=direction,
            connections=chosen.connections or chosen.generators,
            generators=chosen.generators,
            size=None if chosen.size is None else int(chosen.size),
            seconds=table.seconds,
            warmup=table.warmup,
            rate=chosen.rate,
            decides=table.decides or tuple(metrics[:1]),
            state=chosen.state,
            options=table.options,
        )
        workload = replace(workload, id=identity(workload, metrics, table.name))
        try:
            engine.check(workload)
        except UsageError as error:
            said = str(error)
            problems.append(said if workload.id in said else f"{workload.id}: {said}")
        else:
            return workload
    raise place.error(problems[0])


def _with_primaries(
    found: list[Workload], primary: bool | tuple[str, ...], place: TablePlace
) -> list[Workload]:
    """The workloads, with those marked as primary that the table names."""
    if isinstance(primary, bool):
        return [replace(workload, primary=primary) for workload in found]
    for pattern in primary:
        if not any(fnmatchcase(workload.id, pattern) for workload in found):
            ids = [workload.id for workload in found]
            few = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
            raise place.error(f"primary: {pattern!r} matches no id; the ids are {few}")
    return [
        replace(workload, primary=any(fnmatchcase(workload.id, pattern) for pattern in primary))
        for workload in found
    ]


_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kKmMgG]?)", re.ASCII)
_LETTERS = "kmg"


def amount(value: int | float | str, base: int) -> float | None:
    """A number, or a text with ``k``, ``M`` or ``G``, powers of ``base``; None if it is neither, or
    not above 0."""
    if not isinstance(value, str):
        return float(value) if 0 < value < base**6 else None
    match = _AMOUNT.fullmatch(value.strip())
    if match is None:
        return None
    power = _LETTERS.find(match.group(2).lower()) + 1 if match.group(2) else 0
    return round(float(match.group(1)) * base**power, 6) or None


def short(value: float, base: int) -> str:
    """The shortest text of an amount, for ids: 65536 is ``64k`` with the base 1024."""
    for power in (3, 2, 1):
        if value % base**power == 0:
            return f"{value / base**power:.0f}{_LETTERS[power - 1]}"
    return f"{value:.6f}".rstrip("0").rstrip(".")


_QUERIES = "query_rate"
_ANSWERED = {_QUERIES, "transaction_rate", "connection_rate"}


def usual_directions(metrics: Sequence[str]) -> tuple[Direction, ...]:
    """Directions of a pattern that can be judged by ``metrics``, the usual one first: if requests
    are answered, the load goes in both directions."""
    return ("both",) if _ANSWERED & set(metrics) else ("tx", "rx")


def identity(workload: Workload, metrics: Sequence[str], name: str | None) -> str:
    """``iperf3.tcp.tx.c1.64k``, ``rr.rr1c-200x1000.c50``, ``dnsperf.capacity.g2@querylog``:
    defaults of the pattern are left out. ``metrics`` are those of the pattern."""
    queries = _QUERIES in metrics
    one_way = usual_directions(metrics) == (workload.direction,)
    alike = queries and workload.connections == workload.generators
    parts = (
        workload.engine,
        workload.pattern,
        "" if one_way else workload.direction,
        "" if alike else f"c{workload.connections}",
        f"g{workload.generators}" if queries or workload.generators != 1 else "",
        "" if workload.size is None else short(workload.size, 1024),
        "" if workload.rate is None else f"r{short(workload.rate, 1000)}",
        name or "",
    )
    return ".".join(filter(None, parts)) + (f"@{workload.state}" if workload.state else "")


FOLDER = os.path.join(os.path.dirname(vnicaudit.__file__), "templates", "profiles")
_SUFFIX = ".toml"


@cache
def shipped_profiles() -> tuple[str, ...]:
    """The names of the profiles that come with the program, sorted."""
    names = (name for name in os.listdir(FOLDER) if name.endswith(_SUFFIX))
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names))


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile, or a user's own: a path ends in ``.toml``. Raises UsageError for
    anything wrong in it."""
    path = _path(name_or_path)
    source = read_settings_file(path, explicit=True)
    if source is None:  # a named file has a table, or is an error
        raise UsageError(f"{path}: not a profile")
    name = os.path.basename(path).removesuffix(_SUFFIX)
    return _profile(name, checked_table(source.table, path), path)


def _path(name_or_path: str) -> str:
    if name_or_path.endswith(_SUFFIX):
        return name_or_path
    if name_or_path in shipped_profiles():
        return os.path.join(FOLDER, name_or_path + _SUFFIX)
    hint = close_to(name_or_path, shipped_profiles()) or f"; use {', '.join(shipped_profiles())}"
    raise UsageError(
        f"no profile {name_or_path!r}{hint} (the path of your own profile must end in .toml)"
    )


def _profile(name: str, table: ProfileTable, file: str) -> Profile:
    place = TablePlace(file)
    looks, alphas = DEFAULT.looks, DEFAULT.alphas
    if table.repeats is not None:
        looks, alphas = (table.repeats,), (MOST_ALPHA,)
    _check_repeats(table, place)
    _check_known("margins", table.margins, METRICS, "no metric", place)
    _check_known("guards", table.guards or (), tuple(GUARDS), "no guard rail", place)
    _check_states(table, file)
    try:
        line_rate = None if table.line_rate is None else parse_rate(table.line_rate)
    except UsageError as error:
        raise place.error(f"line-rate: {error}") from None
    return Profile(
        name=name,
        title=table.title,
        sources=table.sources,
        runs_per_turn=table.runs_per_turn,
        catastrophe_only=table.catastrophe_only,
        designs=table.designs,
        guards=table.guards,
        cooldown=table.cooldown,
        max_steal=table.max_steal,
        max_cpu_wait=table.max_cpu_wait,
        encapsulation=table.encapsulation,
        states=table.states,
        description=table.description.strip(),
        workloads=_workloads(table, file),
        looks=looks,
        alphas=alphas,
        line_rate=line_rate,
        margins={metric: percent / 100 for metric, percent in table.margins.items()},
    )


def _workloads(table: ProfileTable, file: str) -> tuple[Workload, ...]:
    found: dict[str, Workload] = {}
    for number, entry in enumerate(table.workload, 1):
        place = TablePlace(file, number)
        for workload in workloads(entry, place):
            if workload.id in found:
                raise place.error(
                    f"two workloads are {workload.id}: make them differ, or give one a name"
                )
            found[workload.id] = workload
    return tuple(found.values())
