"""``vnicaudit bench run``: measure one path, or compare several, or states of one."""

from __future__ import annotations

import random
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from vnicaudit.cli.bench_options import (
    commands_of,
    fail_on_option,
    labels_of,
    line_of,
    line_options,
    max_steal_option,
    readable,
    report_options,
)
from vnicaudit.cli.options import Number, output_options
from vnicaudit.cli.remedy_options import state_folder, state_option
from vnicaudit.errors import UsageError

if TYPE_CHECKING:
    from vnicaudit.bench.profiles.profile import Profile
    from vnicaudit.bench.running.run import Asked

_SEED_MAX = 2**32

_EPILOG = """\b
A path is [NAME=]TARGET[,PEER]. TARGET is the end under test; PEER sends the load,
from this machine where none is named. Both are endpoints: local, netns://NAME,
ssh://[user@]host[:port], docker://NAME, podman://NAME, kubectl://POD?namespace=…,
agent://DOMAIN (inside a guest, through its guest agent). ?address=IP says where
an endpoint is reached.

\b
Examples:
  vnicaudit bench run agent://web01 --profile smoke
  vnicaudit bench run ssh://root@192.0.2.7,ssh://root@192.0.2.9 -o before.json
  vnicaudit bench run agent://web01 --profile quick \\
      --arm 'one=ethtool -L eth0 combined 1' --arm 'four=ethtool -L eth0 combined 4'
  vnicaudit bench run host=ssh://kvm7,ssh://kvm8 vm=agent://web01,ssh://kvm8 \\
      --profile line-100g --line-rate 100G
  vnicaudit bench run agent://ns1 --profile switch-dns --server 'plain=rndc querylog off' \\
      --server 'querylog=rndc querylog on' --label vcpus=2

\b
Exit codes: 0 measured, 1 something regressed (--fail-on never: 0), 2 usage, 4 an
endpoint could not be reached or too few runs count, 130 interrupted."""


@click.command("run", epilog=_EPILOG)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "-p",
    "--profile",
    default="quick",
    show_default=True,
    metavar="NAME|FILE",
    help="What is measured: see `vnicaudit bench profiles`.",
)
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="NAME=COMMAND",
    help="Compare states of one path: the COMMAND, run at the target, brings the state about. The "
    "first is how the target is found, and how it is left. Repeatable.",
)
@click.option(
    "--server",
    "states",
    multiple=True,
    metavar="NAME=COMMAND",
    help="How the server is brought into a state that the profile names. The first is how it is "
    "found, and how it is left. Repeatable.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="ENGINE.OPTION=VALUE",
    help="An engine's option, in the place of the profile's: dnsperf.name='www.example.org A'. "
    "Repeatable.",
)
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="Note it. Repeatable.")
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help="Only workloads whose id matches (`iperf3.tcp.*`). Repeatable.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1, max=100),
    metavar="N",
    help="So many runs of each workload in each arm, in the place of the profile's looks.",
)
@click.option(
    "--seconds",
    type=Number(min=1, max=86_400),
    metavar="S",
    help="Length of a run, in the place of the profile's.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0, max=_SEED_MAX),
    metavar="N",
    help="For the order of the runs; kept with the result.  [default: drawn]",
)
@max_steal_option
@fail_on_option
@line_options
@report_options
@state_option
@output_options
def command(paths: tuple[str, ...], **given: Any) -> int:
    """Measure PATHs by a profile: one, several side by side, or one in several states.

    The order of the runs is random, one run is one sample, and what does not count is told by the
    machines' state, never by its result. All is kept: see `vnicaudit bench show`.
    """
    from vnicaudit.bench.running.run import bench, task_of
    from vnicaudit.cli.bench_output import check_places, code_of, write_kept
    from vnicaudit.cli.bench_progress import BenchProgress

    check_places(given)
    asked = _asked(paths, given)
    task_of(asked)
    progress = BenchProgress(quiet=given["quiet"], verbose=given["verbose"])
    try:
        result, kept = bench(asked, Path(state_folder(given)), progress)
    finally:
        progress.clear()
    write_kept(result, kept, given)
    return code_of(result, given["fail_on"])


def _asked(paths: tuple[str, ...], given: dict[str, Any]) -> Asked:
    from vnicaudit.bench.facts.covariates import Limits
    from vnicaudit.bench.paths import given_paths
    from vnicaudit.bench.running.run import Asked

    profile = _profile(given)
    steal = profile.max_steal if given["max_steal"] is None else given["max_steal"]
    seed = random.SystemRandom().randrange(_SEED_MAX) if given["seed"] is None else given["seed"]
    return Asked(
        profile=profile,
        paths=given_paths(paths),
        arms=commands_of(given["arms"], "--arm"),
        states=commands_of(given["states"], "--server"),
        labels=labels_of(given["labels"]),
        line=line_of(given),
        seed=seed,
        limits=Limits(steal=steal),
    )


def _profile(given: dict[str, Any]) -> Profile:
    """The profile, as the options change it. Raises UsageError where they leave nothing of it."""
    from vnicaudit.bench.profiles.load import load_profile, with_seconds
    from vnicaudit.bench.profiles.options import setting, with_options

    profile = load_profile(given["profile"])
    if given["settings"]:
        settings = [setting(readable(text, "--set")) for text in given["settings"]]
        profile = with_options(profile, settings)
    if given["only"]:
        left = tuple(
            one for one in profile.workloads
            if any(fnmatchcase(one.id, pattern) for pattern in given["only"])
        )  # fmt: skip
        if not left:
            raise UsageError(
                f"--only leaves nothing of profile {profile.name}: "
                f"`vnicaudit bench profiles {given['profile']}` lists its workloads"
            )
        profile = msgspec.structs.replace(profile, workloads=left)
    if given["repeats"] is not None:
        profile = msgspec.structs.replace(profile, looks=(given["repeats"],), alphas=(0.05,))
    return profile if given["seconds"] is None else with_seconds(profile, given["seconds"])
