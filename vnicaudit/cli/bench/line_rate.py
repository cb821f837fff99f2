"""``vnicaudit bench line-rate``: the theoretical maximum throughput of a link."""

from __future__ import annotations

from typing import Annotated

import click
import msgspec

from vnicaudit.bench.line_rate import Encapsulation, Framing, line_rate, parse_rate
from vnicaudit.cli.options.output import FormatOption, OutputOptions, screen_options
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.output.files import emit
from vnicaudit.reports.bench.profiles import line_rate_text
from vnicaudit.reports.safe import encode

_EPILOG = """\b
Examples:
  vnicaudit bench line-rate --speed 25G
  vnicaudit bench line-rate --speed 25G --mtu 9000
  vnicaudit bench line-rate --speed 100G --mtu 1450 --encapsulation vxlan
  vnicaudit bench line-rate --speed 25G --goodput 13.4G"""


class BenchLineRateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit bench line-rate``."""

    speed: Annotated[
        str,
        option(
            "Speed of the slowest physical link, as 25G or 100M. The speed of a virtual NIC means "
            "nothing.",
            required=True,
            metavar="RATE",
        ),
    ]
    mtu: Annotated[
        int,
        option("MTU of the sending interface, inside the tunnel if there is one.", metavar="BYTES"),
    ] = 1500
    encapsulation: Annotated[Encapsulation, option("Encapsulation of the packets.")] = "none"
    ipv6: Annotated[bool, option("Assume IPv6 packets.")] = False
    goodput: Annotated[
        str | None,
        option(
            "Show what share of the line rate this measured throughput is (13.4G).",
            metavar="RATE",
        ),
    ] = None
    format: FormatOption = "text"
    output: OutputOptions


@click.command("line-rate", cls=SectionedCommand, epilog=_EPILOG)
@takes(BenchLineRateOptions)
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
