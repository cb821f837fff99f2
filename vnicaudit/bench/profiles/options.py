"""A profile with other options for its engines than it says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.suppression import close_to, shown
from vnicaudit.bench.engine_registry import load
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload

_SETTING = re.compile(r"([\w-]+)\.([\w-]+)=(.*)", re.DOTALL)


class Setting(NamedTuple):
    """An option of an engine; an empty ``value`` takes away what the profile says."""

    engine: str
    option: str
    value: str


def setting(text: str) -> Setting:
    """``dnsperf.name=www.example.org A``. Raises UsageError for what is none."""
    match = _SETTING.fullmatch(text)
    if match is None:
        raise UsageError(f"{shown(text)!r}: give it as ENGINE.OPTION=VALUE")
    return Setting(*match.groups())


def with_options(profile: Profile, settings: Sequence[Setting]) -> Profile:
    """The same with these options. Raises UsageError where an engine does not do it."""
    engines = sorted({workload.engine for workload in profile.workloads})
    for each in settings:
        if each.engine not in engines:
            hint = close_to(each.engine, engines) or f", only by {', '.join(engines)}"
            raise UsageError(f"nothing in profile {profile.name} is run by {each.engine!r}{hint}")
    changed = tuple(_changed(workload, settings) for workload in profile.workloads)
    for workload in changed:
        load(workload.engine).check(workload)
    return replace(profile, workloads=changed)


def _changed(workload: Workload, settings: Sequence[Setting]) -> Workload:
    own = {each.option: each.value for each in settings if each.engine == workload.engine}
    options = {name: value for name, value in {**workload.options, **own}.items() if value}
    return replace(workload, options=options)
