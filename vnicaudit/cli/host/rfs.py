"""``vnicaudit host rfs``: sizes of the tables of receive flow steering."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.host.facts import facts_at
from vnicaudit.cli.options.candidates import targets
from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.knowledge.flow_steering import ENTRIES, MOST_ENTRIES, rfs_entries, set_on_each
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.reports.safe import safe

_EPILOG = """\b
Examples:
  vnicaudit host rfs --connections 20000              an adapter with one receive queue
  vnicaudit host rfs --connections 20000 --queues 16
  vnicaudit host rfs --connections 20000 ssh://root@kvm7    its adapters"""


class HostRfsOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit host rfs``."""

    connections: int
    queues: int | None
    target: str | None
    output: OutputOptions


@click.command("rfs", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("target", metavar="[TARGET]", required=False, shell_complete=targets)
@click.option(
    "--connections",
    type=click.IntRange(1, MOST_ENTRIES),
    required=True,
    metavar="N",
    help="Number of connections that are active at the same time.",
)
@click.option(
    "--queues",
    type=click.IntRange(1, 65536),
    metavar="N",
    help="Number of receive queues of the adapter.  [default: those of the TARGET's, else 1]",
)
@output_options
@pass_wiring
@as_record(HostRfsOptions)
def command(options: HostRfsOptions, wiring: Wiring) -> int:
    """Print the sizes of both tables of receive flow steering (RFS), and the commands that set
    them until the next boot.

    The host's table has an entry for each active connection, each receive queue's table its share;
    the kernel rounds both up to a power of two. With a TARGET (a host, its recording or sosreport)
    they are those of its adapters.
    """
    if options.target is None:
        queues = {"DEVICE": options.queues or 1}
    elif options.queues is not None:
        raise UsageError("--queues is for an adapter without a TARGET")
    else:
        queues = _queues(facts_at(options.target, wiring.platforms()), options.target)
    entries = rfs_entries(options.connections)
    sizes = {name: rfs_entries(options.connections, each) for name, each in queues.items()}
    emit(f"rps_sock_flow_entries  {entries}\n")
    for name, size in sizes.items():
        of = "" if options.target is None else f" of {safe(name)}, {queues[name]} in all"
        emit(f"rps_flow_cnt           {size} per queue{of}\n")
    emit(f"\nsysctl -w {ENTRIES}={entries}\n")
    for name, size in sizes.items():
        emit(f"{safe(set_on_each(name, 'rps_flow_cnt', size))}\n")
    return 0


def _queues(facts: HostFacts, target: str) -> dict[str, int]:
    """Adapter -> the number of its receive queues. Raises TargetError if none is known."""
    found: dict[str, int] = {}
    for link in facts.links or ():
        if link.physical and link.up is not False:
            if link.rx_queues:
                found[link.name] = link.rx_queues
            else:
                tell(f"{safe(link.name)}: the number of its receive queues is unknown")
    if not found:
        raise TargetError("no adapter whose receive queues are known", file=target)
    return found
