"""``vnicaudit bench line-rate``: the theoretical maximum throughput of a link."""

from __future__ import annotations

import click
import msgspec
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
from vnicaudit.cli.options.output import (
    Format,
    OutputOptions,
    format_option,
    output_options,
    screen_options,
)
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.errors import UsageError

_SMALLEST_FRAME = 64
_NOT_IN_FRAME = 20
"""Octets of the preamble and the interframe gap."""

_EPILOG = """\b
Examples:
  vnicaudit bench line-rate --speed 25G
  vnicaudit bench line-rate --speed 25G --mtu 9000
  vnicaudit bench line-rate --speed 100G --mtu 1450 --encapsulation vxlan
  vnicaudit bench line-rate --speed 25G --goodput 13.4G
  vnicaudit bench line-rate --speed 10G --size 64 --size 594 --format json"""


class BenchLineRateOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit bench line-rate``."""

    speed: str
    mtu: int
    encapsulation: str
    ipv6: bool
    outer_ipv6: bool
    no_timestamps: bool
    sizes: tuple[int, ...]
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
@click.option("--outer-ipv6", is_flag=True, help="Assume IPv6 outer packets.")
@click.option("--no-timestamps", is_flag=True, help="Assume TCP without timestamps (RFC 7323).")
@click.option(
    "--size",
    "sizes",
    type=int,
    multiple=True,
    metavar="BYTES",
    help="Show packets per second for frames of this size, including the frame check sequence. "
    "Repeatable.  [default: those of RFC 2544]",
)
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
    from vnicaudit.reports.bench.line_rate import render, report, to_json

    goodput = None if options.goodput is None else parse_rate(options.goodput)
    found = report(_line_rate(options), goodput)
    if options.format == "json":
        emit(to_json(found))
        return 0
    for text in render(found, screen_options(options.output)):
        emit(text)
    return 0


def _line_rate(options: BenchLineRateOptions) -> LineRate:
    if options.outer_ipv6 and options.encapsulation in ("none", "vlan"):
        raise UsageError("--outer-ipv6 needs a tunnel: --encapsulation vxlan, geneve or gre")
    framing = Framing(
        mtu=options.mtu,
        encapsulation=options.encapsulation,
        ip=6 if options.ipv6 else 4,
        outer=6 if options.outer_ipv6 else 4,
        timestamps=not options.no_timestamps,
    )
    found = line_rate(parse_rate(options.speed), framing)
    return replace(found, packet_rates=_packet_rates(found, options.sizes))


def _packet_rates(line: LineRate, sizes: tuple[int, ...]) -> tuple[PacketRate, ...]:
    """Packet rates for the requested frame sizes; by default for those of the table that fit, and
    the largest."""
    least, most = _frames(line)
    for size in sizes:
        if not least <= size <= most:
            raise UsageError(f"--size {size}: frames on this link have {least} to {most} bytes")
    usual = {entry.frame for entry in line.packet_rates if least <= entry.frame <= most}
    chosen = sizes or sorted({*usual, most})
    return tuple(PacketRate(size, packet_rate(line.speed, size)) for size in chosen)


def _frames(line: LineRate) -> tuple[int, int]:
    """Sizes of the smallest frame (an IP header alone, in its tunnel) and the largest."""
    around = line.overhead - _NOT_IN_FRAME
    header = 40 if line.framing.ip == 6 else 20
    return max(_SMALLEST_FRAME, around + header), around + line.framing.mtu
