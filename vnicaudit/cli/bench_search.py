"""``vnicaudit bench search``: the highest rate at which hardly anything is lost."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vnicaudit.cli.bench_options import line_of, line_options, readable, report_options
from vnicaudit.cli.options import output_options
from vnicaudit.cli.remedy_options import state_folder, state_option

if TYPE_CHECKING:
    from vnicaudit.bench.profiles.profile import Profile

_SEED_MAX = 2**32

_EPILOG = """\b
Examples:
  vnicaudit bench search dns agent://ns1,ssh://root@gen1 --query 'www.example.org A'
  vnicaudit bench search packets agent://web01            packets of 64 bytes a second

\b
Exit codes: 0 found, 2 usage, 4 an endpoint could not be reached, or nothing was
found, 130 interrupted."""


@click.command("search", epilog=_EPILOG)
@click.argument("what", type=click.Choice(["dns", "packets"]))
@click.argument("path", metavar="PATH")
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="'NAME TYPE'",
    help="What the DNS server is asked; it has to know the answer. Repeatable.",
)
@click.option(
    "--generators",
    type=click.IntRange(min=1, max=64),
    default=1,
    show_default=True,
    metavar="N",
    help="Generator processes on the peer.",
)
@click.option(
    "--direction",
    type=click.Choice(["rx", "tx"]),
    default="rx",
    show_default=True,
    help="Of packets, seen from the target.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1, max=100),
    default=3,
    show_default=True,
    metavar="N",
    help="So many searches: each is one noisy value.",
)
@line_options
@report_options
@state_option
@output_options
def command(what: str, path: str, **given: Any) -> int:
    """Search for the highest rate at which at most 0.5 % is lost: of DNS queries that the target's
    own server answers, or of UDP packets in frames of 64 bytes.

    What the generator could not send is never counted as lost; where it is the limit, that is said.
    """
    from vnicaudit.bench.facts.covariates import Limits
    from vnicaudit.bench.paths import given_paths
    from vnicaudit.bench.running.run import Asked, bench
    from vnicaudit.cli.bench_output import check_places, code_of, write_kept
    from vnicaudit.cli.bench_progress import BenchProgress

    check_places(given)
    profile = _profile(what, given)
    asked = Asked(
        profile=profile,
        paths=given_paths((path,)),
        arms={},
        states={},
        labels={},
        line=line_of(given),
        seed=random.SystemRandom().randrange(_SEED_MAX),
        limits=Limits(steal=profile.max_steal),
    )
    progress = BenchProgress(quiet=given["quiet"], verbose=given["verbose"])
    try:
        result, kept = bench(asked, Path(state_folder(given)), progress)
    finally:
        progress.clear()
    write_kept(result, kept, given)
    return code_of(result, "never")


def _profile(what: str, given: dict[str, Any]) -> Profile:
    """One workload. Raises UsageError where it cannot be run."""
    from vnicaudit.bench.engine_registry import load
    from vnicaudit.bench.profiles.profile import Profile
    from vnicaudit.errors import UsageError
    from vnicaudit.model.measurement import Workload

    generators = given["generators"]
    if what == "dns":
        if not given["queries"]:
            raise UsageError("what is to be asked? Give --query 'www.example.org A'")
        workload = Workload(
            id="dnsperf.capacity",
            engine="dnsperf",
            pattern="capacity",
            direction="both",
            connections=generators,
            generators=generators,
            decides=("query_rate",),
            options={"name": ",".join(readable(one, "--query") for one in given["queries"])},
        )
    else:
        workload = Workload(
            id=f"iperf3.udp-pps.{given['direction']}",
            engine="iperf3",
            pattern="udp-pps",
            direction=given["direction"],
            connections=generators,
            generators=generators,
            decides=("packet_rate",),
        )
    load(workload.engine).check(workload)
    return Profile(
        name=f"search {what}",
        title=f"Highest rate, {what}",
        workloads=(workload,),
        looks=(given["repeats"],),
        alphas=(0.05,),
    )
