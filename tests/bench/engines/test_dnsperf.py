"""The engine, with a dnsperf that says what it would of servers whose speed is known."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench.engines.dnsperf_fake import Server, install
from tests.bench.engines.here import Here
from vnicaudit.bench.contract import Ends, Measured
from vnicaudit.bench.engines import dnsperf
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Ran, Workload

Measure = Callable[..., Measured]


@pytest.fixture
def measure(tmp_path: Path) -> Iterator[Callable[..., Measured]]:
    """Measure a server once: fields of the workload by name."""
    opened: list[Here] = []

    def one(server: Server, **fields: Any) -> Measured:
        peer = Here("ssh://peer", install(tmp_path, server))
        opened.append(peer)
        shape = {"direction": "both", "seconds": 1.0, "warmup": 0.0, "pattern": "max"}
        options = {"name": "example.test A", **fields.pop("options", {})}
        workload = Workload(id="dns", engine="dnsperf", **{**shape, **fields}, options=options)
        dnsperf.check(workload)
        return dnsperf.measure(workload, Ends(Here("vm"), peer, "192.0.2.2"))

    yield one
    for here in opened:
        here.close()


def commands(measured: Measured) -> list[str]:
    return [" ".join(ran.command) for ran in measured.raw]


def test_at_full_speed(measure: Measure) -> None:
    found = measure(Server(20_000))
    assert found.error == ""
    assert found.values == {
        "query_rate": 20_000.0,
        "latency_mean": 5000.0,
        "latency_max": 5000.0,
        "loss": 0.0,
    }
    assert (found.seconds, found.transactions) == (1.0, 20_000.0)
    assert found.details["outstanding_taken"] == 100.0
    assert found.details["rcode_NOERROR"] == 100.0
    assert not found.generator_limited


def test_at_full_speed_what_does_not_wait_for_answers_is_the_limit(measure: Measure) -> None:
    found = measure(Server(500_000, generator=90_000))
    assert found.values["query_rate"] == 90_000
    assert found.generator_limited
    assert found.details["outstanding_taken"] == 9.0


def test_several_generators_are_one_measurement(measure: Measure) -> None:
    found = measure(Server(20_000), generators=3, connections=6)
    assert found.values["query_rate"] == 60_000
    assert found.values["latency_mean"] == 5000
    assert found.transactions == 60_000
    assert len(found.raw) == 3
    assert all(" -c 2 -T 1 -q 100 " in f"{command} " for command in commands(found))


def test_the_warm_up_does_not_count(measure: Measure) -> None:
    found = measure(Server(20_000), warmup=2.0)
    assert found.transactions == 20_000
    assert [" -l 2 " in command for command in commands(found)] == [True, False]


def test_a_fixed_rate(measure: Measure) -> None:
    found = measure(Server(20_000), pattern="rate", rate=8000.0, generators=2, connections=2)
    assert found.error == ""
    assert found.values["query_rate"] == 8000
    assert found.values["latency_mean"] == 100
    assert all(" -Q 4000" in command for command in commands(found))
    assert not found.generator_limited


def test_a_rate_that_the_generator_cannot_offer(measure: Measure) -> None:
    found = measure(Server(500_000, generator=7800), pattern="rate", rate=8000.0)
    assert found.generator_limited
    assert found.details["offered"] == 7800


def test_a_rate_that_the_server_cannot_answer_is_no_limit_of_the_generator(
    measure: Measure,
) -> None:
    found = measure(Server(5000), pattern="rate", rate=8000.0)
    assert not found.generator_limited


@pytest.mark.parametrize("generators", [1, 2])
def test_capacity(measure: Measure, generators: int) -> None:
    """Each fake generator has a server of its own."""
    found = measure(
        Server(12_000),
        pattern="capacity",
        generators=generators,
        connections=generators,
    )
    assert found.error == ""
    truth = 12_000 * generators
    assert truth / 1.05 <= found.values["query_rate"] <= truth
    assert found.details["lower"] <= truth * 1.005  # type: ignore[operator]
    assert found.details["upper"] <= 1.05 * found.details["lower"]  # type: ignore[operator]
    assert not found.generator_limited
    throttled = [command for command in commands(found) if " -Q " in command]
    assert len(throttled) == generators * found.details["trials"]  # type: ignore[operator]
    assert all(" -l 1 -t 1 " in command and " -S" not in command for command in throttled)


def test_capacity_beyond_the_generator(measure: Measure) -> None:
    found = measure(Server(500_000, generator=30_000), pattern="capacity")
    assert found.generator_limited
    assert 30_000 / 1.05 <= found.values["query_rate"] <= 30_000
    assert "the generator did not offer" in str(found.details["search"])


def test_capacity_in_too_little_time(measure: Measure) -> None:
    found = measure(Server(12_000), pattern="capacity", options={"search_seconds": "1"})
    assert found.values == {}
    assert found.error.startswith("the search found no rate: not finished after 1 s: between ")
    assert found.raw


def test_nobody_answers(measure: Measure) -> None:
    for pattern in ("max", "capacity"):
        found = measure(Server(0), pattern=pattern, options={"port": "5353"})
        assert found.values == {}
        assert found.error == (
            "no query was answered: is there a DNS server at 192.0.2.2 port 5353 (udp)?"
        )
        assert found.failure == "silent"


@pytest.mark.parametrize("code", ["REFUSED", "SERVFAIL", "NOTIMP"])
def test_a_server_that_refuses_fast_is_not_fast(measure: Measure, code: str) -> None:
    for pattern in ("max", "capacity"):
        found = measure(Server(20_000, code=code), pattern=pattern)
        assert found.values == {}
        assert found.error == (
            f"the server at 192.0.2.2 port 53 (udp) answers {code} 100 %: "
            "does it serve example.test A?"
        )
        assert found.details[f"rcode_{code}"] == 100.0


def test_nxdomain_is_an_answer(measure: Measure) -> None:
    assert measure(Server(20_000, code="NXDOMAIN")).error == ""


def test_a_generator_that_fails(measure: Measure) -> None:
    found = measure(Server(20_000, hangs="-q"))
    assert found.error == ("dnsperf ended with exit code 1: Error: unable to open file: nofile")
    assert found.failure == "tool"
    found = measure(Server(20_000, hangs="-Q"), pattern="capacity")
    assert found.error.startswith("dnsperf ended with exit code 1")
    assert found.values == {}


class Sticks(Here):
    """Generators get stuck the first ``times`` that they are run."""

    def __init__(self, times: int, programs: Path) -> None:
        super().__init__("ssh://peer", programs)
        self._left = times

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        if argv[0] == "sh" and self._left:
            self._left -= 1
            return Ran(tuple(argv), None)
        return super().run(argv, seconds=seconds, stdin=stdin)


@pytest.mark.parametrize(
    ("times", "error", "runs"), [(1, "", 2), (2, "dnsperf did not end by itself", 2)]
)
def test_a_generator_that_gets_stuck_is_run_once_more(
    tmp_path: Path, times: int, error: str, runs: int
) -> None:
    workload = Workload(
        id="dns",
        engine="dnsperf",
        pattern="max",
        seconds=1.0,
        warmup=0.0,
        options={"name": "example.test A"},
        direction="both",
    )
    with Sticks(times, install(tmp_path, Server(20_000))) as peer:
        found = dnsperf.measure(workload, Ends(peer, peer, "192.0.2.2"))
    assert found.error == error
    assert bool(found.values) == (not error)
    assert len(found.raw) == runs


def test_what_is_asked_is_put_there(measure: Measure, tmp_path: Path) -> None:
    found = measure(Server(20_000), options={"name": "example.test A, www.example.test AAAA"})
    (command,) = (ran.command for ran in found.raw)
    queries = Path(command[command.index("-d") + 1])
    assert queries.read_text() == "example.test A\nwww.example.test AAAA\n"
    assert tmp_path not in queries.parents
    assert sorted(path.name for path in queries.parent.iterdir()) == [
        "dnsperf-output",
        "dnsperf-queries",
    ]


def test_a_query_file_of_the_peer_is_used_where_it_is(measure: Measure) -> None:
    found = measure(Server(20_000), options={"name": "", "queries": "/srv/queries"})
    assert "-d /srv/queries -l" in commands(found)[0]


def test_messages_are_suppressed_where_this_dnsperf_can(measure: Measure) -> None:
    command = commands(measure(Server(20_000)))[0]
    assert command.endswith("-O suppress=timeouts,congestion,sendfailed,unexpected")
    assert "latency-histogram" not in command


def test_it_needs_dnsperf_at_the_peer() -> None:
    workload = Workload(id="dns", engine="dnsperf", pattern="max")
    (tool,) = dnsperf.needs(workload).peer
    assert (tool.program, tool.packages["apt"], tool.packages["dnf"]) == (
        "dnsperf",
        "dnsperf",
        "dnsperf",
    )
    assert dnsperf.needs(workload).target == ()


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("suppress: messages\nlatency-histogram: print it\n", False),
        ("suppress: messages\n", True),
        ("sh: dnsperf: not found\n", False),  # what is missing is named by another check
    ],
)
def test_what_this_dnsperf_does_not_report_decides_nothing(
    tmp_path: Path, said: str, *, refused: bool
) -> None:
    """2.10 of Debian 12 has no percentiles: no run would measure them."""
    program = tmp_path / "dnsperf"
    program.write_text(f"#!/bin/sh\nprintf '{said}' >&2\n")
    program.chmod(0o755)
    decides = ("loss", "latency_p50")
    workload = Workload(id="dns", engine="dnsperf", pattern="rate", rate=5000, decides=decides)
    with Here("ssh://peer", tmp_path) as peer:
        ends = [Ends(peer, peer, "192.0.2.2")]
        if refused:
            with pytest.raises(EndpointError, match=r"judged by latency_p50, which dnsperf at ssh"):
                dnsperf.prepare(workload, ends)
        else:
            assert dnsperf.prepare(workload, ends) == ""
        usual = replace(workload, decides=("latency_mean",))
        assert dnsperf.prepare(usual, ends) == ""
