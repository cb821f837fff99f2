"""Throughput of a link as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.bench.line_rate import LineRate
from vnicaudit.reports.bench.labels import scale_of
from vnicaudit.reports.safe import Paint
from vnicaudit.reports.table.model import GAP, Part, columns
from vnicaudit.reports.writers import Options

_WIDTHS = (22, 13, 0)
"""Minimum widths of columns, the same in both tables."""


def render(line: LineRate, options: Options) -> Iterator[str]:
    """The link, goodput, packet rates, and what share of it a measured goodput is."""
    paint = Paint(color=options.color)
    how = line.framing
    inside = "" if how.encapsulation == "none" else f" in {how.encapsulation}"
    link = f"{_rate(line.speed)}, MTU {how.mtu}, IPv{how.ip}{inside}"
    yield paint("name", link) + "\n"
    beside = f"{line.overhead} B of overhead on the line per packet"
    yield f"  {beside}, {line.tcp_payload} B of data per TCP packet\n\n"
    goodputs = (
        (name, _rate(rate), f"{100 * rate / line.speed:.2f} %")
        for name, rate in (("TCP", line.tcp), ("UDP", line.udp))
    )
    yield from _table([("goodput", "at most", "of the line"), *goodputs], paint)
    yield "\n"
    packets = ((f"{one.frame} B", _rate(one.rate, "packet_rate")) for one in line.packet_rates)
    yield from _table([("frames", "at most"), *packets], paint)
    if line.goodput is not None:
        of_tcp, of_udp = 100 * line.goodput / line.tcp, 100 * line.goodput / line.udp
        beyond = ": more than one such line can carry" if of_udp > 100 else ""
        yield (
            f"\n{_rate(line.goodput)} is {of_tcp:.2f} % of what TCP can carry here, "
            f"{of_udp:.2f} % of what UDP can{beyond}\n"
        )


def _table(rows: Iterable[tuple[str, ...]], paint: Paint) -> Iterator[str]:
    parts = [[Part(text) for text in row] for row in rows]
    for cells in columns(parts, paint, least=_WIDTHS[: len(parts[0])], numbers={1}):
        yield f"  {GAP.join(cell.painted for cell in cells).rstrip()}\n"


def _rate(rate: float, metric: str = "goodput") -> str:
    factor, unit = scale_of(rate, metric)
    return f"{rate / factor:.5g}{unit}"
