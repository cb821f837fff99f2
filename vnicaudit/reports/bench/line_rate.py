"""Throughput of a link, as text or as ``vnicaudit.line-rate/1``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from vnicaudit.bench.line_rate import LineRate
from vnicaudit.reports.bench.labels import scale_of
from vnicaudit.reports.report_file import Options
from vnicaudit.reports.safe import Paint, encode
from vnicaudit.reports.table.model import GAP, Part, columns

_WIDTHS = (22, 13, 0)
"""Minimum widths of columns, the same in both tables."""

LINE_RATE_SCHEMA: Literal["vnicaudit.line-rate/1"] = "vnicaudit.line-rate/1"


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A goodput in bit/s, and its share of the link's TCP and UDP goodput in per cent."""

    goodput: float
    of_tcp: float
    of_udp: float


class LineRateReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.line-rate/1``: the theoretical maximum of a link."""

    schema: Literal["vnicaudit.line-rate/1"] = LINE_RATE_SCHEMA
    line: LineRate
    share: Share | None = None
    """For the goodput named on the command line."""


def report(line: LineRate, goodput: float | None) -> LineRateReport:
    """The report, with the share of the maximum that ``goodput`` (bit/s) has."""
    if goodput is None:
        return LineRateReport(line=line)
    share = Share(goodput=goodput, of_tcp=100 * goodput / line.tcp, of_udp=100 * goodput / line.udp)
    return LineRateReport(line=line, share=share)


def to_json(found: LineRateReport) -> str:
    """The JSON document ``vnicaudit.line-rate/1``."""
    return f"{encode(found)}\n"


def render(found: LineRateReport, options: Options) -> Iterator[str]:
    """Text in pieces: the link, goodput, packet rates, and the share of the goodput named on the
    command line."""
    line = found.line
    paint = Paint(color=options.color)
    yield paint("name", f"{_bits(line.speed)}, {framing(line)}") + "\n"
    beside = f"{line.overhead} B of overhead on the line per packet"
    yield f"  {beside}, {line.tcp_payload} B of data per TCP packet\n\n"
    goodputs = (
        (name, _bits(rate), f"{100 * rate / line.speed:.2f} %") for name, rate in _goodputs(line)
    )
    yield from _table([("goodput", "at most", "of the line"), *goodputs], paint)
    yield "\n"
    packets = ((f"{entry.frame} B", _packets(entry.rate)) for entry in line.packet_rates)
    yield from _table([("frames", "at most"), *packets], paint)
    if found.share is not None:
        yield f"\n{_share_sentence(found.share)}\n"


def _table(rows: Iterable[Sequence[str]], paint: Paint) -> Iterator[str]:
    parts = [[Part(text) for text in row] for row in rows]
    for cells in columns(parts, paint, least=_WIDTHS[: len(parts[0])], numbers={1}):
        yield f"  {GAP.join(cell.painted for cell in cells).rstrip()}\n"


def framing(line: LineRate) -> str:
    """``MTU 1500, IPv4 in vxlan over IPv4``."""
    how = line.framing
    outer = f" over IPv{how.outer}" if how.encapsulation not in ("none", "vlan") else ""
    inside = "" if how.encapsulation == "none" else f" in {how.encapsulation}{outer}"
    return f"MTU {how.mtu}, IPv{how.ip}{inside}"


def _goodputs(line: LineRate) -> Iterator[tuple[str, float]]:
    if line.framing.timestamps:
        yield "TCP", line.tcp
    yield "TCP without timestamps", line.tcp_without_timestamps
    yield "UDP", line.udp


def _share_sentence(share: Share) -> str:
    beyond = ": more than one such line can carry" if share.of_udp > 100 else ""
    return (
        f"{_bits(share.goodput)} is {share.of_tcp:.2f} % of what TCP can carry here, "
        f"{share.of_udp:.2f} % of what UDP can{beyond}"
    )


def _bits(rate: float) -> str:
    factor, unit = scale_of(rate, "goodput")
    return f"{rate / factor:.5g}{unit}"


def _packets(rate: float) -> str:
    factor, unit = scale_of(rate, "packet_rate")
    return f"{rate / factor:.5g}{unit}"
