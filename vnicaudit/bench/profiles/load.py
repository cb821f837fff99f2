"""Load a profile: a shipped one by its name, a user's own by its path. A mistake in it is a usage
error that names file and line."""

from __future__ import annotations

import os
from functools import cache

import vnicaudit
from vnicaudit.audit.settings.file import read_settings_file
from vnicaudit.base.wording import close_to
from vnicaudit.bench.judging.terms import DEFAULT, MOST_ALPHA
from vnicaudit.bench.line_rate import parse_rate
from vnicaudit.bench.profiles import checks
from vnicaudit.bench.profiles.keys import ProfileTable
from vnicaudit.bench.profiles.matrix import workloads
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.profiles.registry import GUARDS
from vnicaudit.bench.profiles.table import TablePlace, TomlLines, checked_table
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload

FOLDER = os.path.join(os.path.dirname(vnicaudit.__file__), "templates", "profiles")
_SUFFIX = ".toml"


@cache
def shipped_profiles() -> tuple[str, ...]:
    """The names of the profiles that come with the program, sorted."""
    names = (name for name in os.listdir(FOLDER) if name.endswith(_SUFFIX))
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names))


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile, or a user's own: a path ends in ``.toml``. Raises UsageError, with file
    and line, for anything wrong in it."""
    path = _path(name_or_path)
    source = read_settings_file(path, explicit=True)
    if source is None:  # a named file has a table, or is an error
        raise UsageError(f"{path}: not a profile")
    place = TablePlace(path, TomlLines(source.text))
    name = os.path.basename(path).removesuffix(_SUFFIX)
    return _profile(name, checked_table(source.table, place), place)


def _path(name_or_path: str) -> str:
    if name_or_path.endswith(_SUFFIX):
        return name_or_path
    if name_or_path in shipped_profiles():
        return os.path.join(FOLDER, name_or_path + _SUFFIX)
    hint = close_to(name_or_path, shipped_profiles()) or f"; use {', '.join(shipped_profiles())}"
    raise UsageError(
        f"no profile {name_or_path!r}{hint} (the path of your own profile must end in .toml)"
    )


def _profile(name: str, table: ProfileTable, place: TablePlace) -> Profile:
    looks, alphas = _interim_analyses(table)
    found = _workloads(table, place)
    checks.check_repeats(table, place)
    checks.check_margins(table, place)
    checks.check_guards(table, GUARDS.names(), place)
    return Profile(
        name=name,
        title=table.title,
        description=table.description.strip(),
        sources=table.sources,
        workloads=found,
        looks=looks,
        alphas=alphas,
        runs_per_turn=table.runs_per_turn,
        catastrophe_only=table.catastrophe_only,
        designs=table.designs,
        guards=table.guards,
        cooldown=table.cooldown,
        max_steal=table.max_steal,
        max_cpu_wait=table.max_cpu_wait,
        line_rate=_line_rate(table, place),
        encapsulation=table.encapsulation,
        margins={metric: percent / 100 for metric, percent in table.margins.items()},
        vcpus=table.vcpus,
        states=table.states,
    )


def _interim_analyses(table: ProfileTable) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The interim analyses, and the error probability that each spends."""
    if table.repeats is None:
        return DEFAULT.looks, DEFAULT.alphas
    return (table.repeats,), (MOST_ALPHA,)


def _line_rate(table: ProfileTable, place: TablePlace) -> float | None:
    try:
        return None if table.line_rate is None else parse_rate(table.line_rate)
    except UsageError as error:
        raise place.error(f"line-rate: {error}", "line-rate") from None


def _workloads(table: ProfileTable, place: TablePlace) -> tuple[Workload, ...]:
    checks.check_states(table, place)
    found: dict[str, Workload] = {}
    for index, entry in enumerate(table.workload):
        inside = place.within("workload", index)
        for workload in workloads(entry, inside):
            checks.check_id(workload.id, found, inside)
            found[workload.id] = workload
    return tuple(found.values())
