"""``vnicaudit host mask``: CPU lists and masks."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.base.wording import shortened
from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError
from vnicaudit.knowledge.cpu_lists import MOST, as_list, as_mask, from_list, from_mask

_EPILOG = """\b
Examples:
  vnicaudit host mask 0,1,3,6                   4b
  vnicaudit host mask 0-3,32-35                 f,0000000f
  vnicaudit host mask 0-15:2/4                  3333
  vnicaudit host mask 4b                        0-1,3,6
  vnicaudit host mask 0x10                      4"""


class HostMaskOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit host mask``."""

    cpus: str
    output: OutputOptions


@click.command("mask", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("cpus", metavar="CPUS")
@output_options
@as_record(HostMaskOptions)
def command(options: HostMaskOptions) -> int:
    """Convert a list of CPUs to a mask, as rps_cpus, xps_cpus, smp_affinity and pmd-cpu-mask take
    it, or a mask to a list.

    CPUS that can be read both ways, such as 10, are read as a list: write a mask of decimal digits
    with 0x.
    """
    text = options.cpus
    listed, masked = from_list(text), from_mask(text)
    if listed:
        emit(f"{as_mask(listed)}\n")
        if masked is not None and text.isdigit() and not options.output.quiet:
            tell(f"{text} was read as a list; as a mask (0x{text}): {_list(masked)}")
    elif masked is not None:
        emit(f"{_list(masked)}\n")
    else:
        raise UsageError(
            f"{shortened(text)!r} is neither a list of CPUs (0-3,8) nor a mask (f, 3,ffffffff) of "
            f"up to {MOST} CPUs"
        )
    return 0


def _list(cpus: tuple[int, ...]) -> str:
    return as_list(cpus) or "no CPU"
