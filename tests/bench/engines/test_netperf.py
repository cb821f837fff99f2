"""netperf: recorded outputs, what is refused, and the course of a run with actors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.engines.here import Here
from tests.bench.generator.roles import group_lives
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines import netperf
from vnicaudit.bench.engines._netperf.command import SELECTORS, TESTS, client, servers
from vnicaudit.bench.engines._netperf.measuring import measurement_of
from vnicaudit.bench.engines._netperf.output import parse_output
from vnicaudit.bench.metrics import METRICS
from vnicaudit.bench.profiles.registry import ENGINES
from vnicaudit.errors import MeasureError, UsageError
from vnicaudit.model.measurement import Workload

_DATA = Path(__file__).parent / "data" / "netperf"
_RECORDED = sorted(path for path in _DATA.glob("*/*.txt") if path.stem != "refused")


def _workload(pattern: str, **changes: object) -> Workload:
    usual: dict[str, object] = {"direction": TESTS[pattern].direction, "seconds": 1.0}
    return Workload(id="w", engine="netperf", pattern=pattern, **(usual | changes))  # type: ignore[arg-type]


def _of(path: Path) -> Workload:
    name, _, rest = path.stem.partition("-")
    return _workload(name.upper(), options={"burst": "8"} if rest == "burst" else {})


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_recorded_outputs(path: Path) -> None:
    workload = _of(path)
    found = measurement_of(workload, parse_output(path.read_text(), workload), ())
    assert tuple(found.values) == netperf.PATTERNS[workload.pattern]
    assert all(value >= 0 for value in found.values.values())
    assert found.seconds == pytest.approx(1.0, abs=0.05)
    assert found.bytes is not None
    assert found.bytes > 0
    if workload.direction == "both":
        assert found.transactions == pytest.approx(found.values["transaction_rate"], rel=0.05)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("2.7.0/tcp_stream.txt", {"goodput": 12309343270.0}),
        ("2.7.1/tcp_maerts-1024.txt", {"goodput": 20952585030.0}),
        (
            "2.7.0/tcp_rr.txt",
            {"transaction_rate": 153367.618, "latency_mean": 6.49, "latency_max": 5409.0},
        ),
        (
            "2.7.1/tcp_crr.txt",
            {"transaction_rate": 37947.177, "latency_mean": 26.31, "latency_max": 3372.0},
        ),
        (
            "2.7.1/udp_rr.txt",
            {"transaction_rate": 182896.111, "latency_mean": 5.44, "latency_max": 10067.0},
        ),
        (
            "2.7.1/tcp_rr-burst.txt",
            {"transaction_rate": 239202.344, "latency_mean": 37.58, "latency_max": 4160.0},
        ),
    ],
)
def test_the_very_numbers(file: str, values: dict[str, float]) -> None:
    path = _DATA / file
    found = measurement_of(_of(path), parse_output(path.read_text(), _of(path)), ())
    assert found.values == values


def test_of_udp_only_what_arrived_counts() -> None:
    """Half of what was sent was lost."""
    path = _DATA / "2.7.1" / "udp_stream-64.txt"
    found = measurement_of(_of(path), parse_output(path.read_text(), _of(path)), ())
    assert found.values["goodput"] == 120296690.0
    assert found.values["loss"] == pytest.approx(49.495, abs=0.001)
    assert (found.bytes, found.details["sent_bytes"]) == (15039296, 29778048)
    assert found.details["message_bytes"] == 64


def test_percentiles_are_details_and_what_is_not_known_is_none() -> None:
    path = _DATA / "2.7.1" / "tcp_crr.txt"
    found = measurement_of(_of(path), parse_output(path.read_text(), _of(path)), ())
    assert found.details == {
        "latency_p50": 24.0,
        "latency_p90": 26.0,
        "latency_p99": 59.0,
        "mss": 32768.0,
        "peer_retransmits": None,
        "target_retransmits": None,
    }


@pytest.mark.parametrize("path", _RECORDED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_output_that_is_cut_is_an_error(path: Path) -> None:
    text, workload = path.read_text(), _of(path)
    for length in range(len(text)):
        with pytest.raises(MeasureError):
            parse_output(text[:length], workload)


_RR = (_DATA / "2.7.1" / "tcp_rr.txt").read_text()
_STREAM = (_DATA / "2.7.1" / "tcp_stream.txt").read_text()


def _changed(text: str, name: str, value: str) -> str:
    lines = [
        f"{name}={value}" if line.startswith(f"{name}=") else line for line in text.split("\n")
    ]
    assert "\n".join(lines) != text
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("pattern", "text", "error"),
    [
        ("TCP_STREAM", _RR, "ran another test: TCP Send|Recv"),
        ("TCP_CRR", _RR, "ran another test"),
        ("UDP_RR", _RR, "ran another test"),
        ("TCP_RR", _changed(_RR, "TRANSACTION_RATE", "-nan"), "TRANSACTION_RATE is '-nan'"),
        ("TCP_RR", _changed(_RR, "MAX_LATENCY", "-1"), "MAX_LATENCY is '-1'"),
        ("TCP_RR", _changed(_RR, "MEAN_LATENCY", "inf"), "MEAN_LATENCY is 'inf'"),
        ("TCP_RR", _changed(_RR, "TRANSACTION_RATE", "0.00"), "no request was answered"),
        ("TCP_RR", _changed(_RR, "TRANSACTION_RATE", "100.0"), "an answer that did not come"),
        ("TCP_RR", _changed(_RR, "BURST_SIZE", "4"), "without --enable-burst"),
        ("TCP_RR", _changed(_RR, "ELAPSED_TIME", "0.00"), "a run time of zero"),
        ("TCP_RR", _changed(_RR, "THROUGHPUT_UNITS", "Trans/s"), "ran another test"),
        ("TCP_RR", _RR + _RR, "printed THROUGHPUT twice"),
        ("TCP_STREAM", _changed(_STREAM, "REMOTE_RECV_THROUGHPUT", "0.00"), "nothing was received"),
        (
            "TCP_STREAM",
            _changed(_STREAM, "REMOTE_RECV_THROUGHPUT", "12.5"),
            "not match its bytes",
        ),
        (
            "TCP_RR",
            (_DATA / "2.7.0" / "refused.txt").read_text(),
            "is incomplete: establish_control could not establish the control connection",
        ),
        ("TCP_RR", "", "is incomplete: no THROUGHPUT"),
    ],
)
def test_what_cannot_be_is_an_error(pattern: str, text: str, error: str) -> None:
    workload = _workload(pattern)
    with pytest.raises(MeasureError) as raised:
        measurement_of(workload, parse_output(text, workload), ())
    assert error in str(raised.value)


def test_a_datagram_that_was_lost_is_no_low_rate() -> None:
    """UDP_RR waits for ever for the answer; its rate would be that of the whole time."""
    text = _changed((_DATA / "2.7.1" / "udp_rr.txt").read_text(), "TRANSACTION_RATE", "91448.0")
    with pytest.raises(MeasureError, match="waited for an answer that did not come"):
        parse_output(text, _workload("UDP_RR"))


def test_more_than_was_sent_cannot_have_been_received() -> None:
    text = (_DATA / "2.7.1" / "udp_stream.txt").read_text()
    output = parse_output(_changed(text, "LOCAL_BYTES_SENT", "1000"), _workload("UDP_STREAM"))
    with pytest.raises(MeasureError, match="received more than it sent"):
        measurement_of(_workload("UDP_STREAM"), output, ())


@given(st.text(), st.sampled_from(sorted(TESTS)))
def test_any_text_is_an_error(text: str, pattern: str) -> None:
    with pytest.raises(MeasureError):
        parse_output(text, _workload(pattern))


@given(
    st.sampled_from(SELECTORS),
    st.text(max_size=20) | st.floats().map(str) | st.integers().map(str),
    st.sampled_from([("TCP_RR", _RR), ("TCP_STREAM", _STREAM)]),
)
def test_any_value_is_a_measurement_or_an_error(
    name: str, value: str, test: tuple[str, str]
) -> None:
    pattern, text = test
    lines = [
        f"{name}={value}" if line.startswith(f"{name}=") else line for line in text.split("\n")
    ]
    workload = _workload(pattern)
    try:
        found = measurement_of(workload, parse_output("\n".join(lines), workload), ())
    except MeasureError:
        return
    assert all(0 <= number < float("inf") for number in found.values.values())


def test_command_lines() -> None:
    workload = _workload("TCP_RR", options={"request": "200", "response": "1000", "burst": "4"})
    assert client(workload, "192.0.2.7", "TOKEN", 20123, 10) == (
        *("netperf", "-j", "-P", "0", "-f", "k", "-H", "192.0.2.7", "-p", "20123", "-Z", "TOKEN"),
        *("-t", "TCP_RR", "-l", "10", "--", "-r", "200,1000", "-b", "4", "-D"),
        *("-k", ",".join(SELECTORS)),
    )
    maerts = client(_workload("TCP_MAERTS", size=1024), "192.0.2.7", "T", 1, 10)
    assert maerts[-4:-2] == ("-M", "1024")
    stream = client(
        _workload("UDP_STREAM", size=64, options={"data_port": "5001"}), "192.0.2.7", "T", 1, 10
    )
    assert stream[-6:-2] == ("-m", "64", "-P", ",5001")


def test_netserver_listens_at_the_address_where_it_can() -> None:
    argv = ("netserver", "-D", "-N", "-p", "20123", "-Z", "TOKEN")
    assert servers("192.0.2.7", "TOKEN", 20123) == ((*argv, "-L", "192.0.2.7"), argv)
    assert servers("web01", "TOKEN", 20123) == (argv,)


_SERVER = """\
#!{python} -I
import socket, sys
words = sys.argv[1:]
if "-L" in words and {refuses}:
    sys.exit("Unable to start netserver with that address")
with socket.create_server(("127.0.0.1", int(words[words.index("-p") + 1]))) as listener:
    listener.accept()
    sys.stdin.read()
    listener.accept()
"""
_CLIENT = """\
#!{python} -I
import pathlib, sys
sys.stdout.write(pathlib.Path({path!r}).read_text())
sys.stderr.write({said!r})
sys.exit({code})
"""


def _act(
    folder: Path, *, output: Path, code: int = 0, said: str = "", refuses: bool = False
) -> None:
    """netserver and netperf, played."""
    words = {"python": sys.executable, "refuses": refuses, "path": str(output)}
    for name, text in (("netserver", _SERVER), ("netperf", _CLIENT)):
        path = folder / name
        path.write_text(text.format(code=code, said=said, **words))
        path.chmod(0o755)


@pytest.mark.parametrize("refuses", [False, True])
def test_a_run(tmp_path: Path, refuses: bool) -> None:
    _act(tmp_path, output=_DATA / "2.7.1" / "tcp_rr.txt", refuses=refuses)
    with Here("target", tmp_path) as target, Here("peer", tmp_path) as peer:
        found = netperf.measure(
            _workload("TCP_RR"), Ends(target, peer, "127.0.0.1", seed=os.getpid())
        )
        assert not any(group_lives(started.process) for started in target.started)
        started = [command for command in target.commands if command[0] == "netserver"]
    assert found.error == ""
    assert found.values["transaction_rate"] == 163413.104
    assert [ran.endpoint for ran in found.raw] == ["peer", "peer"]
    assert ["-L" in command for command in started] == ([True, False] if refuses else [True])


def test_the_warm_up_is_a_run_of_its_own(tmp_path: Path) -> None:
    _act(tmp_path, output=_DATA / "2.7.1" / "tcp_rr.txt")
    with Here("target", tmp_path) as target, Here("peer", tmp_path) as peer:
        ends = Ends(target, peer, "127.0.0.1", seed=os.getpid())
        both = netperf.measure(_workload("TCP_RR", warmup=1.5, seconds=3.0), ends)
        one = netperf.measure(_workload("TCP_RR", warmup=0.0, seconds=3.0), ends)
    lengths = [
        [ran.command[ran.command.index("-l") + 1] for ran in found.raw] for found in (both, one)
    ]
    assert lengths == [["2", "3"], ["3"]]


def test_a_netperf_that_fails_is_an_error(tmp_path: Path) -> None:
    _act(tmp_path, output=_DATA / "2.7.1" / "tcp_rr.txt", code=255, said="send_omni: broken\n")
    with Here("target", tmp_path) as target, Here("peer", tmp_path) as peer:
        found = netperf.measure(
            _workload("TCP_RR"), Ends(target, peer, "127.0.0.1", seed=os.getpid())
        )
    assert (found.error, found.values) == ("netperf failed: send_omni: broken", {})
    assert len(found.raw) == 1


def test_a_netserver_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "netserver").write_text("#!/bin/sh\necho 'no such address' >&2\nexit 1\n")
    (tmp_path / "netserver").chmod(0o755)
    with Here("target", tmp_path) as target, Here("peer", tmp_path) as peer:
        workload = _workload("TCP_RR", options={"port": "20999"})
        found = netperf.measure(workload, Ends(target, peer, "web01"))
    assert found.error == "netserver does not listen on target: no such address"
    assert found.failure == "tool"
    assert found.raw == ()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pattern": "TCP_SENDFILE"}, "netperf has no pattern 'TCP_SENDFILE'; it has TCP_STREAM, "),
        ({"direction": "tx"}, "direction tx: TCP_RR is both"),
        ({"pattern": "TCP_STREAM", "direction": "tx"}, "direction tx: TCP_STREAM is rx"),
        ({"pattern": "TCP_MAERTS", "direction": "rx"}, "direction rx: TCP_MAERTS is tx"),
        ({"connections": 2}, "netperf has one connection; rr and iperf3 have more"),
        ({"rate": 1e6}, "netperf always runs as fast as it can; rr and iperf3 take a rate"),
        ({"seconds": 1.5}, "seconds 1.5: netperf takes whole seconds, 1 or more"),
        ({"seconds": float("nan")}, "seconds nan: netperf takes whole seconds, 1 or more"),
        ({"warmup": float("inf")}, "warmup inf: it must be 0 or more seconds"),
        ({"size": 5}, "size: tests with requests have the options request and response"),
        ({"options": {"request": "0"}}, "request: '0' is not a number from 1 to 16777216"),
        ({"options": {"burst": "-1"}}, "burst: '-1' is not a number from 0 to 1024"),
        ({"options": {"quick": "1"}}, "netperf has no option 'quick'; it has request, "),
        ({"options": {"nodelay": "yes"}}, "nodelay: 'yes' is not a number from 0 to 1"),
        (
            {"pattern": "UDP_RR", "options": {"response": "65508"}},
            "request, response: UDP takes 65507 bytes at most",
        ),
        (
            {"pattern": "UDP_STREAM", "direction": "rx", "size": 65508},
            "size 65508: UDP takes 1 to 65507 bytes",
        ),
        (
            {"pattern": "TCP_STREAM", "direction": "rx", "options": {"burst": "4"}},
            "burst is for tests with requests, not for TCP_STREAM",
        ),
        ({"pattern": "TCP_CRR", "options": {"burst": "4"}}, "burst is not for TCP_CRR"),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, object], problem: str) -> None:
    usual: dict[str, object] = {"pattern": "TCP_RR", "direction": "both"}
    workload = Workload(id="w", engine="netperf", **(usual | changes))  # type: ignore[arg-type]
    with pytest.raises(UsageError) as error:
        netperf.check(workload)
    assert str(error.value).startswith(f"w: {problem}")


def test_it_is_an_engine() -> None:
    engine = ENGINES.load("netperf")
    for pattern, metrics in engine.PATTERNS.items():
        assert set(metrics) <= METRICS.keys()
        engine.check(_workload(pattern))
    needs = engine.needs(_workload("TCP_RR"))
    assert [tool.program for tool in (*needs.target, *needs.peer)] == ["netserver", "netperf"]
