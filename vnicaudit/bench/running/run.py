"""Measure arms side by side: several paths, or one path in several states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.bench import history
from vnicaudit.bench.endpoints.opening import PathOption
from vnicaudit.bench.endpoints.turns import TURN_SECONDS
from vnicaudit.bench.history import StoredMeasurement
from vnicaudit.bench.judging.terms import Terms, checked_terms
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.running.collector import MeasurementTerms
from vnicaudit.bench.running.forecast import Listener
from vnicaudit.bench.running.measuring import Measuring
from vnicaudit.bench.running.opening import (
    SHIPPED,
    ArmCommands,
    BenchPlugins,
    OpenedArm,
    OpenedEndpoints,
    prepare_engines,
)
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult, Design
from vnicaudit.remedy.hypervisor import GetAdapters


class MeasurementRequest(NamedTuple):
    """The options of ``bench run``. ``arms``: name -> the commands that switch the ends to it, for
    one path; ``states``: name -> the command that switches the server to that state.
    ``patience``: seconds to wait for other measurements at its ends."""

    profile: Profile
    paths: tuple[PathOption, ...]
    arms: dict[str, ArmCommands]
    states: dict[str, tuple[str, ...]]
    labels: dict[str, str]
    seed: int
    adapters: GetAdapters
    patience: float = TURN_SECONDS
    plugins: BenchPlugins = SHIPPED


def measurement_terms_of(request: MeasurementRequest) -> MeasurementTerms:
    """The measurement that a request asks for. Raises UsageError if the request is inconsistent."""
    design = _design(request)
    names = tuple(request.arms) or tuple(path.name for path in request.paths)
    return MeasurementTerms(
        profile=_in_known_states(request.profile, request.states),
        arms=names,
        seed=request.seed,
        terms=terms_of(request.profile, design),
        states=request.states,
        labels=request.labels,
        plugins=request.plugins,
    )


def terms_of(profile: Profile, design: Design) -> Terms:
    """The terms by which a measurement with this profile is judged; nothing is changed by its
    outcome."""
    return checked_terms(
        Terms(
            acts=False,
            looks=profile.looks,
            alphas=profile.alphas,
            design=design,
            margins=profile.margins,
            catastrophe_only=profile.catastrophe_only,
        )
    )


def bench(
    request: MeasurementRequest, state: Path, listener: Listener
) -> tuple[BenchResult, StoredMeasurement]:
    """Measure; the result is stored in ``state``. Everything started at the ends is gone when this
    returns, or raises."""
    terms = measurement_terms_of(request)
    with ExitStack() as stack:
        places = OpenedEndpoints(
            stack, request.adapters, terms.seed, listener.says, request.patience
        )
        opened = []
        for path in request.paths:
            listener.prepares(f"connecting to {path.target} and {path.peer}")
            opened.append(places.open(path, terms.profile))
        prepare_engines(terms.profile, opened, listener, request.plugins)
        listener.prepares("checking tools, versions and settings")
        places.require(opened, terms.profile.workloads)
        setups = places.setups(opened)
        labels = places.labels(opened)
        kept = history.new_measurement(state)
        with reporting_where_stored(kept, listener):
            measuring = Measuring(terms, kept, listener)
            arms = _arms(request, opened)
            measuring.note_setups(arms, setups, labels)
            return measuring.interleaved(arms), kept


@contextmanager
def reporting_where_stored(kept: StoredMeasurement, listener: Listener) -> Iterator[None]:
    """If the measurement does not reach its end, report where it is stored."""
    try:
        yield
    except BaseException:
        listener.says(f"the measurement so far is stored: {kept.shown_by}")
        raise


def _design(request: MeasurementRequest) -> Design:
    if request.arms and len(request.paths) != 1:
        raise UsageError("--arm needs exactly one path: several paths are arms themselves")
    if len(request.arms) == 1:
        raise UsageError(
            "a single --arm has nothing to compare with: add one for the present state"
        )
    if request.arms:
        return "live-flip"
    return "paths" if len(request.paths) > 1 else "single"


def _in_known_states(profile: Profile, states: dict[str, tuple[str, ...]]) -> Profile:
    """The profile's workloads in the states that can be reached. Raises UsageError for a state that
    the profile does not have, or if no workload remains."""
    if unknown := sorted(set(states) - set(profile.states)):
        known = ", ".join(profile.states) or "none"
        raise UsageError(f"profile {profile.name} has no state {unknown[0]!r}; its states: {known}")
    left = tuple(one for one in profile.workloads if not one.state or one.state in states)
    if not left:
        raise UsageError(
            f"profile {profile.name} needs the commands that switch the server's state: "
            + " ".join(f"--server {name}=COMMAND" for name in profile.states)
        )
    return replace(profile, workloads=left)


def _arms(request: MeasurementRequest, opened: list[OpenedArm]) -> list[OpenedArm]:
    """One arm per path or, for one path, one per state."""
    if not request.arms:
        return opened
    (only,) = opened
    return [only.renamed(name)._replace(enter=commands) for name, commands in request.arms.items()]
