"""How guests will be measured while a plan is applied, and what that costs, before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from vnicaudit.base.wording import count
from vnicaudit.bench.judging.terms import turns_decide, usual_turns
from vnicaudit.bench.trials.request import cost
from vnicaudit.reports.bench.words.quantity import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vnicaudit.bench.profiles.profile import Profile
    from vnicaudit.bench.trials.request import TrialRequest
    from vnicaudit.cli.remedy.apply_bench import BenchOptions
    from vnicaudit.model.measurement import Design
    from vnicaudit.model.plan import Mode
    from vnicaudit.remedy.applying.journal.run_request import UnitRequest

TrialDesign = Literal["flips", "single-flip"]
_ONCE: Literal["single-flip"] = "single-flip"
_ALTERNATING = frozenset({"flips", "boots"})


def design_of(options: BenchOptions, profile: Profile, units: Sequence[UnitRequest]) -> TrialDesign:
    """The design to use. ``auto``: the first design of the profile that is possible with a plan. If
    it has none, alternate, provided that is possible and the profile can decide that way."""
    if options.bench_design != "auto":
        return options.bench_design
    if next((one for one in profile.designs if one in _ALTERNATING | {_ONCE}), "") == _ONCE:
        return _ONCE
    one_nic = all(len(unit.macs) == 1 and unit.uuid is not None for unit in units)
    return "flips" if one_nic and not profile.catastrophe_only else _ONCE


def _measured_design(design: TrialDesign, mode: Mode) -> Design:
    """The design as named in results: flips with restarts are boots."""
    turning: Design = "boots" if mode == "restart" else "flips"
    return turning if design == "flips" else design


def tell_cost(
    design: TrialDesign, trial: TrialRequest, mode: Mode, units: Sequence[UnitRequest]
) -> None:
    """Print how long measuring takes, before it starts."""
    restarts = mode == "restart"
    found = cost(trial.profile, _measured_design(design, mode), trial.seed)
    each = f"Measuring: {count(sum(len(unit.macs) for unit in units), 'NIC')}, for each"
    if design == _ONCE:
        trial.listener.says(f"{each} about {duration(found.seconds)}")
        return
    changed = "power cycle" if restarts else "hot swap"
    trial.listener.says(
        f"{each} {found.turns} turns with {count(found.changes, changed)}, about "
        f"{duration(found.seconds)}; if that is not conclusive, up to {found.most_turns} turns "
        f"with {count(found.most_changes, changed)}, about {duration(found.most_seconds)}"
    )
    _tell_what_no_turns_decide(trial)


def _tell_what_no_turns_decide(trial: TrialRequest) -> None:
    """Print a warning if the profile has too few turns for its number of primary comparisons."""
    profile = trial.profile
    if turns_decide(profile.turns, profile.comparisons):
        return
    enough = usual_turns(profile.comparisons)
    trial.listener.says(
        f"with {profile.turns[-1]} turns of each arm, no difference among {profile.comparisons} "
        f"primary comparisons can be told from chance: profile {profile.name} needs {enough[-1]} "
        f"turns (turns = {list(enough)}), or fewer primary workloads"
    )
