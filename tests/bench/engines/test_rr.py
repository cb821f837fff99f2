"""Our own generator as an engine, over 127.0.0.1."""

import re
import socket
from collections.abc import Iterator, Sequence

import pytest

from tests.bench.clearest import clearest
from tests.bench.engines.here import Here
from tests.bench.generator.roles import group_lives, listens
from vnicaudit.bench.contract import Ends, Measured
from vnicaudit.bench.engines import load_engine, rr
from vnicaudit.bench.metrics import METRICS
from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import Ran, Workload

_SECONDS = 0.15
_NO_REQUEST = "no request was answered"
_STALLED = re.compile(
    f"{_NO_REQUEST}|nothing was received|nothing came or went|did not answer in time"
)
_REQUESTS = {
    "transaction_rate", "latency_mean", "latency_p50", "latency_p99", "latency_p999",
    "latency_max", "goodput",
}  # fmt: skip


@pytest.fixture(scope="module")
def ends() -> Iterator[Ends]:
    """Both are made ready, for which Python starts four times, once for all tests."""
    with Here("target") as target, Here("peer") as peer:
        yield Ends(target, peer, "127.0.0.1", seed=5)


def _workload(pattern: str, **changes: object) -> Workload:
    usual: dict[str, object] = {"direction": "both", "seconds": _SECONDS, "warmup": 0.05}
    return Workload(id="w", engine="rr", pattern=pattern, **(usual | changes))  # type: ignore[arg-type]


def measured(workload: Workload, ends: Ends) -> Measured:
    """A run in whose time something came and went: on a machine that stalls then, nothing does.
    Such stalls that last longer than the time are rare."""
    for turn in range(8):
        found = rr.measure(workload, ends)
        stalled = _STALLED.search(found.error)
        if stalled is None or (turn > 1 and stalled[0] != _NO_REQUEST):
            break
    return found


@pytest.mark.parametrize("connections", [1, 50, 250])
@pytest.mark.parametrize("pattern", ["rr1c-1x1", "rr1c-200x1000", "rr1c-200x30k"])
def test_requests(ends: Ends, pattern: str, connections: int) -> None:
    found = measured(_workload(pattern, connections=connections), ends)
    assert found.error == ""
    assert found.values.keys() == _REQUESTS
    assert found.transactions is not None
    assert found.values["transaction_rate"] == found.transactions / _SECONDS
    assert found.bytes == found.transactions * {"1": 2, "0": 1200, "k": 30920}[pattern[-1]]
    assert found.values["goodput"] == found.bytes * 8 / _SECONDS
    assert found.values["latency_p50"] <= found.values["latency_p99"]
    assert found.values["latency_p99"] <= found.values["latency_p999"]
    assert found.values["latency_p999"] <= found.values["latency_max"] * 1.001
    assert found.details["waiting"] is not None
    _nothing_is_left(ends)


def test_a_closed_loop_obeys_little(ends: Ends) -> None:
    """One request is on its way on each connection, at any time. At each end of the window one of
    each connection is cut: it counts whole, or not at all."""
    found = measured(_workload("rr1c-200x1000", connections=5, seconds=1.0), ends)
    assert found.error == ""
    busy = found.values["transaction_rate"] * found.values["latency_mean"] / 1e6
    unanswered = found.details["waiting_longest_us"]
    assert isinstance(unanswered, float)
    cut = 5 * max(found.values["latency_max"], unanswered) / 1e6
    assert busy == pytest.approx(5, abs=0.05 + cut)


def test_a_rate_is_kept_to_or_it_is_said(ends: Ends) -> None:
    workload = _workload("rr1c-200x1000", connections=10, seconds=1.0, rate=400)

    def deviation(found: Measured) -> float:
        assert found.error == ""
        if found.generator_limited:
            return 0.0
        return abs(found.values["transaction_rate"] / 400 - 1)

    assert clearest(lambda: measured(workload, ends), deviation, 0.03) <= 0.03


def test_other_sizes_can_be_asked_for(ends: Ends) -> None:
    found = measured(_workload("rr1c-3x70000"), ends)
    assert (found.error, found.bytes) == ("", (found.transactions or 0) * 70003)


def test_all_that_ran_is_kept(ends: Ends) -> None:
    found = measured(_workload("rr1c-1x1"), ends)
    assert [ran.endpoint for ran in found.raw] == ["peer", "target"]
    assert [ran.code for ran in found.raw] == [0, 0]
    assert '"error": ""' in found.raw[0].stdout


def test_the_server_listens_at_the_address_alone(ends: Ends) -> None:
    found = measured(_workload("rr1c-1x1"), ends)
    server = found.raw[1].command
    assert server[server.index("--listen") + 1] == "127.0.0.1"


def test_ipv6(ends: Ends) -> None:
    assert measured(_workload("rr1c-1x1"), ends._replace(address="::1")).error == ""


def test_a_server_that_cannot_be_reached_is_an_error(ends: Ends) -> None:
    """The address is none: the server listens everywhere, the client does not come."""
    found = rr.measure(_workload("rr1c-1x1"), ends._replace(address="127.0.0.1:1"))
    assert found.values == {}
    assert found.error.startswith("cannot connect: ")
    assert found.failure == "tool"  # no name, so nothing was tried
    assert "\n" not in found.error
    _nothing_is_left(ends)


def test_a_port_that_is_in_use_is_an_error(ends: Ends) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        found = rr.measure(_workload("rr1c-1x1", options={"port": str(port)}), ends)
    assert found.error == (
        f"the generator's server did not start on {ends.target.url}: port {port} is in use"
    )
    assert found.failure == "tool"
    assert found.values == {}


class _Deaf(Here):
    """An end where a program of one role does not do its work."""

    def __init__(self, role: str, ran: Ran) -> None:
        super().__init__("deaf")
        self._role, self._said = role, ran

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        if self._role in argv:
            return self._said
        return super().run(argv, seconds=seconds, stdin=stdin)


@pytest.mark.parametrize(
    ("ran", "error"),
    [
        (Ran(("c",), None, "", ""), "the generator's client did not end in time"),
        (
            Ran(("c",), 1, "", "Traceback\nMemoryError"),
            "the generator's client failed: MemoryError",
        ),
        (Ran(("c",), 0, "", ""), "the generator's result is incomplete"),
        (Ran(("c",), 1, '{"error": "a connection was lost"}\n', ""), "a connection was lost"),
        (Ran(("c",), 0, '{"error": ""}\n', ""), "the generator's result is from one end only"),
    ],
)
def test_a_client_without_a_result_is_an_error(ran: Ran, error: str) -> None:
    with Here("target") as target, _Deaf("client", ran) as peer:
        found = rr.measure(_workload("rr1c-1x1"), Ends(target, peer, "127.0.0.1"))
    assert (found.error, found.values, found.raw[0]) == (error, {}, ran)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pattern": "rr1c-0x1"}, "rr has no pattern 'rr1c-0x1'; use rr1c-1x1, "),
        ({"pattern": "rr1c-1x99999999k"}, "rr has no pattern"),
        ({"pattern": "str-readx30k"}, "rr has no pattern"),
        ({"direction": "tx"}, "direction tx: in rr1c-1x1 both send, which is both"),
        ({"size": 5}, "size 5: the pattern sets the sizes"),
        ({"connections": 0}, "connections 0: rr takes 1 to 500"),
        ({"connections": 501}, "connections 501: rr takes 1 to 500"),
        ({"generators": 2}, "generators 2: rr has one, with a thread for each connection"),
        ({"seconds": 0.0}, "seconds 0: must be more than 0, and at most a day"),
        ({"seconds": float("nan")}, "seconds nan: must be more than 0, and at most a day"),
        ({"warmup": -1.0}, "warmup -1: must be 0 or more seconds, and at most a day"),
        ({"rate": 0.0}, "rate 0: must be at least one message a second, and at most a million"),
        ({"rate": float("inf")}, "rate inf: must be at least one message a second"),
        ({"options": {"nodelay": "1"}}, "rr has no option 'nodelay'; it has port, fill"),
        ({"options": {"port": "x; rm"}}, "port: 'x; rm' is not a number from 1 to 65535"),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, object], problem: str) -> None:
    usual: dict[str, object] = {"pattern": "rr1c-1x1", "direction": "both"}
    workload = Workload(id="w", engine="rr", **(usual | changes))  # type: ignore[arg-type]
    with pytest.raises(UsageError) as error:
        rr.check(workload)
    assert str(error.value).startswith(f"w: {problem}")


def test_it_is_an_engine() -> None:
    engine = load_engine("rr")
    assert tuple(engine.PATTERNS) == (
        "rr1c-1x1", "rr1c-200x1000", "rr1c-200x30k", "crr-1x1",
    )  # fmt: skip
    assert "rr1c-64x64" in engine.PATTERNS
    assert "rr1c-64" not in engine.PATTERNS
    for metrics in engine.PATTERNS.values():
        assert set(metrics) <= METRICS.keys()
    assert engine.needs(_workload("rr1c-1x1")) == ((), ())


def _nothing_is_left(ends: Ends) -> None:
    for end in (ends.target, ends.peer):
        assert isinstance(end, Here)
        for started in end.started:
            assert not group_lives(started.process)
            said = started.wait(0).stdout.strip()
            # what the role "port" said
            port = said.partition(" ")[0]
            assert not port.isdigit() or not listens(int(port))
        end.started.clear()  # others are given their numbers some time
