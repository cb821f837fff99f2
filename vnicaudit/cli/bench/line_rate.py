"""``vnicaudit bench line-rate``: the theoretical maximum throughput of a link."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.bench.line_rate import ENCAPSULATIONS, Framing, line_rate, parse_rate
from vnicaudit.cli.options.output import (
    Format,
    OutputOptions,
    format_option,
    output_options,
    screen_options,
)
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.reports.bench.profiles import line_rate_text
from vnicaudit.reports.safe import encode

_EPILOG = """\b
Examples:
  vnicaudit bench line-rate --speed 25G
  vnicaudit bench line-rate --speed 25G --mtu 9000
  vnicaudit bench line-rate --speed 100G --mtu 1450 --encapsulation vxlan
  vnicaudit bench line-rate --speed 25G --goodput 13.4G"""


class BenchLineRateOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit bench line-rate``."""

    speed: str
    mtu: int
    encapsulation: str
    ipv6: bool
    goodput: str | None
    format: Format
    output: OutputOptions


@click.command("line-rate", cls=SectionedCommand, epilog=_EPILOG)
@click.option(
    "--speed",
    required=True,
    metavar="RATE",
    help="Speed of the slowest physical link, as 25G or 100M. The speed of a virtual NIC means "
    "nothing.",
)
@click.option(
    "--mtu",
    type=int,
    default=1500,
    show_default=True,
    metavar="BYTES",
    help="MTU of the sending interface, inside the tunnel if there is one.",
)
@click.option(
    "--encapsulation",
    type=click.Choice(ENCAPSULATIONS),
    default="none",
    show_default=True,
    help="Encapsulation of the packets.",
)
@click.option("--ipv6", is_flag=True, help="Assume IPv6 packets.")
@click.option(
    "--goodput",
    metavar="RATE",
    help=("Show what share of the line rate this measured throughput is (13.4G)."),
)
@format_option
@output_options
@as_record(BenchLineRateOptions)
def command(options: BenchLineRateOptions) -> int:
    """Show a link's theoretical maximum: TCP and UDP payload, and packets per second.

    A result above 97 % of this maximum cannot show a difference between two NICs, because the link
    is the limit.
    """
    framing = Framing(
        mtu=options.mtu, encapsulation=options.encapsulation, ip=6 if options.ipv6 else 4
    )
    goodput = None if options.goodput is None else parse_rate(options.goodput)
    found = line_rate(parse_rate(options.speed), framing, goodput)
    if options.format == "json":
        emit(f"{encode(found)}\n")
        return 0
    for text in line_rate_text(found, screen_options(options.output)):
        emit(text)
    return 0
