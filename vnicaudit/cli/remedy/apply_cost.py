"""How guests will be measured while a plan is applied, and what that costs, before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from vnicaudit.base.wording import count
from vnicaudit.bench.trials.request import cost
from vnicaudit.reports.bench.words.quantity import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vnicaudit.bench.profiles.profile import Profile
    from vnicaudit.bench.trials.request import TrialRequest
    from vnicaudit.model.measurement import Design
    from vnicaudit.model.plan import Mode
    from vnicaudit.remedy.applying.journal.run_request import UnitRequest

TrialDesign = Literal["flips", "single-flip"]
_ONCE: Literal["single-flip"] = "single-flip"
_ALTERNATING = frozenset({"flips", "boots"})


def design_of(profile: Profile, units: Sequence[UnitRequest]) -> TrialDesign:
    """The first design of the profile that is possible with a plan. If it has none, alternate,
    provided that is possible and the profile can decide that way."""
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
