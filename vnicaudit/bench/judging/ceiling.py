"""The most that the line of a path allows a workload to carry."""

from __future__ import annotations

from collections.abc import Sequence

from vnicaudit.bench.line_rate import (
    ENCAPSULATIONS,
    Framing,
    IpVersion,
    tcp_fraction,
    udp_fraction,
    udp_packet_rate,
)
from vnicaudit.model.measurement import Path, Workload

AT_CEILING = 0.97
"""From this share of the line's goodput on, the line is what limits."""

_BEYOND = 1.02
_LEAST_MTU = 576


def path_of(arm: str, paths: Sequence[Path]) -> Path | None:
    """The path that an arm is measured on: its own, or the only one there is."""
    for path in paths:
        if path.name == arm:
            return path
    return paths[0] if len(paths) == 1 else None


def ceiling(workload: Workload, metric: str, path: Path | None) -> float | None:
    """The most of this metric that the path's line allows, in its unit; None where that is not
    known. Both ways at once have a line each: None."""
    if path is None or path.line_rate is None or workload.direction == "both":
        return None
    framing = _framing(path)
    if framing is None:
        return None
    if metric == "goodput":
        udp = "udp" in workload.pattern.lower()
        return path.line_rate * (
            udp_fraction(framing, workload.size) if udp else tcp_fraction(framing)
        )
    if metric == "packet_rate" and workload.size is not None:
        return udp_packet_rate(path.line_rate, framing, workload.size)
    return None


def fills(median: float, most: float | None) -> bool:
    """True where the median fills the line; a median well above the line shows that the line is
    another."""
    return most is not None and AT_CEILING * most <= median <= _BEYOND * most


def exceeds(median: float, most: float | None) -> bool:
    """More than the line could carry."""
    return most is not None and median > _BEYOND * most


def _framing(path: Path) -> Framing | None:
    if path.mtu is None or path.mtu < _LEAST_MTU or path.encapsulation not in ENCAPSULATIONS:
        return None
    ip: IpVersion = 6 if ":" in path.address else 4
    return Framing(mtu=path.mtu, encapsulation=path.encapsulation, ip=ip)
