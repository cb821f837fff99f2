"""Choices that a profile leaves open until the ends are known: made once for all arms, before the
first run, so that all of them are measured in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.profiles.registry import BenchPlugins
from vnicaudit.bench.running.arms import OpenedArm
from vnicaudit.bench.running.listener import Listener
from vnicaudit.model.measurement import Workload


def settled_profile(
    profile: Profile, opened: Sequence[OpenedArm], listener: Listener, plugins: BenchPlugins
) -> Profile:
    """The profile with all open options chosen; remarks on a choice are passed to the listener.
    Raises EndpointError if an end is lost."""
    ends = [each.ends for each in opened]
    found = [
        plugins.engines.load(workload.engine).settled(workload, ends)
        for workload in profile.workloads
    ]
    for note in dict.fromkeys(one.note for one in found if one.note):
        listener.says(note)
    return replace(profile, workloads=tuple(one.workload for one in found))


def is_settled_of(settled: Sequence[Workload], asked: Sequence[Workload]) -> bool:
    """True if ``settled`` are the requested workloads ``asked``, with only options added."""
    return len(settled) == len(asked) and all(
        replace(one, options=other.options) == other
        and one.options.items() >= other.options.items()
        for one, other in zip(settled, asked, strict=True)
    )
