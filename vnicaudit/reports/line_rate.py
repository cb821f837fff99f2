"""Throughput of a line: as text, or as ``vnicaudit.line-rate/1``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from vnicaudit.bench.line_rate import LineRate
from vnicaudit.reports.bench.words.quantity import scale_of
from vnicaudit.reports.encode import encode
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.writer import Options

LINE_RATE_SCHEMA: Literal["vnicaudit.line-rate/1"] = "vnicaudit.line-rate/1"


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A goodput in bit/s, and what part of the line's that is, per cent."""

    goodput: float
    of_tcp: float
    of_udp: float


class LineRateReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.line-rate/1``: what a line carries at best."""

    schema: Literal["vnicaudit.line-rate/1"] = LINE_RATE_SCHEMA
    line: LineRate
    share: Share | None = None
    """Of the goodput that was asked about."""


def report(line: LineRate, goodput: float | None) -> LineRateReport:
    """With what part of it ``goodput`` (bit/s) is."""
    if goodput is None:
        return LineRateReport(line=line)
    share = Share(goodput=goodput, of_tcp=100 * goodput / line.tcp, of_udp=100 * goodput / line.udp)
    return LineRateReport(line=line, share=share)


def to_json(found: LineRateReport) -> str:
    """The document ``vnicaudit.line-rate/1``, as JSON."""
    return f"{encode(found)}\n"


def render(found: LineRateReport, options: Options) -> Iterator[str]:
    """In pieces: the line, goodput, packets, and the share that was asked about."""
    line = found.line
    paint = Paint(color=options.color)
    yield paint("name", f"{_bits(line.speed)}, {framing(line)}") + "\n"
    beside = f"{line.overhead} B on the line beside each packet"
    yield f"  {beside}, {line.tcp_payload} B of data in one of TCP\n\n"
    yield f"  {'goodput':22}  {'at most':>13}  of the line\n"
    for name, rate in _goodputs(line):
        yield f"  {name:22}  {_bits(rate):>13}  {100 * rate / line.speed:.2f} %\n"
    yield f"\n  {'frames':22}  {'at most':>13}\n"
    for entry in line.packet_rates:
        yield f"  {f'{entry.frame} B':22}  {_packets(entry.rate):>13}\n"
    if found.share is not None:
        yield f"\n{_share_sentence(found.share)}\n"


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
    beyond = ": more than one such line carries" if share.of_udp > 100 else ""
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
