"""``vnicaudit host rfs``: sizes of the tables of receive flow steering."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.knowledge.flow_steering import ENTRIES, MOST_ENTRIES, rfs_sizes, set_on_each

_EPILOG = """\b
Examples:
  vnicaudit host rfs --connections 20000              an adapter with one receive queue
  vnicaudit host rfs --connections 20000 --queues 16"""


class HostRfsOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit host rfs``."""

    connections: int
    queues: int
    output: OutputOptions


@click.command("rfs", cls=SectionedCommand, epilog=_EPILOG)
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
    default=1,
    show_default=True,
    metavar="N",
    help="Number of receive queues of the adapter.",
)
@output_options
@as_record(HostRfsOptions)
def command(options: HostRfsOptions) -> int:
    """Print the sizes of both tables of receive flow steering (RFS), and the commands that set
    them until the next boot.

    The host's table has an entry for each active connection, each receive queue's table its share;
    the kernel rounds both up to a power of two.
    """
    sizes = rfs_sizes(options.connections, options.queues)
    emit(
        f"rps_sock_flow_entries  {sizes.entries}\n"
        f"rps_flow_cnt           {sizes.per_queue} per queue\n\n"
        f"sysctl -w {ENTRIES}={sizes.entries}\n"
        f"{set_on_each('DEVICE', 'rps_flow_cnt', sizes.per_queue)}\n"
    )
    return 0
