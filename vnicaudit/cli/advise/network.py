"""``vnicaudit advise network``: which network for which flow, and why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import click
import msgspec

import vnicaudit
from vnicaudit.advise import advice_for
from vnicaudit.advise.manifests import manifests_for
from vnicaudit.advise.scenarios import read_scenario
from vnicaudit.base.wording import count, path_word
from vnicaudit.cli.options.environment import environment
from vnicaudit.cli.options.output import OutputFileOption, OutputOptions, screen_options
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.output.files import (
    STDOUT,
    ReportOutput,
    check_not_compressed,
    emit,
    format_of,
    is_of_another_format,
    which_format,
    write_files,
)
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import UsageError
from vnicaudit.model.advice import NetworkAdvice
from vnicaudit.model.scenario import Scenario
from vnicaudit.reports.advice import FORMATS, AdviceReport
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writers import Options
from vnicaudit.text.targets import CLUSTER

_EPILOG = """\b
Examples:
  vnicaudit advise network --init -o scenario.toml     a commented scenario, to be edited
  vnicaudit advise network scenario.toml
  vnicaudit advise network scenario.toml -o advice.md
  vnicaudit advise network scenario.toml --write manifests
  vnicaudit advise network kube:prod --flows flows.toml

\b
Exit codes: 0 each flow has an answer, 1 the attachment that a flow has today is
advised against, 2 facts are missing for a flow or a manifest (the others are
written), or a file or option is wrong, 4 the cluster could not be read."""

_TEMPLATE = Path(vnicaudit.__file__).parent / "templates/advise/scenario.toml"
_FILE_WIDTH = 100
_AGAINST, _TOO_LITTLE = 1, UsageError.exit_code


class AdviseNetworkOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit advise network``."""

    scenario: str | None
    flows: Annotated[
        str | None,
        option(
            "With kube:CONTEXT: a scenario with the flows, and with what the cluster does not say.",
            metavar="FLOWS.toml",
            type=click.Path(dir_okay=False, allow_dash=True),
        ),
    ]
    init: Annotated[
        bool,
        option("Print a commented scenario to start from, or write it to a new file (--output)."),
    ]
    format: Annotated[
        Literal["text", "json", "markdown"] | None, option("Output format.  [default: text]")
    ]
    output_file: OutputFileOption
    folder: Annotated[
        str | None,
        option(
            "Also write manifests for what is advised into DIR. Nothing is applied.",
            "--write",
            metavar="DIR",
            type=click.Path(file_okay=False),
        ),
    ]
    output: OutputOptions


@click.command("network", cls=SectionedCommand, epilog=_EPILOG)
@click.argument(
    "scenario",
    metavar="[SCENARIO.toml|kube:CONTEXT]",
    required=False,
    type=click.Path(allow_dash=True),
)
@pass_wiring
@takes(AdviseNetworkOptions)
def command(options: AdviseNetworkOptions, wiring: Wiring) -> int:
    """Advise a network for each flow between pods, VMs and external systems: attachment, receive
    flow steering (RFS), placement.

    A scenario says what the platform is, what is needed, and which flows there are; `-` is standard
    input. kube:CONTEXT reads from a cluster what it knows of that. Each answer has the measurements
    behind it, with source and limits. Where sources contradict each other, or a fact decides, the
    answer is `depends`, with the command that settles it.
    """
    if options.init:
        return _init(options)
    if options.scenario is None:
        raise UsageError("name a SCENARIO.toml or kube:CONTEXT; --init writes a scenario to edit")
    place, form = _report_place(options)
    scenario = _scenario(options.scenario, options, wiring)
    advice = advice_for(scenario)
    report = AdviceReport(advice, scenario, options.flows or options.scenario)
    screen = screen_options(options.output) if place == STDOUT else Options(width=_FILE_WIDTH)
    with ReportOutput(place) as output:
        output.finish(FORMATS[form](report, screen))
    is_complete = options.folder is None or _write_manifests(scenario, advice, options.folder)
    if not is_complete or any(flow.answer == "unknown" for flow in advice.flows):
        return _TOO_LITTLE
    return _AGAINST if any(flow.present_advised_against for flow in advice.flows) else 0


def _report_place(options: AdviseNetworkOptions) -> tuple[str, str]:
    """Place and format of the report. Raises UsageError for a file that is read, or whose name does
    not tell the format."""
    place = options.output_file or STDOUT
    if place == STDOUT:
        return place, options.format or "text"
    check_not_compressed(place)
    if os.path.realpath(place) in map(
        os.path.realpath, (options.scenario or "-", options.flows or "-")
    ):
        raise UsageError(f"{place} is read: write the report to another file")
    form = options.format or format_of(place, tuple(FORMATS))
    if not form:
        raise which_format(place, tuple(FORMATS))
    return place, form


def _init(options: AdviseNetworkOptions) -> int:
    """Write the commented scenario; never over a file. Raises UsageError."""
    if any((options.scenario, options.flows, options.folder, options.format)):
        raise UsageError("--init reads no scenario: use it alone, or with --output")
    text = _TEMPLATE.read_text("utf-8")
    place = options.output_file or STDOUT
    if place == STDOUT:
        emit(text)
        return 0
    check_not_compressed(place)
    if is_of_another_format(place, ()):
        raise UsageError(f"{place}: a scenario is TOML: name it scenario.toml")
    try:
        with open(place, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{place} exists and was not replaced; choose another name") from None
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from None
    if not options.output.quiet:
        tell(f"{safe(place)}: edit it, then run: vnicaudit advise network {safe(path_word(place))}")
    return 0


def _scenario(name: str, options: AdviseNetworkOptions, wiring: Wiring) -> Scenario:
    """The scenario in a file, or that of a cluster and a file of flows. Raises UsageError, for a
    cluster also TargetError."""
    if not name.startswith(CLUSTER):
        if options.flows is not None:
            raise UsageError("--flows goes with kube:CONTEXT; a scenario has its flows in it")
        return read_scenario(name)
    if options.flows is None:
        raise UsageError(
            f"{name}: name the flows with --flows FLOWS.toml; --init writes such a file"
        )
    given = read_scenario(options.flows)
    scenario, notes = wiring.cluster_scenario(name, environment().deadline, given)
    for note in () if options.output.quiet else notes:
        tell(f"Note: {safe(note)}")
    return scenario


def _write_manifests(scenario: Scenario, advice: NetworkAdvice, folder: str) -> bool:
    """Write what can be written, and tell what cannot; False if there is such. Raises UsageError
    before anything is written."""
    found = manifests_for(scenario, advice)
    write_files({os.path.join(folder, one.name): one.text for one in found.files}, folder)
    written = (
        f"{count(len(found.files), 'file')} in {safe(folder)}: review them; nothing was applied"
    )
    tell(written if found.files else "No file was written")
    for note in found.notes:
        tell(f"Note: {safe(note)}")
    for one in found.unwritten:
        reason = f", which needs {', '.join(one.facts)}" if one.facts else f": {one.clash}"
        tell(safe(f"Not written: {one.file} of flow {one.flow}{reason}"))
    return not found.unwritten
