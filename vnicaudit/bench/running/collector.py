"""Make the runs in order: each becomes a sample and is stored; the judge decides what comes
next.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from vnicaudit.base.deadlines import Clock, timestamp
from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Ends, Measured, Transport, failed_run, readable
from vnicaudit.bench.engines._listening import ports, start_server
from vnicaudit.bench.facts.covariates import Doubt, ValidityLimits, cost, doubts
from vnicaudit.bench.facts.guards import pinged
from vnicaudit.bench.history import StoredMeasurement, without_output
from vnicaudit.bench.judging.stopping import NextRun, Slot
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.profiles.profile import SEARCHES, Profile
from vnicaudit.bench.running.forecast import Forecast, Listener
from vnicaudit.bench.running.opening import SHIPPED, BenchPlugins, OpenedArm, Switch
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import Covariates, Design, Sample, Witness, Workload

# A check of a path right after a failed run, from sources that took no part in the run.
#
# A TCP connection of vnicaudit's own says most of a run over TCP: it does what the run does, with
# none of its tools. It carries 64 KiB both ways, as large segments may be what does not get
# through. For a run over UDP, the target sends datagrams of its own back: if they arrive and no
# query was answered, the server is down, and not the path. Python at both ends does both; without
# it, and for other runs, ping tells if packets get through. If that gives no answer (it is not
# installed, or a firewall drops it), two more can tell: the peer's neighbour table (ARP; for IPv6
# neighbour discovery), if the target is on a link of the peer, and the counters of the target's
# NIC, if the target can be reached in another way (a guest's agent).


_ECHO_REQUESTS = 3
"""Number of echo requests, one of which must be answered."""
_FRESH_SECONDS = 5
"""An address that was confirmed longer ago says nothing about this run."""

# ip/ipneigh.c of iproute2, print_cacheinfo and print_neigh_state
_NEIGHBOUR = re.compile(
    r" used \d{1,10}/(?P<confirmed>\d{1,10})/\d{1,10} ?probes \d{1,10} (?P<state>[A-Z]+) *$",
    re.MULTILINE,
)
_UNRESOLVED = ("FAILED", "INCOMPLETE")

_SECONDS = 5
_LISTENER = """
import socket, sys
port, longest = int(sys.argv[1]), int(sys.argv[3])
def bound(kind):
    try:
        door = socket.socket(socket.AF_INET6, kind)
        door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        door.bind(("::", port))
    except OSError:
        door = socket.socket(socket.AF_INET, kind)
        door.bind(("", port))
    return door
mail = bound(socket.SOCK_DGRAM)
door = bound(socket.SOCK_STREAM)
door.listen(1)
while sys.argv[2] == "udp":
    said, sender = mail.recvfrom(2048)
    mail.sendto(said, sender)
door.settimeout(60)
line = door.accept()[0]
line.settimeout(longest)
left = 65536
while left:
    got = len(line.recv(left))
    if not got:
        sys.exit(1)
    left -= got
line.sendall(bytes(65536))
"""
_CALLER = """
import socket, sys
host, port, longest = sys.argv[1], int(sys.argv[3]), int(sys.argv[4])
try:
    if sys.argv[2] == "udp":
        family, kind, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        mail = socket.socket(family, kind)
        mail.connect(where)
        mail.settimeout(1)
        for _ in range(longest):
            try:
                mail.send(bytes(512))
                mail.recv(2048)
                sys.exit(0)
            except socket.timeout:
                pass
        sys.exit(3)
    line = socket.create_connection((host, port), longest)
    line.sendall(bytes(65536))
    left = 65536
    while left:
        got = len(line.recv(left))
        if not got:
            sys.exit(3)
        left -= got
except OSError:
    sys.exit(3)
"""
_NOTHING = 3


def witness_of(opened: OpenedArm, transport: Transport = "") -> Witness:
    """The state of the path now, in about 3 s at most, with the ``transport`` of the run in 10."""
    answered, detail = _ping(opened.ends)
    carried = _carried(opened.ends, transport) if transport else None
    return Witness(
        answered,
        detail,
        _resolved(opened.ends),
        carried if transport == "tcp" else None,
        opened.watch.target_counted,
        carried if transport == "udp" else None,
    )


def _carried(ends: Ends, transport: Transport) -> bool | None:
    """True if data went both ways, False if not; None: it could not be tried."""
    bound = str(_SECONDS)
    try:
        server, port = start_server(
            ends.target,
            lambda port: [("python3", "-c", _LISTENER, str(port), transport, bound)],
            ports(ends.seed, ""),
            seconds=6 * _SECONDS,
        )
        try:
            called = ("python3", "-c", _CALLER, ends.address, transport, str(port), bound)
            code = ends.peer.run(called, seconds=4 * _SECONDS).code
        finally:
            server.stop()
    except (EndpointError, MeasureError):
        return None
    return {0: True, _NOTHING: False}.get(-1 if code is None else code)


def _ping(ends: Ends) -> tuple[bool | None, str]:
    try:
        with readable("what ping printed"):
            found = pinged(ends, ends.address, _ECHO_REQUESTS)
    except (EndpointError, MeasureError) as error:
        return None, str(error)
    return found.received > 0, f"{found.received} of {found.sent} answered"


def _resolved(ends: Ends) -> bool | None:
    """True if the peer has just heard from the NIC that has the address, False if it asks in vain;
    None: unknown, as with a router between them."""
    try:
        ran = ends.peer.run(("ip", "-s", "-o", "neigh", "show", "to", ends.address))
    except EndpointError:
        return None
    return parse_neighbour(ran.stdout) if ran.code == 0 else None


def parse_neighbour(text: str) -> bool | None:
    """The state in the output of ``ip -s -o neigh show to ADDRESS``: see :func:`_resolved`."""
    entries = list(_NEIGHBOUR.finditer(text))
    if len(entries) != 1:
        return None
    (entry,) = entries
    if entry["state"] in _UNRESOLVED:
        return False
    fresh = int(entry["confirmed"]) <= _FRESH_SECONDS
    return True if entry["state"] == "REACHABLE" and fresh else None


def take_sample(
    workload: Workload, opened: OpenedArm, slot: Slot, limits: ValidityLimits,
    plugins: BenchPlugins, *, known: bool = True,
) -> Sample:  # fmt: skip
    """Run a workload once. The value never makes a sample invalid. ``known``: the witness's normal
    report in this arm is recorded already. Raises EndpointError if an end is lost."""
    started = timestamp()
    opened.watch.begin()
    measured = run_once(workload, opened.ends, plugins)
    covariates = opened.watch.end(measured, workload.warmup)
    against = _doubts(measured, covariates, workload, limits)
    failed = bool(measured.error) or not measured.values
    failure = measured.failure if failed else None
    witness = None
    if failure or not known:
        transport = plugins.engine(workload.engine).transport(workload)
        witness = witness_of(opened, transport)
    return replace(
        _blank_sample(opened, slot, started),
        values={} if failed else _finite({**measured.values, **cost(measured, covariates)}),
        details=measured.details,
        valid=not against,
        reason="; ".join(doubt.words for doubt in against),
        invalid_by=tuple(dict.fromkeys(doubt.by for doubt in against)),
        failure=failure,
        witness=witness,
        covariates=covariates,
        raw=measured.raw,
    )


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    """Numbers that are not finite were not measured, and cannot be stored."""
    return {metric: value for metric, value in values.items() if math.isfinite(value)}


def _blank_sample(opened: OpenedArm, slot: Slot, started: str) -> Sample:
    return Sample(
        workload=slot.workload, arm=opened.path.name, block=slot.block, order=slot.order,
        boot=opened.boot, started=started,
    )  # fmt: skip


def run_once(workload: Workload, ends: Ends, plugins: BenchPlugins) -> Measured:
    """Run a workload once by its engine. Unexpected output of its tools is at worst a failed
    measurement. Raises EndpointError if an end is lost."""
    try:
        with readable(f"what {workload.engine} printed"):
            return plugins.engine(workload.engine).measure(workload, ends)
    except MeasureError as error:
        return failed_run(error)


def _doubts(
    measured: Measured, covariates: Covariates, workload: Workload, limits: ValidityLimits
) -> tuple[Doubt, ...]:
    """Why the run does not count: its failure, or else its circumstances."""
    if measured.error:
        return (Doubt("error", measured.error),)
    found = doubts(covariates, workload, limits)
    if not found and not measured.values:
        return (Doubt("nothing-measured", "the engine measured nothing"),)
    return found


_WARM_UP = 3.0
_GONE = 3
"""After that many runs in a row in which an end did not answer, it will not come back."""

_ASTRAY = 6
"""After that many runs in a row whose payload took another NIC, the next one will, too."""

Judge = Callable[[], NextRun]
"""Called after each run; returns what comes next."""


class MeasurementTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The measurement to be made. ``states``: name -> the command that switches the server to
    it."""

    profile: Profile
    arms: tuple[str, ...]
    seed: int
    terms: Terms
    states: dict[str, tuple[str, ...]] = {}
    labels: dict[str, str] = {}
    plugins: BenchPlugins = SHIPPED

    @property
    def design(self) -> Design:
        """The order of the arms."""
        return self.terms.design


class Collector:
    """Takes samples, and stores them. ``samples``: all samples so far, without the output of the
    tools."""

    def __init__(
        self, task: MeasurementTerms, stored: StoredMeasurement, listener: Listener,
        samples: Iterable[Sample] = (), clock: Clock = time,
    ) -> None:  # fmt: skip
        self.samples = [without_output(one) for one in samples]
        self.switch = Switch(task.states)
        self._task, self._stored, self._listener, self._clock = task, stored, listener, clock
        self._workloads = {workload.id: workload for workload in task.profile.workloads}
        self._forecast = Forecast(task.profile, task.terms, len(task.arms))
        self._limits = ValidityLimits(
            steal=task.profile.max_steal, cpu_wait=task.profile.max_cpu_wait
        )
        self._began: float | None = None
        self._lost = 0
        self._astray = 0
        self._said: set[str] = set()

    def warm_up(self, arms: Iterable[OpenedArm]) -> None:
        """One short run in each arm, which is discarded: addresses are learned, queues placed.
        Searches discard their first trial themselves."""
        quick = [each for each in self._workloads.values() if each.pattern not in SEARCHES]
        if not quick:
            return
        short = replace(quick[0], seconds=min(_WARM_UP, quick[0].seconds))
        for opened in arms:
            self._listener.prepares(f"warming up {opened.path.name}")
            self._bring_about(opened, short)
            opened.watch.begin()  # finds the guest's QEMU, once
            began = self._clock.monotonic()
            run_once(short, opened.ends, self._task.plugins)
            self._forecast.warmed_up(short, self._clock.monotonic() - began)

    def collect(
        self, slots: Sequence[Slot], arms: Mapping[str, OpenedArm], judge: Judge
    ) -> NextRun:
        """Make these runs, some of them again, until there is nothing left to do or the judge says
        stop, or that it is the other arm's turn; returns the judge's last word. Raises
        EndpointError if an end stays lost, the load keeps taking another NIC, or the judge gives
        up."""
        step = NextRun("go-on")
        for slot in slots:
            step = self._until_it_counts(slot, arms, judge)
            if step.action in ("stop", "away"):
                break
        return step

    def _until_it_counts(self, slot: Slot, arms: Mapping[str, OpenedArm], judge: Judge) -> NextRun:
        """Make one run that counts, and as many more, in any of the arms, as are needed to be
        sure."""
        while True:
            self._run(slot, arms[slot.arm])
            step = judge()
            if step.reason and step.action != "give-up":
                self._listener.says(step.reason)
            if step.action == "give-up":
                raise EndpointError(step.reason)
            if step.action != "again":
                return step
            slot = slot._replace(arm=step.arm or slot.arm)

    def _run(self, slot: Slot, opened: OpenedArm) -> None:
        workload = self._workloads[slot.workload]
        if self._began is None:
            self._began = self._clock.monotonic()
        ahead = self._forecast.ahead(self.samples, slot)
        self._listener.runs(workload, slot.arm, ahead)
        sample = self._sample(workload, opened, slot._replace(order=len(self.samples)))
        self._stored.add(sample)
        self.samples.append(without_output(sample))
        self._listener.sampled(sample)
        self._astray = self._astray + 1 if "wrong-path" in sample.invalid_by else 0
        if self._astray == _ASTRAY:
            raise EndpointError(f"{_ASTRAY} runs in a row were invalid; the last: {sample.reason}")
        self._clock.sleep(self._task.profile.cooldown)
        self._forecast.took(slot, self._clock.monotonic() - self._began)

    def _sample(self, workload: Workload, opened: OpenedArm, slot: Slot) -> Sample:
        started = timestamp()
        try:
            self._bring_about(opened, workload)
            transport = self._transport(workload)
            known = any(
                each.witness is not None and each.failure is None
                for each in self.samples
                if each.arm == opened.path.name
                and transport in ("", self._transport(self._workloads[each.workload]))
            )
            plugins = self._task.plugins
            sample = take_sample(workload, opened, slot, self._limits, plugins, known=known)
        except EndpointError as error:
            self._lost += 1
            if self._lost == _GONE:
                raise
            return replace(
                _blank_sample(opened, slot, started), valid=False, reason=one_line(str(error)),
                invalid_by=("error",), failure="lost",
            )  # fmt: skip
        self._lost = 0
        for url, why in opened.watch.unchecked.items():  # said once for each end
            if url not in self._said:
                self._said.add(url)
                self._listener.says(f"could not check which NIC of {url} carries the load: {why}")
        return sample

    def _transport(self, workload: Workload) -> Transport:
        return self._task.plugins.engine(workload.engine).transport(workload)

    def _bring_about(self, opened: OpenedArm, workload: Workload) -> None:
        self.switch.arm(opened)
        self.switch.state(opened, workload.state)
