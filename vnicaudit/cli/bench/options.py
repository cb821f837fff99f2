"""Options shared by the commands of ``vnicaudit bench``, and how they are interpreted."""

from __future__ import annotations

import random
import re
import shlex
from typing import TYPE_CHECKING, Literal

import click
import msgspec

from vnicaudit.cli.options.number import Number
from vnicaudit.cli.options.output import OutputOptions, output_options, pairs
from vnicaudit.cli.options.records import group, together
from vnicaudit.cli.options.state import state_option
from vnicaudit.cli.output.files import (
    STDOUT,
    check_different,
    check_not_compressed,
    format_of,
    which_format,
)
from vnicaudit.errors import UsageError
from vnicaudit.reports.bench.registry import formats

if TYPE_CHECKING:
    from vnicaudit.bench.facts.validity import ValidityLimits
    from vnicaudit.bench.profiles.profile import Profile
    from vnicaudit.bench.running.arms import ArmCommands
    from vnicaudit.bench.running.opening import LineFacts

SEED_MAX = 2**32
FailOn = Literal["regressed", "never"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}")


class ReportOptions(msgspec.Struct, frozen=True):
    """Formats and places of reports, paired."""

    formats: tuple[str, ...]
    outputs: tuple[str, ...]


class LineOptions(msgspec.Struct, frozen=True):
    """Options about the wire, and about the host that runs the guest."""

    line_rate: str | None
    encapsulation: Literal["none", "vlan", "vxlan", "geneve", "gre"]
    hypervisor: str | None


class MeasuringOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of ``bench run`` about the line, its reports and when a run counts."""

    line: LineOptions
    report: ReportOptions
    max_steal: float | None
    max_cpu_wait: float | None
    state: str | None
    output: OutputOptions


report_options = group(
    "report",
    ReportOptions,
    click.option(
        "--format",
        "formats",
        multiple=True,
        type=click.Choice(formats()),
        help="Output format. k8s_netperf is that tool's; prometheus is for node_exporter. "
        "Repeatable, one for each --output.  [default: text]",
    ),
    click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        metavar="FILE",
        type=click.Path(dir_okay=False, allow_dash=True),
        help="Write a format to FILE; `-` is standard output. Without --format, the suffix (.json, "
        ".html …) decides the format, and the text still goes to standard output.",
    ),
)
"""Options for the output of a measurement."""

fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(["regressed", "never"]),
    default="regressed",
    show_default=True,
    help="Verdict that makes the exit code 1.",
)

max_steal_option = click.option(
    "--max-steal",
    type=Number(min=0, max=100),
    metavar="PERCENT",
    help="Discard a run in which either end lost more than this share of CPU time to steal.  "
    "[default: the profile's]",
)

max_cpu_wait_option = click.option(
    "--max-cpu-wait",
    type=Number(min=0, max=100),
    metavar="PERCENT",
    help="Discard a run in which a generator, a vhost worker or QEMU waited for a CPU for more "
    "than this share.  [default: the profile's]",
)

line_options = group(
    "line",
    LineOptions,
    click.option(
        "--line-rate",
        metavar="SPEED",
        help="Speed of the slowest physical link of the path (25G). Results are then also shown as "
        "a percentage of what it can carry. The nominal speed of a virtual NIC means nothing.",
    ),
    click.option(
        "--encapsulation",
        type=click.Choice(["none", "vlan", "vxlan", "geneve", "gre"]),
        default="none",
        show_default=True,
        help="Encapsulation of the packets.",
    ),
    click.option(
        "--hypervisor",
        metavar="URL",
        help="Endpoint of the host that runs the guest, to measure its CPU time (`none`: do not).  "
        "[default: the host of an agent:// target]",
    ),
)
"""Options that describe the wire."""


measuring_options = together(
    max_steal_option, max_cpu_wait_option, line_options, report_options, state_option,
    output_options,
)  # fmt: skip
"""Options of :class:`MeasuringOptions`."""


def limits_of(profile: Profile, steal: float | None, cpu_wait: float | None) -> ValidityLimits:
    """Limits of validity: from the options, or else from the profile."""
    from vnicaudit.bench.facts.validity import ValidityLimits

    return ValidityLimits(
        steal=profile.max_steal if steal is None else steal,
        cpu_wait=profile.max_cpu_wait if cpu_wait is None else cpu_wait,
    )


def line_of(options: LineOptions) -> LineFacts:
    """The link described by the options. Raises UsageError for an invalid speed."""
    from vnicaudit.bench.line_rate import parse_rate
    from vnicaudit.bench.running.opening import LineFacts

    rate = None if options.line_rate is None else parse_rate(options.line_rate)
    host = options.hypervisor
    return LineFacts(rate, options.encapsulation, "" if host == "none" else host)


def report_places(report: ReportOptions) -> list[tuple[str, str]]:
    """Format and place of each report. Raises UsageError if they do not match."""
    chosen_formats, outputs = report.formats, report.outputs
    for place in outputs:
        check_not_compressed(place)
    if not chosen_formats and outputs and STDOUT not in outputs:
        outputs = (*outputs, STDOUT)
    further = map(_format_by_suffix, outputs[len(chosen_formats) :])
    chosen = pairs((*chosen_formats, *further), outputs)
    check_different([place for _name, place in chosen])
    return chosen


def _format_by_suffix(place: str) -> str:
    """The format shown by a place's name. Raises UsageError if the name shows none."""
    if place == STDOUT:
        return "text"
    by_suffix = format_of(place, formats())
    if not by_suffix:
        raise which_format(place, formats())
    return by_suffix


def commands_of(texts: tuple[str, ...], option: str) -> dict[str, tuple[str, ...]]:
    """Parse repeated ``NAME=COMMAND`` options. Commands are split like shell words, but run without
    a shell. Raises UsageError."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, value = name_and_value(text, option, "NAME=COMMAND")
        try:
            argv = tuple(shlex.split(value))
        except ValueError as error:
            raise UsageError(f"{option} {text!r}: {error}") from None
        if not argv or name in found:
            raise UsageError(f"{option} {text!r}: each name needs a command, and may be used once")
        found[name] = argv
    return found


_AT_PEER = "@peer"


def arms_of(texts: tuple[str, ...]) -> dict[str, ArmCommands]:
    """Parse repeated ``NAME[@peer]=COMMAND`` options. Raises UsageError."""
    from vnicaudit.bench.running.arms import ArmCommands

    here: list[str] = []
    there: list[str] = []
    for text in texts:
        name, _, value = text.partition("=")
        if name.endswith(_AT_PEER):
            there.append(f"{name.removesuffix(_AT_PEER)}={value}")
        else:
            here.append(text)
    at_peer = commands_of(tuple(there), "--arm")
    at_target = commands_of(tuple(here), "--arm")
    if at_peer and at_target and at_peer.keys() != at_target.keys():
        (name, *_rest) = at_peer.keys() ^ at_target.keys()
        raise UsageError(
            f"--arm {name}: every arm needs a command at the same ends, otherwise the setting of "
            "the arm before stays in effect"
        )
    return {
        name: ArmCommands(at_target.get(name, ()), at_peer.get(name, ()))
        for name in at_target or at_peer
    }


def labels_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Parse repeated ``KEY=VALUE`` options. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = name_and_value(text, "--label", "KEY=VALUE")
        if name in found:
            raise UsageError(f"--label {text!r}: this key is used twice")
        found[name] = value
    return found


def name_and_value(text: str, option: str, form: str) -> tuple[str, str]:
    """Split ``NAME=VALUE``. Raises UsageError."""
    name, sign, value = readable(text, option).partition("=")
    if not sign or _NAME.fullmatch(name) is None:
        raise UsageError(f"{option} {text!r}: expected {form}; a name has letters, digits, _ . + -")
    return name, value


def readable(text: str, option: str) -> str:
    """Return the text. Raises UsageError if it is not valid text and so could not be stored."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{option} {text!r}: not UTF-8") from None
    return text


def drawn_seed() -> int:
    """A random seed for the order of runs, used if none is specified."""
    return random.SystemRandom().randrange(SEED_MAX)
