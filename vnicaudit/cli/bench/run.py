"""``vnicaudit bench run``: measure one path, or compare several paths, or states of one."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated

import click
import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import count
from vnicaudit.bench.endpoints.opening import parse_paths
from vnicaudit.bench.judging.terms import fewest_runs
from vnicaudit.bench.line_rate import parse_rate
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.profiles.profile import Profile, setting, with_options, with_seconds
from vnicaudit.bench.running.collector import MeasurementTerms
from vnicaudit.bench.running.run import MeasurementRequest, measurement_terms_of
from vnicaudit.cli.bench.options import (
    GeneratorOptions,
    MeasuringOptions,
    arms_of,
    commands_of,
    drawn_seed,
    named_values,
    readable,
)
from vnicaudit.cli.bench.output import check_places, measure, runs_words
from vnicaudit.cli.bench.pods import measure_over_cluster
from vnicaudit.cli.options.candidates import profiles
from vnicaudit.cli.options.records import Number, SectionedCommand, option, takes
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import UsageError
from vnicaudit.remedy.hypervisor import GetAdapters

_EPILOG = """\b
A path is [NAME=]TARGET[,PEER]. TARGET is the end under test; PEER sends the load
(default: this machine). Both are endpoints: local, netns://NAME,
ssh://[user@]host[:port], docker://NAME, podman://NAME, kubectl://POD?namespace=…,
agent://DOMAIN (inside a guest, through its guest agent). ?address=IP sets the
address of an endpoint.

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
  vnicaudit bench run --profile line-100g --cluster kube:prod --paths host,pod-same,pod-cross \\
      --image registry.example.org/generator

\b
Exit codes: 0 measured, 1 something regressed, 2 usage, 4 an endpoint could not be
reached or too few runs were valid, 130 interrupted."""


class BenchRunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit bench run``."""

    paths: tuple[str, ...]
    profile: Annotated[
        str,
        option(
            "Profile to measure with: see `vnicaudit bench profiles`.",
            "-p",
            "--profile",
            shell_complete=profiles,
            metavar="NAME|FILE",
        ),
    ] = "quick"
    arms: Annotated[
        tuple[str, ...],
        option(
            "Compare states of one path: COMMAND, run at the target, sets the state; NAME@peer "
            "names one for the peer. The first is the initial state; it is restored at the end. "
            "Repeatable.",
            "--arm",
            metavar="NAME[@peer]=COMMAND",
        ),
    ] = ()
    states: Annotated[
        tuple[str, ...],
        option(
            "Command that sets a server state named in the profile. The first is the initial "
            "state; it is restored at the end. Repeatable.",
            "--server",
            metavar="NAME=COMMAND",
        ),
    ] = ()
    settings: Annotated[
        tuple[str, ...],
        option(
            "Engine option, instead of the profile's: dnsperf.name='www.example.org A'. "
            "Repeatable.",
            "--set",
            metavar="ENGINE.OPTION=VALUE",
        ),
    ] = ()
    labels: Annotated[
        tuple[str, ...],
        option("Label to store with the result. Repeatable.", "--label", metavar="KEY=VALUE"),
    ] = ()
    only: Annotated[
        tuple[str, ...],
        option(
            "Run only workloads whose id matches (`iperf3.tcp.*`). Repeatable.", metavar="PATTERN"
        ),
    ] = ()
    repeats: Annotated[
        int | None,
        option(
            "Number of runs of each workload in each arm, instead of the profile's.",
            type=click.IntRange(min=1, max=100),
            metavar="N",
        ),
    ] = None
    seconds: Annotated[
        float | None,
        option(
            "Length of a run, instead of the profile's.",
            type=Number(min=1, max=86_400),
            metavar="S",
        ),
    ] = None
    over: GeneratorOptions
    line_rate: Annotated[
        str | None,
        option(
            "Speed of the slowest physical link of the path (25G). Results are then also shown as "
            "a percentage of what it can carry. The nominal speed of a virtual NIC means nothing.  "
            "[default: the profile's]",
            metavar="SPEED",
        ),
    ] = None
    measuring: MeasuringOptions


@click.command("run", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@pass_wiring
@takes(BenchRunOptions)
def command(options: BenchRunOptions, wiring: Wiring) -> int:
    """Measure a network PATH, or compare paths or settings.

    The order of the runs is random, and one run is one sample. A run is discarded because of the
    state of the machines, never because of its result. All results are stored: see `vnicaudit bench
    show`.
    """
    check_places(options.measuring.report)
    if options.over.cluster is not None:
        return measure_over_cluster(
            options.measuring, options.over, wiring,
            lambda paths: _request(options, wiring.adapters, paths),
        )  # fmt: skip
    if options.over != GeneratorOptions(yes=options.over.yes):
        raise UsageError("--paths, --image, --nodes and --vm belong to --cluster kube:CONTEXT")
    if not options.paths:
        raise click.UsageError("Missing argument 'PATH...', or --cluster with --paths.")
    request = _request(options, wiring.adapters)
    terms = measurement_terms_of(request)
    if not options.measuring.output.quiet:
        _tell_if_runs_are_too_few(request, terms)
    return measure(request, options.measuring)


def _tell_if_runs_are_too_few(request: MeasurementRequest, terms: MeasurementTerms) -> None:
    """Say so, if something is compared and the profile's runs cannot show any difference, or not
    where speed is lost."""
    profile = request.profile
    if profile.catastrophe_only or (len(request.arms) < 2 and len(request.paths) < 2):
        return
    needed = fewest_runs(profile.alphas[-1], profile.comparisons)
    if profile.looks[-1] < needed:
        among = f", among {count(profile.comparisons, 'primary comparison')}"
        tell(
            f"with {count(profile.looks[-1], 'run')} of each arm, no difference can be told from "
            f"chance{among}: that needs {needed} (--repeats)"
        )
    elif few := runs_words(terms)[1]:
        tell(few)


def _request(
    options: BenchRunOptions, adapters: GetAdapters, of_cluster: tuple[str, ...] = ()
) -> MeasurementRequest:
    return MeasurementRequest(
        profile=_profile(options),
        paths=parse_paths((*of_cluster, *options.paths)),
        arms=arms_of(options.arms),
        states=commands_of(options.states, "--server"),
        labels=named_values(options.labels, "--label", "KEY=VALUE"),
        seed=drawn_seed(),
        adapters=adapters,
    )


def _profile(options: BenchRunOptions) -> Profile:
    """The profile, changed by the options. Raises UsageError if nothing is left of it."""
    profile = load_profile(options.profile)
    if options.settings:
        settings = [setting(readable(text, "--set")) for text in options.settings]
        profile = with_options(profile, settings)
    if options.only:
        workloads = tuple(
            one for one in profile.workloads
            if any(fnmatchcase(one.id, pattern) for pattern in options.only)
        )  # fmt: skip
        if not workloads:
            raise UsageError(
                f"--only matches no workload of profile {profile.name}: `vnicaudit bench profiles "
                f"{options.profile}` lists them"
            )
        profile = replace(profile, workloads=workloads)
    if options.line_rate is not None:
        profile = replace(profile, line_rate=parse_rate(options.line_rate))
    if options.repeats is not None:
        profile = replace(profile, looks=(options.repeats,), alphas=(0.05,))
    return profile if options.seconds is None else with_seconds(profile, options.seconds)
