"""``vnicaudit bench line-rate``: what a line carries at best."""

from __future__ import annotations

from typing import Any

import click
from msgspec.structs import replace

from vnicaudit.bench.line_rate import (
    ENCAPSULATIONS,
    Framing,
    LineRate,
    PacketRate,
    line_rate,
    packet_rate,
    parse_rate,
)
from vnicaudit.cli.options import format_option, output_options
from vnicaudit.cli.stdout import emit
from vnicaudit.errors import UsageError

_SMALLEST_FRAME = 64
_NOT_IN_FRAME = 20
"""Octets of the preamble and of the gap."""

_EPILOG = """\b
Examples:
  vnicaudit bench line-rate --speed 25G
  vnicaudit bench line-rate --speed 25G --mtu 9000
  vnicaudit bench line-rate --speed 100G --mtu 1450 --encapsulation vxlan
  vnicaudit bench line-rate --speed 25G --goodput 13.4G
  vnicaudit bench line-rate --speed 10G --size 64 --size 594 --format json"""


@click.command("line-rate", epilog=_EPILOG)
@click.option(
    "--speed",
    required=True,
    metavar="RATE",
    help="Of the slowest physical link, as 25G or 100M. That of a virtual NIC says nothing.",
)
@click.option(
    "--mtu",
    type=int,
    default=1500,
    show_default=True,
    metavar="BYTES",
    help="Of the interface that sends: inside of a tunnel.",
)
@click.option(
    "--encapsulation",
    type=click.Choice(ENCAPSULATIONS),
    default="none",
    show_default=True,
    help="What the packets travel in.",
)
@click.option("--ipv6", is_flag=True, help="Packets are IPv6.")
@click.option("--outer-ipv6", is_flag=True, help="The tunnel's are.")
@click.option("--no-timestamps", is_flag=True, help="TCP without timestamps (RFC 7323).")
@click.option(
    "--size",
    "sizes",
    type=int,
    multiple=True,
    metavar="BYTES",
    help="Packets per second for frames of this size on the line, check sequence included. "
    "Repeatable.  [default: those of RFC 2544]",
)
@click.option(
    "--goodput", metavar="RATE", help="Say what part of the line this is: 13.4G was measured."
)
@format_option
@output_options
def command(**given: Any) -> int:
    """Show what a line carries at best: TCP and UDP payload, and packets per second.

    A result of more than 97 % of that cannot tell two NICs apart: the line is what limits.
    """
    from vnicaudit.reports.line_rate import report, to_json

    line = _line(given)
    goodput = None if given["goodput"] is None else parse_rate(given["goodput"])
    found = report(line, goodput)
    if given["format_"] == "json":
        emit(to_json(found))
        return 0
    from vnicaudit.cli.reading import screen
    from vnicaudit.reports.line_rate import render
    from vnicaudit.reports.paint import Paint

    for text in render(found, Paint(color=screen(given).color)):
        emit(text)
    return 0


def _line(given: dict[str, Any]) -> LineRate:
    if given["outer_ipv6"] and given["encapsulation"] in ("none", "vlan"):
        raise UsageError("--outer-ipv6 is for tunnels: --encapsulation vxlan, geneve or gre")
    framing = Framing(
        mtu=given["mtu"],
        encapsulation=given["encapsulation"],
        ip=6 if given["ipv6"] else 4,
        outer=6 if given["outer_ipv6"] else 4,
        timestamps=not given["no_timestamps"],
    )
    found = line_rate(parse_rate(given["speed"]), framing)
    return replace(found, packet_rates=_packet_rates(found, given["sizes"]))


def _packet_rates(line: LineRate, sizes: tuple[int, ...]) -> tuple[PacketRate, ...]:
    """Of the sizes that are asked for; else of those of the table that fit, and the largest."""
    least, most = _frames(line)
    for size in sizes:
        if not least <= size <= most:
            raise UsageError(f"--size {size}: frames are from {least} to {most} B here")
    usual = {entry.frame for entry in line.packet_rates if least <= entry.frame <= most}
    chosen = sizes or sorted({*usual, most})
    return tuple(PacketRate(size, packet_rate(line.speed, size)) for size in chosen)


def _frames(line: LineRate) -> tuple[int, int]:
    """The smallest frame, an IP header alone (in its tunnel), and the largest."""
    around = line.overhead - _NOT_IN_FRAME
    header = 40 if line.framing.ip == 6 else 20
    return max(_SMALLEST_FRAME, around + header), around + line.framing.mtu
