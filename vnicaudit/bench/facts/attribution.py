"""Attributes CPU time to its users, and to the seconds that were measured.

Engines report bytes of the measured seconds; CPU time is read around the whole run: with setting
up, the warm-up, and taking down. Of that window the machine works for the load only: in the warm-up
and in the measured seconds, or as long as the engine says (several clients of iperf3 run longer
than is measured). So the CPU time is multiplied by ``measured / load``, not by ``measured /
window``: a program that is started over SSH, or through a guest's agent, in two seconds before a
run of ten would make the latter 15 % too small, and another amount on another path. What is wrong
then: what else the machine did while nothing was carried is counted as the load's, ``background x
(window / load - 1)``: 0.2 % of a CPU where 1 % of one is always busy and 2 s of 14 were idle.

A window that is much longer than its load was not one run but a search, whose CPU time belongs to
many rates: then nothing is told.
"""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.bench.contract import Measured
from vnicaudit.bench.facts.cpu import Used
from vnicaudit.bench.facts.qemu_cpu import HostUse
from vnicaudit.model.measurement import Covariates, CpuUse

IDLE_SECONDS = 5.0
"""In which a run is set up and taken down, or in half as long as it lasts."""


class Spent(NamedTuple):
    """Between the same two moments: on each end's machine, and by the target's QEMU."""

    target: Used
    peer: Used
    host: HostUse
    busy_poll: bool


def attribute(
    spent: Spent, measured: float | None, warmup: float | None, load: float | None = None
) -> CpuUse:
    """CPU time of the measured seconds. ``load``: how long there was load in fact; None: in the
    warm-up and in the measured seconds. ``warmup`` None: not known, the whole window was load."""
    spent = _measured_apart(spent)
    if load is None and warmup is not None:
        load = warmup + (measured or 0.0)

    def part(value: float | None, window: float | None) -> float | None:
        share = _share(window, measured, load)
        return None if value is None or share is None else value * share

    return CpuUse(
        target=part(spent.target.busy, spent.target.seconds),
        peer=part(spent.peer.busy, spent.peer.seconds),
        host=part(spent.host.total, spent.host.seconds),
        host_vhost=part(spent.host.vhost, spent.host.seconds),
        busy_poll=spent.busy_poll,
    )


def _share(window: float | None, measured: float | None, load: float | None) -> float | None:
    if not window or not measured:
        return None
    longest = max(measured, load or 0.0)
    if window > longest + max(IDLE_SECONDS, longest / 2):
        return None
    return min(1.0, measured / (window if load is None else min(longest, window)))


def _measured_apart(spent: Spent) -> Spent:
    """Where both ends are on one machine (network namespaces, containers), its CPU time is
    neither's. Where the peer is the target's hypervisor, what QEMU used is not the peer's."""
    target, peer, host = spent.target, spent.peer, spent.host
    if target.boot and target.boot == peer.boot:
        return spent._replace(target=target._replace(busy=None), peer=peer._replace(busy=None))
    if not peer.boot or peer.boot != host.boot or peer.busy is None:
        return spent
    known = host.total is not None and not spent.busy_poll
    rest = max(0.0, peer.busy - (host.total or 0.0)) if known else None
    return spent._replace(peer=peer._replace(busy=rest))


def cost(measured: Measured, covariates: Covariates) -> dict[str, float]:
    """Microseconds of CPU time per Gbit and per request, of what is known. A hypervisor whose data
    path polls is busy whatever it carries, and has none."""
    cpu = covariates.cpu
    ends = {"host": None if cpu.busy_poll else cpu.host, "target": cpu.target, "peer": cpu.peer}
    amounts = {
        "gbit": measured.bytes and measured.bytes * 8 / 1e9,
        "transaction": measured.transactions,
    }
    return {
        f"{end}_cpu_per_{unit}": spent / amount
        for end, spent in ends.items()
        for unit, amount in amounts.items()
        if spent is not None and amount
    }
