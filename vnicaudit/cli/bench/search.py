"""``vnicaudit bench search``: find the highest rate within the loss limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from vnicaudit.cli.bench.options import (
    MeasuringOptions,
    drawn_seed,
    limits_of,
    line_of,
    measuring_options,
    readable,
)
from vnicaudit.cli.options.records import as_record
from vnicaudit.cli.options.sections import SectionedCommand
from vnicaudit.cli.wiring import Wiring, pass_wiring

if TYPE_CHECKING:
    from vnicaudit.bench.profiles.profile import Profile
    from vnicaudit.bench.running.run import MeasurementRequest
    from vnicaudit.remedy.adapters import GetAdapters

_EPILOG = """\b
Examples:
  vnicaudit bench search dns agent://ns1,ssh://root@gen1 --query 'www.example.org A'
  vnicaudit bench search packets agent://web01            64-byte packets per second

\b
Exit codes: 0 found, 2 usage, 4 an endpoint could not be reached, or nothing was
found, 130 interrupted."""


class BenchSearchOptions(MeasuringOptions, frozen=True, kw_only=True):
    """The options of ``vnicaudit bench search``. ``sought``: the kind of rate to find."""

    sought: Literal["dns", "packets"]
    path: str
    queries: tuple[str, ...]
    generators: int
    direction: Literal["rx", "tx"]
    repeats: int


@click.command("search", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("sought", metavar="{dns|packets}", type=click.Choice(["dns", "packets"]))
@click.argument("path", metavar="PATH")
@click.option(
    "--query",
    "queries",
    multiple=True,
    metavar="'NAME TYPE'",
    help="Query for the DNS server, which must be able to answer it. Repeatable.",
)
@click.option(
    "--generators",
    type=click.IntRange(min=1, max=64),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of generator processes on the peer.",
)
@click.option(
    "--direction",
    type=click.Choice(["rx", "tx"]),
    default="rx",
    show_default=True,
    help="Direction of packets, seen from the target.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1, max=100),
    default=3,
    show_default=True,
    metavar="N",
    help="Number of searches; each gives one noisy value.",
)
@measuring_options
@pass_wiring
@as_record(BenchSearchOptions)
def command(options: BenchSearchOptions, wiring: Wiring) -> int:
    """Find the highest rate with at most 0.5 % loss.

    dns: queries to the target's own server. packets: UDP packets in 64-byte frames. What the
    generator could not send never counts as lost. If the generator is the limit, the result says
    so.
    """
    from vnicaudit.cli.bench.output import check_places, measure

    check_places(options.report)
    return measure(request_of(options, wiring.adapters), options, "never")


def request_of(options: BenchSearchOptions, adapters: GetAdapters) -> MeasurementRequest:
    """The search requested by the options. Raises UsageError if it cannot be run."""
    from vnicaudit.bench.endpoints.paths import parse_paths
    from vnicaudit.bench.running.run import MeasurementRequest

    profile = _profile(options)
    return MeasurementRequest(
        profile=profile,
        paths=parse_paths((options.path,)),
        arms={},
        states={},
        labels={},
        line=line_of(options.line),
        seed=drawn_seed(),
        limits=limits_of(profile, options.max_steal, options.max_cpu_wait),
        adapters=adapters,
    )


def _profile(options: BenchSearchOptions) -> Profile:
    """A profile of one workload. Raises UsageError if it cannot be run."""
    from vnicaudit.bench.profiles.profile import Profile
    from vnicaudit.bench.profiles.registry import ENGINES
    from vnicaudit.errors import UsageError
    from vnicaudit.model.measurement import Workload

    generators = options.generators
    if options.sought == "dns":
        if not options.queries:
            raise UsageError("--query is missing: add for example --query 'www.example.org A'")
        workload = Workload(
            id="dnsperf.capacity",
            engine="dnsperf",
            pattern="capacity",
            direction="both",
            connections=generators,
            generators=generators,
            decides=("query_rate",),
            options={"name": ",".join(readable(one, "--query") for one in options.queries)},
        )
    else:
        workload = Workload(
            id=f"iperf3.udp-pps.{options.direction}",
            engine="iperf3",
            pattern="udp-pps",
            direction=options.direction,
            connections=generators,
            generators=generators,
            decides=("packet_rate",),
        )
    ENGINES.load(workload.engine).check(workload)
    return Profile(
        name=f"search {options.sought}",
        title=f"Highest rate, {options.sought}",
        workloads=(workload,),
        looks=(options.repeats,),
        alphas=(0.05,),
    )
