"""The engine with a real iperf3, over this machine's loopback; a run takes a second or two."""

import json
import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import open_endpoint
from tests.bench.clearest import clearest
from tests.bench.endpoints.left import PATIENCE
from tests.bench.engines.here import Here, HereStarted
from tests.bench.engines.iperf3_recorded import text
from tests.not_run import not_run
from vnicaudit.bench.contract import Endpoint, Ends, Measured
from vnicaudit.bench.engines import _iperf3_command as command
from vnicaudit.bench.engines import _listening, iperf3
from vnicaudit.bench.engines._iperf3_command import Iperf3Load
from vnicaudit.bench.engines.iperf3 import measure_packet_rate as searched
from vnicaudit.bench.search import LoadTrial, Searched
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Workload


@pytest.fixture(scope="module", autouse=True)
def _needs_iperf3() -> None:
    if shutil.which("iperf3") is None:
        not_run("tests/bench/engines", "iperf3 is not installed")


def workload(**fields: Any) -> Workload:
    common = {"id": "w", "engine": "iperf3", "pattern": "tcp", "seconds": 1.0, "warmup": 0.0}
    return Workload(**{**common, **fields})


@pytest.fixture
def ends() -> Iterator[Ends]:
    with Here("target") as target, Here("peer") as peer:
        # ports are drawn by the seed: another process that runs these tests draws others
        yield Ends(target, peer, "127.0.0.1", seed=os.getpid())
        left = [one.argv for here in (target, peer) for one in here.started if one.running()]
    assert left == []


def listening() -> set[int]:
    text = "".join(Path(f"/proc/net/{table}").read_text() for table in ("tcp", "tcp6"))
    return {int(port, 16) for port in re.findall(r": \w+:(\w{4}) \w+:\w{4} 0A ", text)}


def ports(endpoint: Endpoint) -> list[int]:
    """Of the servers that were started there."""
    commands = as_here(endpoint).commands
    return [int(argv[argv.index("-p") + 1]) for argv in commands if "-s" in argv]


@pytest.mark.parametrize("direction", ["tx", "rx", "both"])
def test_tcp(ends: Ends, direction: str) -> None:
    def from_a_second(found: Measured) -> float:
        assert found.error == ""
        assert found.bytes
        assert found.seconds
        assert found.values == {"goodput": pytest.approx(8 * found.bytes / found.seconds, rel=0.1)}
        assert [ran.endpoint for ran in found.raw] == ["peer", "target"]
        assert not listening() & set(ports(ends.target))
        return abs(found.seconds - 1)

    wanted = workload(direction=direction)
    assert clearest(lambda: iperf3.measure(wanted, ends), from_a_second, 0.06) <= 0.06


@pytest.mark.parametrize("direction", ["tx", "rx", "both"])
def test_udp(ends: Ends, direction: str) -> None:
    ways = 2 if direction == "both" else 1

    def deviation(found: Measured) -> float:
        """Of the rate, as a share; a loss of 5 % is as much as a share of 0.15."""
        assert found.error == ""
        return max(abs(found.values["goodput"] / (8e6 * ways) - 1), found.values["loss"] * 0.03)

    wanted = workload(pattern="udp", rate=8e6, size=1000, direction=direction, connections=2)
    assert clearest(lambda: iperf3.measure(wanted, ends), deviation, 0.15) <= 0.15


def test_the_warm_up_does_not_count(ends: Ends) -> None:
    def from_a_second(found: Measured) -> float:
        assert found.seconds
        assert found.bytes
        whole = json.loads(found.raw[0].stdout)["end"]["sum_received"]["bytes"]
        return abs(found.seconds - 1) if whole > 1.2 * found.bytes else 1

    wanted = workload(warmup=1.0)
    assert clearest(lambda: iperf3.measure(wanted, ends), from_a_second, 0.1) <= 0.1


def test_more_streams_than_one_iperf3_takes(ends: Ends) -> None:
    found = iperf3.measure(workload(connections=130, size=4096), ends)
    assert found.error == ""
    first, second = ports(ends.target)
    assert second == first + 1


def test_over_the_endpoints_that_there_are() -> None:
    """Two sessions of this machine, as a user has them."""
    target, peer = open_endpoint("local"), open_endpoint("local")
    try:
        found = iperf3.measure(workload(), Ends(target, peer, "127.0.0.1", seed=os.getpid()))
        assert (found.error, list(found.values)) == ("", ["goodput"])
    finally:
        target.close()
        peer.close()


def test_a_server_that_dies_in_the_middle_is_an_error(ends: Ends) -> None:
    target = as_here(ends.target)

    class Killing(Here):
        def start(self, argv: Sequence[str], *, seconds: float) -> HereStarted:
            client = super().start(argv, seconds=seconds)
            if "-c" in argv:
                wait_for_streams(int(argv[argv.index("-p") + 1]))
                servers(target)[-1].kill(signal.SIGKILL)
            return client

    with Killing("peer") as peer:
        found = iperf3.measure(workload(seconds=60.0), ends._replace(peer=peer))
    assert found.error.startswith("iperf3: ")
    assert found.values == {}
    assert len(found.raw) == 2
    assert not listening() & set(ports(ends.target))


def test_a_lost_peer_leaves_no_server(ends: Ends) -> None:
    class Lost(Here):
        def start(self, argv: Sequence[str], *, seconds: float) -> HereStarted:
            if "-c" in argv:
                raise EndpointError("peer: gone")
            return super().start(argv, seconds=seconds)

    with Lost("peer") as peer, pytest.raises(EndpointError, match="peer: gone"):
        iperf3.measure(workload(), ends._replace(peer=peer))
    assert len(ports(ends.target)) == 1
    assert not [one for one in as_here(ends.target).started if one.running()]


def test_a_missing_iperf3_is_told(ends: Ends) -> None:
    as_here(ends.peer).environment["PATH"] = "/nonexistent"
    with pytest.raises(EndpointError, match="peer: iperf3 cannot be run there"):
        iperf3.measure(workload(), ends)


def test_another_port_is_taken_where_one_is_in_use(ends: Ends) -> None:
    wanted = _listening.ports(ends.seed, "")
    with socket.create_server(("127.0.0.1", wanted[0])):
        found = iperf3.measure(workload(), ends)
    assert (found.error, ports(ends.target)) == ("", [wanted[1]])


def test_a_port_that_was_chosen_and_is_in_use_is_an_error(ends: Ends) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = iperf3.measure(workload(options={"port": str(port)}), ends)
    assert found.error == f"port {port} of target is already in use"
    assert found.failure == "tool"
    assert ports(ends.target) == []


def test_a_server_that_does_not_listen_is_an_error(
    ends: Ends, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_listening, "_LISTEN", 0.2)
    with Here("target", programs(tmp_path, "exec sleep 60")) as target:
        found = iperf3.measure(workload(), ends._replace(target=target))
        assert found.error.startswith("iperf3 does not listen on target")
        assert found.failure == "tool"
        assert not [one for one in target.started if one.running()]


def test_a_server_that_ends_at_once_is_tried_again(ends: Ends, tmp_path: Path) -> None:
    taken = text("3.12", "taken", "server.json")
    with Here("target", programs(tmp_path, f"cat <<'END'\n{taken}END\nexit 1")) as target:
        found = iperf3.measure(workload(), ends._replace(target=target))
        assert len(set(ports(target))) == 3
    words = "unable to start listener for connections: Address already in use"
    assert found.error == f"iperf3 does not listen on target: {words}"
    assert found.values == {}


def test_a_client_that_is_refused_is_an_error(ends: Ends, tmp_path: Path) -> None:
    """3.12 ends with status 0 then."""
    refused = text("3.12", "refused", "client.json")
    with Here("peer", programs(tmp_path, f"cat <<'END'\n{refused}END")) as peer:
        found = iperf3.measure(workload(), ends._replace(peer=peer))
    words = "iperf3: unable to connect to server: Connection refused"
    assert (found.error, found.values) == (words, {})


def test_the_packet_rate_at_a_given_load(ends: Ends) -> None:
    def deviation(found: Measured) -> float:
        assert found.error == ""
        return abs(found.values["packet_rate"] / 2000 - 1)

    wanted = workload(pattern="udp-pps", rate=2000.0, direction="rx")
    assert clearest(lambda: iperf3.measure(wanted, ends), deviation, 0.15) <= 0.15


@pytest.mark.parametrize("direction", ["tx", "rx"])
def test_the_packet_rate_is_searched_for(ends: Ends, direction: str) -> None:
    trials: list[LoadTrial] = []

    def one_trial(trial: Callable[[float, float], LoadTrial], start: float) -> Searched:
        trials.append(trial(2000.0, 1.0))
        assert start > 2000
        return Searched(trials[0].answered, 2000.0, start, tuple(trials), False, True, "")

    def deviation(found: Measured) -> float:
        (trial,) = trials
        trials.clear()
        assert (found.error, trial.intended) == ("", 2000.0)
        assert found.values == {"packet_rate": trial.answered}
        assert (found.seconds, found.bytes, found.load_seconds) == (None, None, None)
        assert found.details["rate_lower"] == 2000.0
        assert len(found.raw) == 4
        return abs(trial.offered / 2000 - 1)

    wanted = plan(ends, pattern="udp-pps", direction=direction)
    assert clearest(lambda: searched(wanted, ends, one_trial), deviation, 0.15) <= 0.15


@pytest.mark.parametrize("rate", [0.0, 1000.0])
def test_a_search_that_found_nothing_is_an_error(ends: Ends, rate: float) -> None:
    def nothing(*_: object) -> Searched:
        return Searched(rate, 0.0, None, (), False, rate == 0, "why")

    found = searched(plan(ends, pattern="udp-pps", direction="rx"), ends, nothing)
    assert (found.error, found.values) == ("iperf3: why", {})


def servers(here: Here) -> list[HereStarted]:
    return [one for one in here.started if "-s" in one.argv]


def as_here(endpoint: Endpoint) -> Here:
    assert isinstance(endpoint, Here)
    return endpoint


def plan(ends: Ends, **asked: Any) -> Iperf3Load:
    return command.plan(workload(**asked), command.place(ends.target), command.place(ends.peer))


def programs(folder: Path, script: str) -> Path:
    """A folder with an iperf3 3.12 that does something else."""
    program = folder / "iperf3"
    version = '[ "$1" = --version ] && echo "iperf 3.12 (test)" && exit'
    program.write_text(f"#!/bin/sh\n{version}\n{script}\n")
    program.chmod(0o700)
    return folder


def wait_for_streams(port: int) -> None:
    """Until the control connection and a stream are established (state 01)."""
    end = time.monotonic() + PATIENCE
    marks = f":{port:04X} 01 "
    while time.monotonic() < end:
        if sum(Path(f"/proc/net/{t}").read_text().count(marks) for t in ("tcp", "tcp6")) >= 2:
            return
    raise AssertionError(f"nobody connected to {port}")
