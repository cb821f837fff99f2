"""Attribute CPU time to its users, and to the measured seconds.

Engines report bytes of the measured seconds; CPU time is read around the whole run, including
setup, warm-up and shutdown. Of that window the machine works for the load only in part: during the
warm-up and the measured seconds, or as long as the engine says (several clients of iperf3 run
longer than is measured). So the CPU time is multiplied by ``measured / load``, not by ``measured /
window``: a program that is started over SSH, or through a guest's agent, in two seconds before a
run of ten would make the latter 15 % too small, and by a different amount on another path. The
remaining error: other work of the machine while there was no load counts as the load's,
``background x (window / load - 1)``: 0.2 % of a CPU if 1 % of one is always busy and 2 s of 14 were
idle.

A window much longer than its load was not one run but a search, whose CPU time belongs to many
rates: then no CPU time is reported.
"""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.bench.contract import Measured
from vnicaudit.bench.facts.cpu import Used
from vnicaudit.bench.facts.qemu_cpu import HostUse
from vnicaudit.model.measurement import Covariates, CpuUse

IDLE_SECONDS = 5.0
"""Time for setting a run up and shutting it down; or half of the run's duration, if that is
more."""


class Spent(NamedTuple):
    """CPU time between the same two moments: on each end's machine, and of the target's QEMU."""

    target: Used
    peer: Used
    host: HostUse
    busy_poll: bool


def attribute(
    spent: Spent, measured: float | None, warmup: float | None, load: float | None = None
) -> CpuUse:
    """CPU time of the measured seconds. ``load``: how long there was load in fact; None: during the
    warm-up and the measured seconds. ``warmup`` None: unknown, the whole window counts as load."""
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
    """If both ends are on one machine (network namespaces, containers), its CPU time cannot be
    attributed to either. If the peer is the target's hypervisor, QEMU's part is not the peer's."""
    target, peer, host = spent.target, spent.peer, spent.host
    if target.boot and target.boot == peer.boot:
        return spent._replace(target=target._replace(busy=None), peer=peer._replace(busy=None))
    if not peer.boot or peer.boot != host.boot or peer.busy is None:
        return spent
    known = host.total is not None and not spent.busy_poll
    rest = max(0.0, peer.busy - (host.total or 0.0)) if known else None
    return spent._replace(peer=peer._replace(busy=rest))


def cost(measured: Measured, covariates: Covariates) -> dict[str, float]:
    """Microseconds of CPU time per Gbit and per request, and per cent of a CPU at both ends, where
    they are known. A hypervisor whose data path polls is always busy, so it has no such cost."""
    cpu = covariates.cpu
    ends = {"host": None if cpu.busy_poll else cpu.host, "target": cpu.target, "peer": cpu.peer}
    amounts = {
        "gbit": measured.bytes and measured.bytes * 8 / 1e9,
        "transaction": measured.transactions,
    }
    shares = {
        f"{end}_cpu": 100 * spent / (measured.seconds * 1e6)
        for end, spent in ends.items()
        if end != "host" and spent is not None and measured.seconds
    }
    return shares | {
        f"{end}_cpu_per_{unit}": spent / amount
        for end, spent in ends.items()
        for unit, amount in amounts.items()
        if spent is not None and amount
    }
