"""Requests while a stream of iperf3 fills the path."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.engines.here import Here
from tests.bench.engines.test_rr import measured
from tests.bench.generator.roles import group_lives
from tests.not_run import not_run
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines import rr
from vnicaudit.bench.engines._rr_command import filled_rate
from vnicaudit.errors import MeasureError, NoTrafficError, UsageError
from vnicaudit.model.measurement import Ran, Workload

_WORK = Workload(
    id="w", engine="rr", pattern="rr1c-1x1", direction="both", seconds=1.0, warmup=0.2, rate=100.0,
    connections=10, decides=("latency_p50",), options={"fill": "rx"},
)  # fmt: skip


def _output(*rates: object, **more: object) -> Ran:
    intervals = [{"sum": {"bits_per_second": rate}} for rate in rates]
    return Ran(("iperf3",), None, json.dumps({"intervals": intervals} | more), "")


@pytest.mark.parametrize("way", ["rx", "tx"])
def test_requests_go_on_beside_a_stream(way: str) -> None:
    if shutil.which("iperf3") is None:
        not_run("tests/bench/engines", "iperf3 is not installed")
    work = replace(_WORK, options={**_WORK.options, "fill": way})
    with Here("target") as target, Here("peer") as peer:
        found = measured(work, Ends(target, peer, "127.0.0.1", seed=os.getpid()))
        assert found.error == ""
        assert found.values["transaction_rate"] > 0
        fill_rate = found.details["fill_rate"]
        assert isinstance(fill_rate, float)
        assert fill_rate > 1e6
        # what CPUs did was for the stream
        assert (found.bytes, found.transactions) == (None, None)
        *_before, client = (argv for argv in peer.commands if argv[0] == "iperf3")
        assert ("-R" in client) == (way == "tx")
        assert found.raw[-1].command[1:] == client[1:]
        for end in (target, peer):
            assert not any(group_lives(started.process) for started in end.started)


def _actor(folder: Path, text: str) -> Path:
    (folder / "iperf3").write_text(f"#!{sys.executable}\n{text}")
    (folder / "iperf3").chmod(0o755)
    return folder


_LISTENS = """\
import socket, sys, time
if "-s" in sys.argv:
    server = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("-p") + 1])))
    time.sleep(60)
"""


def test_a_stream_that_ends_before_the_requests_is_an_error(tmp_path: Path) -> None:
    text = _LISTENS + """print('{"intervals": [], "error": "unable to connect"}')\n"""
    programs = _actor(tmp_path, text)
    with Here("target", programs) as target, Here("peer", programs) as peer:
        found = rr.measure(_WORK, Ends(target, peer, "127.0.0.1", seed=os.getpid()))
        for end in (target, peer):
            assert not any(group_lives(started.process) for started in end.started)
    assert found.values == {}
    assert found.error == "the stream ended before the requests did: unable to connect"
    assert found.failure == "tool"
    assert found.raw


def test_a_stream_whose_server_does_not_start_is_an_error(tmp_path: Path) -> None:
    programs = _actor(tmp_path, "raise SystemExit('no iperf3 today')")
    with Here("target", programs) as target, Here("peer", programs) as peer:
        found = rr.measure(_WORK, Ends(target, peer, "127.0.0.1", seed=os.getpid()))
    assert found.values == {}
    assert found.error.endswith(": no iperf3 today")
    assert found.failure == "tool"


def test_what_the_stream_carried_is_the_mean_of_its_seconds() -> None:
    assert filled_rate(_output(2e9, 4e9, error="interrupt"), early=False) == 3e9


@pytest.mark.parametrize(
    ("ran", "early", "kind", "error"),
    [
        (_output(), False, NoTrafficError, "carried nothing"),
        (_output(0.0, 0.0), False, NoTrafficError, "carried nothing"),
        (_output(1e9), True, MeasureError, "ended before the requests did: no reason given"),
        (Ran((), 1, "", "iperf3: not found"), True, MeasureError, "failed: iperf3: not found"),
        (_output("1"), False, MeasureError, "failed: "),
        (_output(-1), False, MeasureError, "failed: "),
        (_output(1e300), False, MeasureError, "failed: "),
        (Ran((), None, "[" * 100_000, ""), False, MeasureError, "failed: "),
        (Ran((), None, '{"intervals": [{}]}', ""), False, MeasureError, "failed: "),
    ],
)
def test_a_stream_that_cannot_be_told_is_an_error(
    ran: Ran, early: bool, kind: type[MeasureError], error: str
) -> None:
    with pytest.raises(MeasureError, match=error) as caught:
        filled_rate(ran, early=early)
    assert type(caught.value) is kind


@pytest.mark.parametrize("way", ["both", ""])
def test_what_cannot_be_filled_is_refused(way: str) -> None:
    with pytest.raises(UsageError) as error:
        rr.check(replace(_WORK, options={"fill": way}))
    assert str(error.value) == f"w: fill: {way!r} is unknown; use rx, tx"


def test_both_ends_need_what_fills_the_path() -> None:
    needs = rr.needs(_WORK)
    for tools in needs:
        assert [tool.program for tool in tools] == ["iperf3"]
