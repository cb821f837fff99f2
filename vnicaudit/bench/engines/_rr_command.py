"""Workload, checked -> one run of both roles of the generator against each other.

IBM's names for requests, which IBM runs by uperf and this program by its own generator.

``rr1c-200x1000``: a request of 200 bytes and an answer of 1000 over a persistent connection; ``k``
is 1024. ``crr-200x1000``: the same, each request over a connection of its own (our name; netperf
calls it TCP_CRR). IBM's streams (``str-readx30k``) are iperf3's, with messages of 30 KiB (IBM, KVM
network performance, "Workload tests description").
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from math import ceil
from typing import Annotated, Literal, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Endpoint, Ends, Needs, StartedProgram
from vnicaudit.bench.engines._iperf3_command import IPERF3
from vnicaudit.bench.engines._listening import Problems, is_literal, ports, refuse_if, start_server
from vnicaudit.bench.generator import built
from vnicaudit.errors import EndpointError, MeasureError, NoTrafficError, UsageError
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.measurement import Ran, Workload

NAME = "vnicaudit-rr"
_USAGE = 2
"""Exit code of the program without a role."""

_stored: WeakKeyDictionary[Endpoint, str | MeasureError] = WeakKeyDictionary()
"""Path of the program, or why there is none: asked for once at each end in a session."""


def program_at(endpoint: Endpoint) -> str:
    """The path of the program at an endpoint, in the session's folder. Raises MeasureError with the
    reason if it cannot be built, or does not run there, EndpointError if the end is lost."""
    if endpoint not in _stored:
        try:
            _stored[endpoint] = _store(endpoint)
        except MeasureError as error:
            _stored[endpoint] = error
    found = _stored[endpoint]
    if isinstance(found, MeasureError):
        raise found
    return found


def _store(endpoint: Endpoint) -> str:
    machine = endpoint.run(("uname", "-m")).stdout.strip()
    path = endpoint.put_file(NAME, built(machine))
    endpoint.run(("chmod", "700", path))
    tried = endpoint.run((path,))
    if tried.code != _USAGE:
        said = one_line(tried.stderr, last=True) or f"exit {tried.code}"
        raise MeasureError(f"{endpoint.url}: the generator of requests does not run there: {said}")
    return path


Mode = Literal["rr", "crr"]

LARGEST = 16 << 20
"""Bytes of a message."""

_REQUESTS = re.compile(r"(rr1c|crr)-([1-9]\d{0,7}k?)x([1-9]\d{0,7}k?)", re.ASCII)

NAMED = ("rr1c-1x1", "rr1c-200x1000", "rr1c-200x30k", "crr-1x1")


class Pattern(NamedTuple):
    """``size``: bytes of a request; ``answer``: of an answer. ``crr``: a connection for each
    request."""

    mode: Mode
    size: int
    answer: int


def pattern_of(name: str) -> Pattern | None:
    """The pattern of that name; None if there is none."""
    found = _REQUESTS.fullmatch(name)
    if found is None:
        return None
    pattern = Pattern("rr" if found[1] == "rr1c" else "crr", _bytes(found[2]), _bytes(found[3]))
    return pattern if max(pattern.size, pattern.answer) <= LARGEST else None


class Patterns(Mapping[str, tuple[str, ...]]):
    """Pattern -> metrics: of requests, of connections. IBM's patterns are listed, and one of
    connections; patterns of any other size are accepted too."""

    def __init__(self, rr: tuple[str, ...], crr: tuple[str, ...]) -> None:
        self._metrics: dict[Mode, tuple[str, ...]] = {"rr": rr, "crr": crr}

    def __getitem__(self, name: str) -> tuple[str, ...]:
        pattern = pattern_of(name) if isinstance(name, str) else None
        if pattern is None:
            raise KeyError(name)
        return self._metrics[pattern.mode]

    def __iter__(self) -> Iterator[str]:
        return iter(NAMED)

    def __len__(self) -> int:
        return len(NAMED)


def _bytes(text: str) -> int:
    return int(text[:-1]) * 1024 if text.endswith("k") else int(text)


CONNECTIONS = 500
"""The most that the program accepts (generator/native/program.c)."""
_LONGEST = 86400
_MOST_MESSAGES = 1e6
"""1/s: more than any generator sends."""
FILL = "fill"
_DIRECTIONS = ("rx", "tx")


def checked_workload(workload: Workload) -> Pattern:
    """The pattern of the workload. Raises UsageError if it cannot be run as written."""
    pattern = pattern_of(workload.pattern)
    if pattern is None:
        raise UsageError(
            f"{workload.id}: rr has no pattern {workload.pattern!r}; use {', '.join(NAMED)}, or "
            "these with other sizes"
        )
    refuse_if(workload, *_problems(workload), *_time_problems(workload, pattern.mode))
    return pattern


def _problems(workload: Workload) -> Problems:
    direction, connections = workload.direction, workload.connections
    words = f"direction {direction}: in {workload.pattern} both send, which is both"
    yield direction != "both", words
    yield workload.size is not None, f"size {workload.size}: the pattern sets the sizes"
    few = not 1 <= connections <= CONNECTIONS
    yield few, f"connections {connections}: rr takes 1 to {CONNECTIONS}"
    words = f"generators {workload.generators}: rr has one, with a thread for each connection"
    yield workload.generators != 1, words
    for name in workload.options:
        yield name not in ("port", FILL), f"rr has no option {name!r}; it has port, {FILL}"
    port, fill = workload.options.get("port", "1"), workload.options.get(FILL, "rx")
    wrong = not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535
    yield wrong, f"port: {port!r} is not a number from 1 to 65535"
    yield fill not in _DIRECTIONS, f"{FILL}: {fill!r} is unknown; use {', '.join(_DIRECTIONS)}"


def _time_problems(workload: Workload, mode: Mode) -> Problems:
    seconds, warmup, rate = workload.seconds, workload.warmup, workload.rate
    wrong = not 0 < seconds <= _LONGEST
    yield wrong, f"seconds {seconds:g}: must be more than 0, and at most a day"
    wrong = not 0 <= warmup <= _LONGEST
    yield wrong, f"warmup {warmup:g}: must be 0 or more seconds, and at most a day"
    if rate is not None:
        words = f"rate {rate:g}: new connections are always made as fast as possible"
        yield mode == "crr", words
        words = f"rate {rate:g}: must be at least one message a second, and at most a million"
        yield not 1 <= rate <= _MOST_MESSAGES, words


_SLACK = 40.0
"""Seconds in addition to those of the run, to connect and to report, after which both ends time
out."""
_PORT_SECONDS = 20.0
_END_SECONDS = 5.0
_SOON_SECONDS = 1.0
"""Time in which a server that lost its client has reported that; one without a client waits on."""


def run_pair(workload: Workload, pattern: Pattern, ends: Ends) -> tuple[Ran, Ran | None]:
    """Run a server at the target and a client at the peer to their end; returns the runs of both,
    None: the server did not listen. No server is left. Raises EndpointError, and MeasureError if
    the program cannot be built for an end, or run there."""
    target, peer = program_at(ends.target), program_at(ends.peer)
    port_file, key_file = (f"{path}.{secrets.token_hex(4)}" for path in (target, peer))
    life = workload.warmup + workload.seconds + _SLACK
    listen = ("--listen", ends.address, "--port", workload.options.get("port", "0"))
    server = ends.target.start(
        (target, "server", "--deadline", f"{life:g}", "--port-file", port_file, *listen),
        seconds=life + _SLACK,
    )
    try:
        asked = ends.target.run((target, "port", port_file), seconds=_PORT_SECONDS)
        told = re.fullmatch(r"([1-9]\d{0,4}) ([0-9a-f]{32})\n", asked.stdout)
        if asked.code != 0 or told is None:
            return server.stop(), None
        sealed = _sealed(ends.peer, peer, key_file, told[2])
        argv = _client(workload, pattern, ends.address, int(told[1]), life)
        client = ends.peer.run(
            (peer, "client", "--key", key_file, "--sealed", sealed, *argv), seconds=life + _SLACK
        )
        return server.wait(_END_SECONDS if client.code == 0 else _SOON_SECONDS), client
    finally:
        server.stop()


def _sealed(end: Endpoint, program: str, key_file: str, token: str) -> str:
    """The token for a command line, which everybody there can see: with a key of this one run,
    which the end draws and keeps in a file for its user alone."""
    ran = end.run((program, "key", key_file))
    if ran.code != 0 or re.fullmatch(r"[0-9a-f]{32}\n", ran.stdout) is None:
        raise EndpointError(f"{end.url}: the generator has no key there")
    return f"{int(token, 16) ^ int(ran.stdout, 16):032x}"


def _client(
    workload: Workload, pattern: Pattern, address: str, port: int, life: float
) -> tuple[str, ...]:
    """Numbers are written without loss of precision."""
    words = ["--deadline", f"{life:g}", "--connect", address, "--port", str(port)]
    words += ["--mode", pattern.mode, "--size", str(pattern.size), "--answer", str(pattern.answer)]
    words += ["--connections", str(workload.connections), "--rate", repr(workload.rate or 0.0)]
    words += ["--seconds", repr(float(workload.seconds)), "--warmup", repr(float(workload.warmup))]
    return tuple(words)


# Output of the generator: one line of JSON.


Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class WorkerReport(msgspec.Struct, frozen=True):
    """One thread, with a connection. ``cpu``: share of the time that it had a CPU; ``kernel``: the
    part of that in the kernel; ``wait``: share of the time that it waited for a CPU; ``sum``,
    ``max``: of latencies, in nanoseconds; ``waiting``: requests without an answer when the time was
    over, ``oldest``: seconds that the oldest of them had waited."""

    bytes: Count
    transactions: Count
    cpu: Share
    wait: Share
    late: Count
    kernel: Share = 0.0
    sum: Count = 0
    max: Count = 0
    waiting: Count = 0
    oldest: Share = 0.0

    @property
    def busy(self) -> float:
        """Share of the time that it had a CPU, or waited for one."""
        return self.cpu + self.wait

    @property
    def own(self) -> float:
        """The part of ``busy`` outside the kernel: the kernel's work is needed for any program on
        this path."""
        return max(self.busy - self.kernel, 0.0)


class RrReport(msgspec.Struct, frozen=True):
    """Counts of both ends. ``counts``: (nanoseconds, number of requests); the program keeps
    three digits of each latency, and adds up those of its threads."""

    error: str
    counts: tuple[tuple[Count, Count], ...] = ()
    client: tuple[WorkerReport, ...] = ()
    server: tuple[WorkerReport, ...] = ()

    @property
    def answered(self) -> int:
        """Number of requests with an answer."""
        return sum(count for _, count in self.counts)

    def percentile(self, percent: float) -> int:
        """The smallest latency in nanoseconds that at least that many per cent do not exceed."""
        wanted, seen = max(ceil(Fraction(str(percent)) * self.answered / 100), 1), 0
        for nanoseconds, count in sorted(self.counts):
            seen += count
            if seen >= wanted:
                return nanoseconds
        return 0


_decoder = json_decoder(RrReport)


def report_of(text: str, pattern: Pattern) -> RrReport:
    """Parse the output of a client. Raises MeasureError for an incomplete result, or with the error
    in it."""
    report = _decoded_line(text)
    if report.error:
        raise client_error(report.error)
    if not report.client or not report.server:
        raise MeasureError("the generator's result is from one end only")
    answered = sum(side.transactions for side in report.client)
    if report.answered != answered:
        raise MeasureError("the generator counted more or fewer latencies than answers")
    if not answered:
        raise NoTrafficError("no request was answered in the measured time")
    if carried_bytes(report) != answered * (pattern.size + pattern.answer):
        raise MeasureError("the generator's bytes do not match its answers")
    return report


_NO_WAY = re.compile(
    r"timed out|refused|unreachable|no route to host|nothing came or went|did not answer in time",
    re.IGNORECASE,
)
"""Words of clients, and of the system, for a server that was not reached or does not answer."""


def client_error(said: str) -> MeasureError:
    """The error for a client with this message: NoTrafficError if it did not reach its server."""
    return NoTrafficError(said) if _NO_WAY.search(said) else MeasureError(said)


def error_of(text: str) -> str:
    """The error that a role printed; empty if there is none."""
    try:
        return _decoded_line(text).error
    except MeasureError:
        return ""


def _decoded_line(text: str) -> RrReport:
    if not text.endswith("}\n"):
        raise MeasureError("the generator's result is incomplete")
    try:
        return _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MeasureError(f"the generator's result cannot be read: {error}") from error


def carried_bytes(report: RrReport) -> int:
    """Payload bytes of requests and answers."""
    return sum(side.bytes for side in report.client)


# A stream of iperf3 that fills the path while requests are made: their latency under load.
#
# The stream starts before the requests and is stopped after them. It has to carry data all the
# time, or the run is an error: it would show the latency of an idle path.


NEEDS = Needs(target=(IPERF3,), peer=(IPERF3,))
_SLACK_FILLING = 120.0
"""Seconds that the stream would continue after the requests if it were not stopped."""


class _Sum(msgspec.Struct):
    bits_per_second: Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class _Iperf3Interval(msgspec.Struct):
    sum: _Sum


class _Output(msgspec.Struct):
    intervals: list[_Iperf3Interval] = []
    error: str = ""


_output_decoder = json_decoder(_Output)


@contextmanager
def filled_path(workload: Workload, ends: Ends) -> Iterator[StartedProgram]:
    """Fill the path with a stream, whose client is returned; its direction is seen from the target.
    Raises MeasureError if its server does not start; nothing of it is left running."""
    life = workload.warmup + workload.seconds + _SLACK_FILLING
    server, port = start_server(
        ends.target,
        lambda port: _servers(ends.address, port),
        ports(ends.seed, ""),
        seconds=life + _SLACK_FILLING,
    )
    try:
        argv = ["iperf3", "-c", ends.address, "-p", str(port), "-J", "-i", "1"]
        argv += ["-t", f"{life:.0f}", *(["-R"] if workload.options[FILL] == "tx" else [])]
        client = ends.peer.start(argv, seconds=life + _SLACK_FILLING)
        try:
            yield client
        finally:
            client.stop()
    finally:
        server.stop()


def _servers(address: str, port: int) -> tuple[tuple[str, ...], ...]:
    """Commands for a server: bound to the address if the target has it, else to all addresses."""
    argv = ("iperf3", "-s", "--one-off", "-p", str(port))
    return ((*argv, "-B", address), argv) if is_literal(address) else (argv,)


def filled_rate(ran: Ran, *, early: bool) -> float:
    """bit/s in the client's output, second by second. Raises MeasureError if it ended too ``early``
    or printed nothing readable, NoTrafficError if nothing was carried."""
    try:
        output = _output_decoder.decode(ran.stdout)
    except (msgspec.DecodeError, RecursionError) as error:
        said = one_line(ran.stderr or ran.stdout, last=True)
        raise MeasureError(f"the stream to fill the path failed: {said}") from error
    if early:
        reason = one_line(output.error) or "no reason given"
        raise MeasureError(f"the stream ended before the requests did: {reason}")
    rates = [each.sum.bits_per_second for each in output.intervals]
    if not rates or not any(rates):
        raise NoTrafficError("the stream to fill the path carried nothing")
    return sum(rates) / len(rates)
