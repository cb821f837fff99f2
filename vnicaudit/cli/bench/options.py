"""Options shared by the commands of ``vnicaudit bench``, and how they are interpreted."""

from __future__ import annotations

import random
import re
import shlex
from typing import Annotated

import click
import msgspec

from vnicaudit.bench.running.opening import ArmCommands
from vnicaudit.cli.options.output import OutputOptions, pairs
from vnicaudit.cli.options.records import option
from vnicaudit.cli.output.files import (
    STDOUT,
    check_different,
    check_not_compressed,
    format_of,
    which_format,
)
from vnicaudit.errors import UsageError
from vnicaudit.reports.bench.formats import RENDERERS

FORMATS = tuple(RENDERERS)
SEED_MAX = 2**32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,39}")


class ReportOptions(msgspec.Struct, frozen=True):
    """Formats and places of reports, paired."""

    formats: Annotated[
        tuple[str, ...],
        option(
            "Output format; prometheus is for node_exporter. "
            "Repeatable, one for each --output.  [default: text]",
            "--format",
            type=click.Choice(FORMATS),
        ),
    ] = ()
    outputs: Annotated[
        tuple[str, ...],
        option(
            "Write a format to FILE; `-` is standard output. Without --format, the suffix (.json, "
            ".html …) decides the format, and the text still goes to standard output.",
            "-o",
            "--output",
            metavar="FILE",
            type=click.Path(dir_okay=False, allow_dash=True),
        ),
    ] = ()


class MeasuringOptions(msgspec.Struct, frozen=True):
    """Options of ``bench run`` about its reports and where the measurement is stored."""

    report: ReportOptions
    state: str | None
    output: OutputOptions


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
    by_suffix = format_of(place, FORMATS)
    if not by_suffix:
        raise which_format(place, FORMATS)
    return by_suffix


def named_values(texts: tuple[str, ...], option: str, form: str) -> dict[str, str]:
    """Parse repeated ``NAME=VALUE`` options. Raises UsageError."""
    found: dict[str, str] = {}
    for text in texts:
        name, sign, value = readable(text, option).partition("=")
        if not sign or _NAME.fullmatch(name) is None:
            raise UsageError(
                f"{option} {text!r}: expected {form}; a name has letters, digits, _ . + -"
            )
        if name in found:
            raise UsageError(f"{option} {text!r}: this name is used twice")
        found[name] = value
    return found


def commands_of(texts: tuple[str, ...], option: str) -> dict[str, tuple[str, ...]]:
    """Parse repeated ``NAME=COMMAND`` options. Commands are split like shell words, but run without
    a shell. Raises UsageError."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in named_values(texts, option, "NAME=COMMAND").items():
        text = f"{name}={value}"
        try:
            found[name] = tuple(shlex.split(value))
        except ValueError as error:
            raise UsageError(f"{option} {text!r}: {error}") from None
        if not found[name]:
            raise UsageError(f"{option} {text!r}: each name needs a command")
    return found


_AT_PEER = "@peer"


def arms_of(texts: tuple[str, ...]) -> dict[str, ArmCommands]:
    """Parse repeated ``NAME[@peer]=COMMAND`` options. Raises UsageError."""
    is_there = [text.partition("=")[0].endswith(_AT_PEER) for text in texts]
    there = (text.replace(_AT_PEER, "", 1) for text, at in zip(texts, is_there, strict=True) if at)
    here = (text for text, at in zip(texts, is_there, strict=True) if not at)
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


class GeneratorOptions(msgspec.Struct, frozen=True):
    """Options of a measurement over a cluster."""

    cluster: Annotated[
        str | None,
        option(
            "Start generator pods in this cluster, measure the paths of --paths, and remove the "
            "pods. The plan is shown first.",
            metavar="kube:CONTEXT",
        ),
    ] = None
    cluster_paths: Annotated[
        str | None,
        option(
            "Paths of the cluster: host, hostnetwork, pod-same, pod-cross, vm-same, vm-cross, "
            "nad:NS/NAME. Each step is compared with the path that has one thing less.",
            "--paths",
            metavar="PATH,...",
        ),
    ] = None
    pod_image: Annotated[
        str | None,
        option(
            "Image of the generator pods, with a shell and the programs of the profile.",
            "--image",
            metavar="IMAGE",
        ),
    ] = None
    nodes: Annotated[
        str | None,
        option(
            "Nodes of the pods; the targets are on the first.  [default: chosen]", metavar="A,B"
        ),
    ] = None
    machine: Annotated[
        str | None,
        option(
            "Virtual machine of the paths vm-same and vm-cross, reached by ssh.",
            "--vm",
            metavar="[USER@]NS/NAME",
        ),
    ] = None
    yes: Annotated[bool, option("Start the pods without asking.", "--yes", "-y")] = False
