"""The maximum that the line of a path allows for a workload."""

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
"""Share of the line's goodput from which the line is the limit."""

_BEYOND = 1.02
_LEAST_MTU = 576


def path_of(arm: str, paths: Sequence[Path]) -> Path | None:
    """The path on which an arm is measured: its own, or the only one."""
    for path in paths:
        if path.name == arm:
            return path
    return paths[0] if len(paths) == 1 else None


def ceiling(workload: Workload, metric: str, path: Path | None) -> float | None:
    """The maximum of this metric that the path's line allows, in its unit; None if unknown. Each
    direction of a workload in both directions has a line of its own: None."""
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
    """True if the median fills the line; a median well above the line shows that the line's speed
    is wrong."""
    return most is not None and AT_CEILING * most <= median <= _BEYOND * most


def exceeds(median: float, most: float | None) -> bool:
    """True for more than the line could carry."""
    return most is not None and median > _BEYOND * most


def _framing(path: Path) -> Framing | None:
    if path.mtu is None or path.mtu < _LEAST_MTU or path.encapsulation not in ENCAPSULATIONS:
        return None
    ip: IpVersion = 6 if ":" in path.address else 4
    return Framing(mtu=path.mtu, encapsulation=path.encapsulation, ip=ip)
