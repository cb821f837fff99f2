"""Covariates of a run, read just before and just after it: reasons for which the run does not
count, and its cost.

How long a guest's vCPUs waited for a CPU of the host is steal time, seen from outside: libvirt's
``vcpu.N.delay`` (domain statistics, group vcpu; since libvirt 7.2.0, commit 4719ec15e97d) is
*run_delay*, the second number in ``/proc/PID/task/TID/schedstat``, in nanoseconds
(Documentation/scheduler/sched-stats.rst). KVM reports the same number to a guest as steal time, if
the guest asks for it; here it is known for every guest, without an agent.

Attribute CPU time to its users, and to the measured seconds.

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

import time
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import NamedTuple, Protocol, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from vnicaudit.bench.contract import Endpoint, Ends, Measured, readable
from vnicaudit.bench.facts.cpu import Used, longest_wait, use_between
from vnicaudit.bench.facts.guest_process import (
    GuestHost,
    GuestProcess,
    HostUse,
    QemuReading,
    find_guest,
    host_use,
    read_qemu,
)
from vnicaudit.bench.facts.path_check import (
    EndReading,
    PathFinding,
    check_path,
    counted_both_ways,
    payload_of,
    read_end,
    read_lagged,
)
from vnicaudit.errors import ActionError, EndpointError, MeasureError
from vnicaudit.model.measurement import (
    Covariates,
    CpuParts,
    CpuUse,
    End,
    InvalidBy,
    NicBytes,
    Path,
    Workload,
)

IDLE_SECONDS = 5.0
"""Time for setting a run up and shutting it down; or half of the run's duration, if that is
more."""


_MOST_ABOVE = 1.25
"""Times what all CPUs have, up to which CPU time is that of a load that filled them."""
_ONE_CPU = "softirq_of_busiest"


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
    spent, shared = _measured_apart(spent)
    if load is None and warmup is not None:
        load = warmup + (measured or 0.0)

    def part(value: float | None, window: float | None) -> float | None:
        share = _share(window, measured, load)
        return None if value is None or share is None else value * share

    def busy(used: Used, value: float | None, cpus: int) -> float | None:
        """Of so many CPUs, which cannot have spent more. What is far above that is unknown: it was
        other work, in a window much longer than the load."""
        found, most = part(value, used.seconds), cpus * (measured or 0.0) * 1e6
        if found is None or not most:
            return found
        return min(found, most) if found <= _MOST_ABOVE * most else None

    def parts(used: Used) -> CpuParts:
        each = asdict(used.parts)
        return CpuParts(
            **{
                name: busy(used, value, min(used.cpus, 1) if name == _ONE_CPU else used.cpus)
                for name, value in each.items()
            }
        )

    return CpuUse(
        target=busy(spent.target, spent.target.busy, spent.target.cpus),
        peer=busy(spent.peer, spent.peer.busy, spent.peer.cpus),
        shared=busy(spent.target, shared, spent.target.cpus),
        target_parts=parts(spent.target),
        peer_parts=parts(spent.peer),
        host=part(spent.host.total, spent.host.seconds),
        busy_poll=spent.busy_poll,
    )


def _share(window: float | None, measured: float | None, load: float | None) -> float | None:
    if not window or not measured:
        return None
    longest = max(measured, load or 0.0)
    if window > longest + max(IDLE_SECONDS, longest / 2):
        return None
    return min(1.0, measured / (window if load is None else min(longest, window)))


def _measured_apart(spent: Spent) -> tuple[Spent, float | None]:
    """If both ends are on one machine (network namespaces, containers), its CPU time cannot be
    attributed to either, and is returned apart; neither can that of a cgroup that both are in. If
    the peer is the target's hypervisor, QEMU's part is not the peer's."""
    target, peer, host = spent.target, spent.peer, spent.host
    if target.boot and target.boot == peer.boot:
        target, peer = target._replace(busy=None), peer._replace(busy=None)
        if target.group == peer.group:
            target, peer = (
                each._replace(parts=replace(each.parts, group=None)) for each in (target, peer)
            )
        return spent._replace(target=target, peer=peer), spent.target.busy
    if not peer.boot or peer.boot != host.boot or peer.busy is None:
        return spent, None
    known = host.total is not None and not spent.busy_poll
    rest = max(0.0, peer.busy - (host.total or 0.0)) if known else None
    return spent._replace(peer=peer._replace(busy=rest)), None


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


class Delays(Protocol):
    """A domain whose vCPU delays can be read (:class:`vnicaudit.remedy.hypervisor.Machine`)."""

    def vcpu_delays(self) -> tuple[int | None, ...]:
        """Nanoseconds that each vCPU has waited so far; None if libvirt does not report it. Raises
        ActionError."""


T = TypeVar("T")


class _Moment(NamedTuple):
    """Readings of one moment; None: could not be read. ``delays``: seconds that each vCPU has
    waited for a CPU so far, if libvirt reports them."""

    target: EndReading | None
    peer: EndReading | None
    qemu: QemuReading | None
    delays: dict[int, float]
    at: float


class Watch:
    """Reads the covariates of runs on one path: one round trip to each end and to the hypervisor
    before a run and one after it, none while it runs.

    Values that cannot be read are unknown, which is not an error: the measurement itself reports a
    lost end. ``hypervisor``: the host of the target's QEMU; ``machine``: the target's domain, on a
    live libvirt.
    """

    def __init__(
        self, ends: Ends, path: Path, hypervisor: GuestHost | None, machine: Delays | None,
        read: Callable[[Endpoint, End, str], EndReading] = read_end,
    ) -> None:  # fmt: skip
        self._read = read
        self._ends, self._path = ends, path
        self._hypervisor, self._machine = hypervisor, machine
        self._guest: GuestProcess | None = None
        self._before: _Moment | None = None
        self.unchecked: dict[str, str] = {}
        """URL of an end -> why it is unknown which of its NICs carried the payload."""
        self.target_counted: bool | None = None
        """The target's NIC counted bytes in and out during the last run (True), or none in one
        direction (False)."""

    def begin(self) -> None:
        """Call it just before a run. The target's QEMU is looked up once, and again if it has
        ended."""
        if self._guest is None:
            self._find()
        self._before = self._read_moment()
        if self._guest is not None and self._before.qemu is None:
            self._find()
            self._before = self._read_moment()

    def end(self, measured: Measured, warmup: float | None = None) -> Covariates:
        """Call it just after a run. ``warmup``: seconds of load before the measured ones, unless
        the engine says how long there was load; None: unknown, and the load is taken to have lasted
        from :meth:`begin` to here, which makes its CPU time too small by the share of the time that
        was spent on setup."""
        before, after = self._before, self._read_moment()
        if before is None:
            return Covariates(seconds=measured.seconds)
        self.target_counted = counted_both_ways(
            before.target and before.target.nics,
            after.target and after.target.nics,
            after.at - before.at,
        )
        target, peer = _used(before.target, after.target), _used(before.peer, after.peer)
        polls = self._guest is not None and self._guest.busy_poll
        host = self._host(before, after)
        spent = Spent(target, peer, host, polls)
        held = [use.throttled for use in (target, peer) if use.throttled is not None]
        return Covariates(
            target_steal=target.steal,
            peer_steal=peer.steal,
            vcpu_delay=longest_wait(before.delays, after.delays, after.at - before.at),
            throttled=max(held, default=None),
            generator_limited=measured.generator_limited,
            seconds=measured.seconds,
            cpu=attribute(spent, measured.seconds, warmup, measured.load_seconds),
            target_wait=_waited("target", measured, self._ends.target),
            peer_wait=_waited("peer", measured, self._ends.peer),
            host_wait=host.waited,
            target_pressure=target.pressure,
            peer_pressure=peer.pressure,
            payload=payload_of(measured),
            nics=self._nics(before, after, measured),
        )

    def _nics(self, before: _Moment, after: _Moment, measured: Measured) -> tuple[NicBytes, ...]:
        target = self._checked("target", before.target, after.target, measured)
        peer = self._checked("peer", before.peer, after.peer, measured)
        return (*target.nics, *peer.nics)

    def _checked(
        self, end: End, before: EndReading | None, after: EndReading | None, measured: Measured
    ) -> PathFinding:
        endpoint = self._ends.target if end == "target" else self._ends.peer
        finding = check_path(
            end,
            before and before.nics,
            after and after.nics,
            payload_of(measured),
            lambda nic: read_lagged(endpoint, end, self._ends.address, nic),
        )
        if finding.unchecked:
            self.unchecked[endpoint.url] = finding.unchecked
        return finding

    def _read_moment(self) -> _Moment:
        ends, machine = self._ends, self._machine
        host, guest = self._hypervisor, self._guest
        delays = (machine and _if_possible(machine.vcpu_delays)) or ()
        at = time.monotonic()
        qemu = None
        if host is not None and guest is not None:
            qemu = _if_possible(lambda: read_qemu(host.endpoint, guest))
        return _Moment(
            qemu=qemu,
            peer=_if_possible(lambda: self._read(ends.peer, "peer", ends.address)),
            target=_if_possible(lambda: self._read(ends.target, "target", ends.address)),
            delays={vcpu: each / 1e9 for vcpu, each in enumerate(delays) if each is not None},
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


def _used(before: EndReading | None, after: EndReading | None) -> Used:
    if before is None or after is None:
        return Used()
    return use_between(before.cpu, after.cpu)


def _waited(end: End, measured: Measured, endpoint: Endpoint) -> float | None:
    """Per cent of the time that the longest-waiting program there waited for a CPU."""
    if end in measured.cpu_waits:
        return min(100.0, measured.cpu_waits[end])
    waits = [
        ran.cpu_wait
        for ran in measured.raw
        if ran.endpoint == endpoint.url and ran.cpu_wait is not None
    ]
    return max(waits, default=None)


# Reasons for which a run does not count.
#
# Covariates alone decide, never the result: leaving out slow runs would prove anything. An unknown
# value makes no run invalid.


class ValidityLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits beyond which a run does not count, all in per cent. A machine that is shared with
    others may need a higher limit of steal: the intervals then include its noise."""

    steal: float = 2.0
    """The most CPU time that an end may lose to its hypervisor, and the most of the run that a vCPU
    may wait for a CPU: the same thing, seen from inside and from outside."""
    cpu_wait: float = 60.0
    """The most of a run that a thread of a generator, a vhost worker or QEMU's main loop may be
    ready to run and have no CPU: more than a generator waits for the network's own threads beside
    it (docs/explanation/measuring.md has the figures)."""
    throttled: float = 1.0
    """The most of the run that a CPU quota may hold an end back."""
    seconds: float = 95.0
    """The least part of the requested seconds that must be measured."""


class Doubt(NamedTuple):
    """One reason for which a run does not count."""

    by: InvalidBy
    words: str


def doubts(covariates: Covariates, workload: Workload, limits: ValidityLimits) -> tuple[Doubt, ...]:
    """Why a run does not count; empty if it does."""
    found = [
        Doubt(by, f"{words.format(f'{value:.3g} %')}, more than {limit:g} %")
        for by, value, limit, words in _limited(covariates, limits)
        if value is not None and value > limit
    ]
    seconds = covariates.seconds
    if seconds is not None and seconds < workload.seconds * limits.seconds / 100:
        words = f"only {seconds:.3g} of {workload.seconds:g} seconds were measured, less than "
        found.append(Doubt("short", f"{words}{limits.seconds:g} %"))
    return (*found, *_elsewhere(covariates))


def _limited(
    covariates: Covariates, limits: ValidityLimits
) -> Iterator[tuple[InvalidBy, float | None, float, str]]:
    """Kind, value, limit, and words for a value, for each covariate in per cent."""
    steal, wait = limits.steal, limits.cpu_wait
    for end, value in (("target", covariates.target_steal), ("peer", covariates.peer_steal)):
        words = f"the hypervisor under the {end} took {{}} of its CPU time (steal)"
        yield "steal", value, steal, words
    words = "a vCPU of the target waited {} of the run for a CPU of its host"
    yield "vcpu-delay", covariates.vcpu_delay, steal, words
    words = "a CPU quota (cgroup) throttled an end for {} of the run"
    yield "throttled", covariates.throttled, limits.throttled, words
    for end, waited, pressure in (
        ("target", covariates.target_wait, covariates.target_pressure),
        ("peer", covariates.peer_wait, covariates.peer_pressure),
    ):
        words = f"the generator at the {end} waited {{}} of the run for a CPU"
        yield "cpu-wait", waited, wait, words
        # pressure counts every waiting thread on that machine, even ones that do not affect the
        # load: its limit is half-way to 100 %, and it applies only if the own wait is unknown
        words = f"threads queued for the CPUs of the {end} {{}} of the run (PSI)"
        yield "cpu-pressure", pressure if waited is None else None, (wait + 100) / 2, words
    words = "a vhost worker or the main loop of the target's QEMU waited {} of the run for a CPU"
    yield "cpu-wait", covariates.host_wait, wait, words


def _elsewhere(covariates: Covariates) -> Iterator[Doubt]:
    for end, nics in groupby(covariates.nics, key=lambda nic: nic.end):
        own, *others = nics
        if others:
            carried = ", ".join(f"{nic.nic} {bytes_words(nic.bytes)}" for nic in others)
            yield Doubt(
                "wrong-path",
                f"the payload of {bytes_words(covariates.payload or 0)} went through another NIC "
                f"of the {end}: {carried}, but only {bytes_words(own.bytes)} through {own.nic}, "
                "which the result is about",
            )


def bytes_words(count: float) -> str:
    """``803 MB``: bytes in readable units."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
