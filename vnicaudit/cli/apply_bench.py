"""``vnicaudit apply --bench``: measure each guest before and after, keep or take back."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.bench_options import line_of, max_steal_option
from vnicaudit.cli.doing import ROLLED_BACK, print_result
from vnicaudit.cli.options import together
from vnicaudit.cli.reading import screen
from vnicaudit.cli.remedy_options import state_folder
from vnicaudit.cli.telling import telling
from vnicaudit.errors import UsageError
from vnicaudit.text.own_commands import command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vnicaudit.bench.trials.made import TrialsMade
    from vnicaudit.bench.trials.order import TrialOrder
    from vnicaudit.model.measurement import BenchResult, Design
    from vnicaudit.model.plan import Mode, Step
    from vnicaudit.remedy.applying.engine import Order

_SEED_MAX = 2**32
_ABOUT = (
    "bench_peer", "bench_design", "on_inconclusive", "max_steal", "line_rate", "encapsulation",
    "hypervisor",
)  # fmt: skip
"""Options that say something about a measurement."""

bench_options = together(
    click.option(
        "--bench",
        metavar="NAME|FILE",
        help="Measure each guest by this profile before and after (`vnicaudit bench profiles`), "
        "one guest after the other; what regressed is taken back, exit code 6. Needs the guest's "
        "agent, and the profile's tools in the guest and at the peer.",
    ),
    click.option(
        "--bench-peer",
        metavar="URL",
        default="local",
        show_default=True,
        help="The endpoint that sends the load (ssh://root@gen1).",
    ),
    click.option(
        "--bench-design",
        type=click.Choice(["single-flip", "flips", "shadow"]),
        default="single-flip",
        show_default=True,
        help="single-flip: measure, change, measure. flips: change and take back again and again, "
        "in turns, which tells drift (and with --mode restart what boots differ by) from "
        "the change, and interrupts the guest each time. shadow: plug the new NIC in beside the "
        "old one, measure both in turns while the old one serves, and change only what got better "
        "(needs --shadow-address, and iproute2 and ping in the guest).",
    ),
    click.option(
        "--shadow-address",
        metavar="IP/LENGTH",
        help="A free IPv4 address in the network of the old NIC, by which the new one is measured "
        "beside it (192.0.2.250/24). The guest has it only meanwhile.",
    ),
    max_steal_option,
    click.option(
        "--on-inconclusive",
        type=click.Choice(["keep", "rollback"]),
        default="rollback",
        show_default=True,
        help="What to do with a change that is proven neither better nor worse.",
    ),
)


def trials_of(order: TrialOrder) -> TrialsMade:
    """What measures the guests of a run, each once before and once after."""
    from vnicaudit.bench.trials.made import TrialsMade

    return TrialsMade(order)


def trial_order(given: dict[str, Any], mode: Mode) -> TrialOrder | None:
    """What is asked for; None where nothing is to be measured. Raises UsageError."""
    if given["bench"] is None:
        _check_alone()
        return None
    if mode == "next-boot":
        raise UsageError(
            "--bench measures what runs: give --mode restart or --mode hotswap with it"
        )
    if given["batch"] > 1:
        raise UsageError("--bench with --batch above 1: guests would disturb each other's runs")
    from vnicaudit.bench.endpoints.opening import parse
    from vnicaudit.bench.facts.covariates import Limits
    from vnicaudit.bench.profiles.load import load_profile
    from vnicaudit.bench.trials.order import TrialOrder
    from vnicaudit.cli.bench_progress import BenchProgress

    parse(given["bench_peer"])  # what is no endpoint is told before anything is measured
    profile = load_profile(given["bench"])
    if profile.states:
        raise UsageError(
            f"profile {profile.name} needs commands that bring the server into its states: "
            "measure with `bench run` before and after"
        )
    steal = given["max_steal"]
    return TrialOrder(
        profile=profile,
        peer=given["bench_peer"],
        line=line_of(given),
        seed=random.SystemRandom().randrange(_SEED_MAX),
        limits=Limits(steal=profile.max_steal if steal is None else steal),
        undecided="keep" if given["on_inconclusive"] == "keep" else "roll-back",
        state=Path(state_folder(given)),
        listener=BenchProgress(quiet=given["quiet"], verbose=given["verbose"]),
    )


def _check_alone() -> None:
    """Raises UsageError where something is said about a measurement that is not asked for."""
    context = click.get_current_context()
    for name in _ABOUT:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} is about a measurement: give --bench PROFILE with it")


def flip(
    steps: Sequence[Step], text: bytes, order: Order, asked: TrialOrder, given: dict[str, Any]
) -> int:
    """Change and take back again and again, domain by domain; the exit code."""
    from vnicaudit.bench.trials.flips import Flips, Guest
    from vnicaudit.bench.trials.plan_flips import PlanFlips
    from vnicaudit.remedy.applying.sheet import steps_of, unit_sheets

    design: Design = "boots" if order.mode == "restart" else "flips"
    units = unit_sheets(steps)
    for unit in units:
        if len(unit.macs) != 1 or unit.uuid is None:
            raise UsageError(
                f"--bench-design flips is for one NIC of a domain: {unit.name} has several in the "
                "plan (vnicaudit plan --nic)"
            )
    code = 0
    for unit in units:
        flips = Flips(asked, design, Guest(unit.target, unit.uuid or "", unit.macs[0]))
        flipping = PlanFlips(steps_of(unit, steps), text, order, telling(quiet=given["quiet"]))
        result = flips.measure(flipping)
        show_result(result, given)
        if result.decision is not None and result.decision.done == "rolled-back":
            code = ROLLED_BACK
    return code


def show_trials(made: TrialsMade | None, given: dict[str, Any]) -> None:
    """Print what was measured."""
    for kept in () if made is None else made.kept():
        show_result(kept.result(), given)


def show_result(result: BenchResult, given: dict[str, Any]) -> None:
    """Print one measurement."""
    from vnicaudit.reports.bench.text import render
    from vnicaudit.reports.safe import safe

    def pieces() -> Iterator[str]:
        yield from render(result, screen(given))
        shown = command(f"bench show {result.run.id}", state_folder(given))
        yield f"Kept as {safe(result.run.id)}: {safe(shown)}\n\n"

    print_result(pieces)
