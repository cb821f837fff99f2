"""Change a profile for one run: other options for its engines, or another length of the runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.base.wording import close_to, shortened
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.profiles.registry import ENGINES
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Workload

_SETTING = re.compile(r"([\w-]+)\.([\w-]+)=(.*)", re.DOTALL)


class EngineSetting(NamedTuple):
    """An option of an engine; an empty ``value`` removes the profile's setting."""

    engine: str
    option: str
    value: str


def setting(text: str) -> EngineSetting:
    """The setting in ``dnsperf.name=www.example.org A``. Raises UsageError for invalid text."""
    match = _SETTING.fullmatch(text)
    if match is None:
        raise UsageError(f"{shortened(text)!r}: expected ENGINE.OPTION=VALUE")
    return EngineSetting(*match.groups())


def with_options(profile: Profile, settings: Sequence[EngineSetting]) -> Profile:
    """Return the profile with these options. Raises UsageError if an engine does not accept
    them."""
    engines = sorted({workload.engine for workload in profile.workloads})
    for each in settings:
        if each.engine not in engines:
            hint = close_to(each.engine, engines) or f"; its engines are {', '.join(engines)}"
            raise UsageError(f"profile {profile.name} does not use engine {each.engine!r}{hint}")
    return _checked(profile, (_changed(workload, settings) for workload in profile.workloads))


def with_seconds(profile: Profile, seconds: float) -> Profile:
    """Return the profile with runs of that length. Raises UsageError if an engine does not accept
    it."""
    return _checked(profile, (replace(each, seconds=seconds) for each in profile.workloads))


def _checked(profile: Profile, changed: Iterable[Workload]) -> Profile:
    workloads = tuple(changed)
    for workload in workloads:
        ENGINES.load(workload.engine).check(workload)
    return replace(profile, workloads=workloads)


def _changed(workload: Workload, settings: Sequence[EngineSetting]) -> Workload:
    own = {each.option: each.value for each in settings if each.engine == workload.engine}
    options = {name: value for name, value in {**workload.options, **own}.items() if value}
    return replace(workload, options=options)
