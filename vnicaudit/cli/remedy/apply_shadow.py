"""``vnicaudit apply --bench-design shadow``: measure a new NIC beside the old one, and change if it
helps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vnicaudit.bench.trials.shadow_checks import temporary_address
from vnicaudit.bench.trials.shadow_plug import LeftShadows
from vnicaudit.bench.trials.shadow_trials import ShadowTrials
from vnicaudit.cli.options.remedy import RemedyOptions
from vnicaudit.cli.output.telling import RunTelling
from vnicaudit.cli.remedy.apply_bench import ApplyOptions, BenchOptions, print_trials
from vnicaudit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Interface

    from vnicaudit.bench.trials.request import TrialRequest
    from vnicaudit.model.plan import Step
    from vnicaudit.remedy.adapters import GetAdapters
    from vnicaudit.remedy.applying.apply import RunContext


def shadow_address(options: BenchOptions) -> IPv4Interface | None:
    """The temporary address; None for another design. Raises UsageError if either is used without
    the other."""
    text = options.shadow_address
    wanted = options.bench is not None and options.bench_design == "shadow"
    if not wanted and text is None:
        return None
    if not wanted or text is None:
        raise UsageError(
            "--bench with --bench-design shadow needs --shadow-address IP/LENGTH, and only then: "
            "a free address in the old NIC's network, used to measure the new NIC"
        )

    return temporary_address(text)


def take_shadows_out(options: RemedyOptions, adapters: GetAdapters) -> None:
    """Remove shadow NICs that a dead process left in guests, and say so."""
    state = Path(options.folder)
    if not (state / "shadows").is_dir():
        return

    connection = options.connection
    say = RunTelling(quiet=options.output.quiet)
    left = LeftShadows(state, adapters(), say, frozenset(connection.trusted_uris))
    left.take_out(connection.deadline)


def measure_beside(
    steps: Sequence[Step],
    text: bytes,
    context: RunContext,
    trial: TrialRequest,
    address: IPv4Interface,
    options: ApplyOptions,
) -> int:
    """Domain by domain, measure, and apply the steps if the result says so; returns the exit code.
    ``text``: contents of the plan file."""
    say = RunTelling(quiet=options.output.quiet)
    trials = ShadowTrials(steps, text, context, trial, address, say)
    return print_trials(trials, options, context.kinds)
