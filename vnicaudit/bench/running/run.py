"""Measure arms side by side: several paths, or one path in several states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.bench import history
from vnicaudit.bench.facts.covariates import Limits
from vnicaudit.bench.history import Kept
from vnicaudit.bench.judging.terms import Terms, checked
from vnicaudit.bench.paths import GivenPath, domain_of
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.arms import Arm, Opened
from vnicaudit.bench.running.listener import Listener
from vnicaudit.bench.running.measuring import Measuring, Task
from vnicaudit.bench.running.opening import Line, Places
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult, Design


class Asked(NamedTuple):
    """What is asked for. ``arms``: name -> the command that brings it about at the target, of one
    path; ``states``: name -> the command that brings the server into that state."""

    profile: Profile
    paths: tuple[GivenPath, ...]
    arms: dict[str, tuple[str, ...]]
    states: dict[str, tuple[str, ...]]
    labels: dict[str, str]
    line: Line
    seed: int
    limits: Limits


def task_of(asked: Asked) -> Task:
    """What is to be done. Raises UsageError where it makes no sense."""
    design = _design(asked)
    names = tuple(asked.arms) or tuple(path.name for path in asked.paths)
    profile = _in_known_states(asked.profile, asked.states)
    return Task(
        profile=profile,
        design=design,
        arms=names,
        seed=asked.seed,
        terms=terms_of(profile, design),
        limits=asked.limits,
        states=asked.states,
        labels=asked.labels,
    )


def terms_of(profile: Profile, design: Design) -> Terms:
    """By which a measurement with this profile is judged; what was compared is left as it is."""
    return checked(
        Terms(
            acts=False,
            looks=profile.looks,
            alphas=profile.alphas,
            design=design,
            margins=profile.margins,
            catastrophe_only=profile.catastrophe_only,
        )
    )


def bench(asked: Asked, state: Path, listener: Listener) -> tuple[BenchResult, Kept]:
    """Measure; what was measured is kept in ``state``. Whatever was started at the ends is gone
    when this returns, or raises."""
    task = task_of(asked)
    with ExitStack() as stack:
        places = Places(stack, task.seed)
        opened = [places.open(path, asked.line) for path in asked.paths]
        places.require(opened, task.profile.workloads)
        setups = places.setups(opened)
        task = msgspec.structs.replace(task, labels=places.labels(opened) | task.labels)
        kept = history.new(state)
        with told(kept, listener):
            measuring = Measuring(task, kept, listener)
            arms = _arms(asked, opened)
            measuring.found(arms, setups)
            return measuring.interleaved(arms), kept


@contextmanager
def told(kept: Kept, listener: Listener) -> Iterator[None]:
    """Say where it is, when a measurement does not come to its end."""
    try:
        yield
    except BaseException:
        listener.says(f"what was measured so far is kept: {kept.shown_by}")
        raise


def _design(asked: Asked) -> Design:
    if asked.line.hypervisor and not any(domain_of(path.target) for path in asked.paths):
        raise UsageError("--hypervisor is for agent:// targets: of others their QEMU is not known")
    if asked.arms and len(asked.paths) != 1:
        raise UsageError("--arm is for one path: several paths are arms themselves")
    if len(asked.arms) == 1:
        raise UsageError("one --arm alone is compared with nothing: name the state it is in too")
    if asked.arms:
        return "live-flip"
    return "paths" if len(asked.paths) > 1 else "single"


def _in_known_states(profile: Profile, states: dict[str, tuple[str, ...]]) -> Profile:
    """The profile's work in the states that can be brought about. Raises UsageError for a state
    that the profile knows nothing of, and where nothing is left."""
    if unknown := sorted(set(states) - set(profile.states)):
        known = ", ".join(profile.states) or "none"
        raise UsageError(f"profile {profile.name} has no state {unknown[0]!r}; there are: {known}")
    left = tuple(one for one in profile.workloads if not one.state or one.state in states)
    if not left:
        raise UsageError(
            f"profile {profile.name} needs to know how the server is brought into a state: "
            + " ".join(f"--server {name}=COMMAND" for name in profile.states)
        )
    return replace(profile, workloads=left)


def _arms(asked: Asked, opened: list[Opened]) -> list[Opened]:
    """One per path or, of one path, one per state."""
    if not asked.arms:
        return opened
    (only,) = opened
    return [
        only._replace(arm=Arm(name, replace(only.arm.path, name=name), argv))
        for name, argv in asked.arms.items()
    ]
