"""``vnicaudit host mask``: CPU lists and masks."""

from __future__ import annotations

from collections.abc import Iterable

import click
import msgspec

from vnicaudit.base.wording import shortened
from vnicaudit.cli.host.facts import facts_at
from vnicaudit.cli.options.candidates import targets
from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import UsageError
from vnicaudit.knowledge.cpu_lists import MOST, as_list, as_mask, from_list, from_mask
from vnicaudit.knowledge.host_cpus import not_for_packets

_EPILOG = """\b
Examples:
  vnicaudit host mask 0,1,3,6                   4b
  vnicaudit host mask 0-3,32-35                 f,0000000f
  vnicaudit host mask 0-15:2/4                  3333
  vnicaudit host mask 4b                        0-1,3,6
  vnicaudit host mask 0x10                      4
  vnicaudit host mask 0-15 ssh://root@kvm7      without isolated and offline CPUs"""


class HostMaskOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit host mask``."""

    cpus: str
    target: str | None
    output: OutputOptions


@click.command("mask", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("cpus", metavar="CPUS")
@click.argument("target", metavar="[TARGET]", required=False, shell_complete=targets)
@output_options
@pass_wiring
@as_record(HostMaskOptions)
def command(options: HostMaskOptions, wiring: Wiring) -> int:
    """Convert a list of CPUs to a mask, as rps_cpus, xps_cpus, smp_affinity and pmd-cpu-mask take
    it, or a mask to a list.

    CPUS that can be read both ways, such as 10, are read as a list: write a mask of decimal digits
    with 0x. With a TARGET (a host, its recording or sosreport), CPUs that should handle no packets
    there are left out: offline and isolated ones, and those of polling threads and pinned vCPUs.
    """
    text = options.cpus
    listed, masked = from_list(text), from_mask(text)
    cpus = listed or masked
    if cpus is None:
        raise UsageError(
            f"{shortened(text)!r} is neither a list of CPUs (0-3,8) nor a mask (f, 3,ffffffff) of "
            f"up to {MOST} CPUs"
        )
    quiet = options.output.quiet
    if options.target is not None:
        facts = facts_at(options.target, wiring.platforms())
        left_out = not_for_packets(facts, cpus)
        cpus = tuple(cpu for cpu in cpus if not any(cpu in those for those in left_out.values()))
        if left_out and not quiet:
            told = "; ".join(f"{_list(those)} ({why})" for why, those in left_out.items())
            tell(f"left out: {told}")
    if listed:
        emit(f"{as_mask(cpus)}\n")
        if masked is not None and text.isdigit() and not quiet:
            tell(f"{text} was read as a list; as a mask (0x{text}): {_list(masked)}")
    else:
        emit(f"{_list(cpus)}\n")
    return 0


def _list(cpus: Iterable[int]) -> str:
    return as_list(cpus) or "no CPU"
