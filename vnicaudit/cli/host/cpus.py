"""``vnicaudit host cpus``: who may, and does, use which CPUs of a host."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.host.facts import facts_at
from vnicaudit.cli.options.candidates import targets
from vnicaudit.cli.options.output import (
    Format,
    OutputOptions,
    format_option,
    output_options,
    screen_options,
)
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.knowledge.partitions import partition_of
from vnicaudit.reports.host_cpus import host_cpus_text
from vnicaudit.reports.safe import encode

_EPILOG = """\b
Examples:
  vnicaudit host cpus local
  vnicaudit host cpus ssh://root@kvm7 --format json"""


class HostCpusOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit host cpus``."""

    target: str
    format: Format
    output: OutputOptions


@click.command("cpus", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("target", metavar="TARGET", shell_complete=targets)
@format_option
@output_options
@pass_wiring
@as_record(HostCpusOptions)
def command(options: HostCpusOptions, wiring: Wiring) -> int:
    """Draw which tasks may use which CPUs of the TARGET (a host, its recording or sosreport), and
    which do.

    CPUs that are alike share a column. Their class, and what uses them, is what is in effect there;
    what was not read is marked as unknown. VNIC141 reports what is forbidden and used.
    """
    found = partition_of(facts_at(options.target, wiring.platforms()))
    if options.format == "json":
        emit(f"{encode(found)}\n")
        return 0
    for text in host_cpus_text(found, screen_options(options.output)):
        emit(text)
    return 0
