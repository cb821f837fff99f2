"""What is read beside a run, just before it and just after it; what makes the run not count; and
what it cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from vnicaudit.bench.contract import Endpoint, Ends, Measured
from vnicaudit.bench.facts.attribution import Spent, attribute, cost
from vnicaudit.bench.facts.cpu import Reading, Used, read_cpu, used
from vnicaudit.bench.facts.guest_process import GuestProcess, find_guest
from vnicaudit.bench.facts.qemu_cpu import HostUse, QemuReading, host_use, read_qemu
from vnicaudit.bench.facts.validity import Limits, why_invalid
from vnicaudit.bench.facts.vcpu_delay import Delays, waited
from vnicaudit.bench.readable import readable
from vnicaudit.errors import ActionError, EndpointError, MeasureError
from vnicaudit.model.measurement import Covariates, Path

__all__ = ["Limits", "Watch", "cost", "why_invalid"]

T = TypeVar("T")


class _Moment(NamedTuple):
    """What was read at one moment; None: it could not be."""

    target: Reading | None
    peer: Reading | None
    qemu: QemuReading | None
    delays: tuple[int | None, ...] | None
    at: float


class Watch:
    """Reads the covariates of runs on one path: one round trip to each end and to the hypervisor
    before a run and one after it, none while it runs.

    What cannot be read is not known, and no error: a lost end is found by whoever measures.
    ``hypervisor``: where the target's QEMU runs; ``machine``: the target's domain, of a live
    libvirt.
    """

    def __init__(
        self, ends: Ends, path: Path, hypervisor: Endpoint | None, machine: Delays | None
    ) -> None:
        self._ends, self._path = ends, path
        self._hypervisor, self._machine = hypervisor, machine
        self._guest: GuestProcess | None = None
        self._before: _Moment | None = None

    def begin(self) -> None:
        """Just before a run. The target's QEMU is looked for once, and again when it has ended."""
        if self._guest is None:
            self._find()
        self._before = self._look()
        if self._guest is not None and self._before.qemu is None:
            self._find()
            self._before = self._look()

    def end(self, measured: Measured, warmup: float | None = None) -> Covariates:
        """Just after it. ``warmup``: seconds of load before those that were measured, unless the
        engine says how long there was load; None: that is not known, and the load is taken to have
        lasted from :meth:`begin` to here, which makes its CPU time too small by the share of the
        time that was spent on setting it up."""
        before, after = self._before, self._look()
        if before is None:
            return Covariates(seconds=measured.seconds)
        target, peer = _used(before.target, after.target), _used(before.peer, after.peer)
        polls = self._guest is not None and self._guest.busy_poll
        spent = Spent(target, peer, self._host(before, after), polls)
        held = [use.throttled for use in (target, peer) if use.throttled is not None]
        return Covariates(
            target_steal=target.steal,
            peer_steal=peer.steal,
            vcpu_delay=_delay(before, after),
            throttled=max(held, default=None),
            generator_cpu=measured.generator_cpu,
            generator_limited=measured.generator_limited,
            seconds=measured.seconds,
            cpu=attribute(spent, measured.seconds, warmup, measured.load_seconds),
        )

    def _look(self) -> _Moment:
        machine, host, guest = self._machine, self._hypervisor, self._guest
        delays = None if machine is None else _if_possible(machine.vcpu_delays)
        at = time.monotonic()
        qemu = None
        if host is not None and guest is not None:
            qemu = _if_possible(lambda: read_qemu(host, guest))
        return _Moment(
            qemu=qemu,
            peer=_if_possible(lambda: read_cpu(self._ends.peer)),
            target=_if_possible(lambda: read_cpu(self._ends.target)),
            delays=delays,
            at=at,
        )

    def _host(self, before: _Moment, after: _Moment) -> HostUse:
        if self._guest is None or before.qemu is None or after.qemu is None:
            return HostUse()
        return host_use(before.qemu, after.qemu, vhost=self._guest.vhost)

    def _find(self) -> None:
        host, domain = self._hypervisor, self._path.domain
        if host is not None and domain is not None:
            self._guest = _if_possible(lambda: find_guest(host, domain, self._path.mac))


def _if_possible(read: Callable[[], T]) -> T | None:
    try:
        with readable("what was printed"):
            return read()
    except (EndpointError, MeasureError, ActionError):
        return None


def _used(before: Reading | None, after: Reading | None) -> Used:
    return used(before, after) if before is not None and after is not None else Used()


def _delay(before: _Moment, after: _Moment) -> float | None:
    if before.delays is None or after.delays is None:
        return None
    return waited(before.delays, after.delays, after.at - before.at)
