"""uperf: outputs in its format, what is refused, and the course of a run with an actor."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.engines.here import Here
from tests.bench.generator.roles import group_lives
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engine_registry import load
from vnicaudit.bench.engines import uperf
from vnicaudit.bench.engines._patterns import IBM, Pattern, pattern_of
from vnicaudit.bench.engines._uperf.output import Window, window
from vnicaudit.bench.engines._uperf.profile import duration, profile
from vnicaudit.bench.metrics import METRICS
from vnicaudit.errors import MeasureError, UsageError
from vnicaudit.model.measurement import Workload

_DATA = Path(__file__).parent / "data" / "uperf"
_RR = (_DATA / "rr1c-200x1000-c4-by-hand.txt").read_text()
_WRITE = (_DATA / "str-writex30k-c1-by-hand.txt").read_text()


def _pattern(name: str) -> Pattern:
    found = pattern_of(name)
    assert found is not None
    return found


def _workload(pattern: str, **changes: object) -> Workload:
    usual: dict[str, object] = {"direction": _pattern(pattern).direction}
    return Workload(id="w", engine="uperf", pattern=pattern, **(usual | changes))  # type: ignore[arg-type]


def _window(text: str, *, warmup: float = 2.0, seconds: float = 10.0) -> Window:
    return window(text, warmup=warmup, seconds=seconds, duration=warmup + seconds + 3)


def test_the_window_begins_after_the_warm_up() -> None:
    """Lines are 1.0009 s apart: the third is the first of the window, the 13th ends it."""
    found = _window(_RR)
    assert found.seconds == pytest.approx(10.009, abs=1e-6)
    assert found.operations == 2 * (12 * 17000 + 12 * 37 % 211 - 2 * 17000 - 2 * 37 % 211)
    assert found.bytes == found.operations * 600


def test_a_transaction_is_two_operations() -> None:
    workload = _workload("rr1c-200x1000", connections=4)
    found = uperf.measured(workload, _pattern(workload.pattern), _RR, ())
    window = _window(_RR)
    rate = window.operations / 2 / window.seconds
    assert found.values == {
        "transaction_rate": rate,
        "latency_mean": pytest.approx(4e6 / rate),
        "goodput": window.bytes * 8 / window.seconds,
    }
    assert (found.transactions, found.seconds) == (window.operations / 2, window.seconds)


def test_what_fills_the_sender_s_buffers_is_not_counted() -> None:
    """41 MB more went out in the first second than in any other."""
    workload = _workload("str-writex30k", seconds=2.0, warmup=1.0)
    found = uperf.measured(workload, _pattern(workload.pattern), _WRITE, ())
    assert found.bytes == 383856640 - 156252160
    assert found.values == {"goodput": pytest.approx(found.bytes * 8 / 2.0018)}
    assert found.transactions is None


@pytest.mark.parametrize(("text", "seconds"), [(_RR, 10.0), (_WRITE, 2.0)], ids=["rr", "write"])
def test_an_output_that_is_cut_is_an_error(text: str, seconds: float) -> None:
    assert _window(text, seconds=seconds).operations > 0
    for length in range(len(text)):
        with pytest.raises(MeasureError):
            _window(text[:length], seconds=seconds)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("name:Txn2 nr_bytes:0 nr_ops:0\n", "name:Txn9 nr_bytes:0 nr_ops:0\n", "begin with none"),
        ("name:Txn2", "name:Txn9", "begin with none"),
        ("timestamp_ms:1763761005004.", "timestamp_ms:1763760005004.", "counters go back"),
        ("nr_bytes:102222000", "nr_bytes:02222000", "counters go back"),
        ("Difference(%)     -0.00%", "Difference(%)     -0.00", "is not whole"),
        ("Group Details", "\n*** Slave aborted! ***\n", "uperf: Slave aborted!"),
        ("Group Details", "WARNING: 3 Errors detected during run", "uperf: Errors detected"),
        ("Group Details", "Error saying goodbye with 192.0.2.10", "uperf: Error saying goodbye"),
    ],
)
def test_what_cannot_be_is_an_error(old: str, new: str, error: str) -> None:
    assert old in _RR
    with pytest.raises(MeasureError) as raised:
        _window(_RR.replace(old, new))
    assert error in str(raised.value)


def _lines(*counters: tuple[float, int]) -> str:
    """An output with these times and operations."""
    lines = [
        f"timestamp_ms:{1763761000000 + at * 1000:.4f} name:Txn2 nr_bytes:{ops * 100} nr_ops:{ops}"
        for at, ops in counters
    ]
    return "\n".join([*lines, "Difference(%)  0.00%  0.00%  0.00%  0.00%  0.00%", "", ""])


def test_connections_that_were_hung_up_end_it_early() -> None:
    """For uperf, a hang-up is the end of the time."""
    text = _lines(*((float(at), at * 100) for at in range(6)))
    with pytest.raises(MeasureError, match="ended before its time: were connections lost"):
        _window(text, warmup=0)


def test_a_path_that_dies_is_no_low_rate() -> None:
    text = _lines(*((float(at), min(at, 4) * 100) for at in range(14)))
    with pytest.raises(MeasureError, match="nothing came or went for 5 s"):
        _window(text, warmup=0)


def test_a_pause_in_the_middle_counts_as_it_is() -> None:
    text = _lines(*((float(at), 100 if 1 <= at <= 7 else at * 100) for at in range(14)))
    assert _window(text, warmup=0) == Window(10.0, 100_000, 1000)


def test_lines_that_are_too_far_apart_are_an_error() -> None:
    """The last one may lie after the end of the load."""
    text = _lines((0.0, 0), (5.0, 500), (14.0, 1200))
    with pytest.raises(MeasureError, match="printed too seldom"):
        _window(text, warmup=0, seconds=10)


@given(
    st.text()
    | st.text().map(lambda text: text + "\nDifference(%) 0.00% 0.00% 0.00% 0.00% 0.00%\n\n")
)
def test_any_text_is_an_error(text: str) -> None:
    with pytest.raises(MeasureError):
        _window(text)


@given(st.integers(0, len(_RR) - 1), st.characters())
def test_any_character_changed_is_a_measurement_or_an_error(place: int, character: str) -> None:
    workload = _workload("rr1c-200x1000", connections=4)
    text = _RR[:place] + character + _RR[place + 1 :]
    try:
        found = uperf.measured(workload, _pattern(workload.pattern), text, ())
    except MeasureError:
        return
    assert all(0 < value < float("inf") for value in found.values.values())


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("rr1c-200x30k", [("write", "size=200"), ("read", "size=30720")]),
        ("str-readx30k", [("read", "size=30720")]),
        ("str-writex30k", [("write", "size=30720")]),
    ],
)
def test_profiles(name: str, load: list[tuple[str, str]]) -> None:
    workload = _workload(name, connections=50, seconds=10.0, warmup=1.5)
    root = ElementTree.fromstring(profile(workload, _pattern(name), "192.0.2.7"))
    (group,) = root
    assert (root.get("name"), group.get("nprocs")) == (name, "50")
    assert [dict(step.attrib) for step in group] == [
        {"iterations": "1"},
        {"duration": "15s"},
        {"iterations": "1"},
    ]
    steps = [[(step.get("type"), step.get("options")) for step in each] for each in group]
    assert steps == [
        [("connect", "remotehost=192.0.2.7 protocol=tcp tcp_nodelay")],
        load,
        [("disconnect", None)],
    ]


def test_it_runs_longer_than_what_counts() -> None:
    """uperf ends by the whole second."""
    assert duration(_workload("rr1c-1x1", seconds=10.0, warmup=2.0)) == 15


_ACTOR = """\
#!{python} -I
import pathlib, socket, sys
words = sys.argv[1:]
if "-s" in words:
    with socket.create_server(("127.0.0.1", int(words[words.index("-P") + 1]))) as listener:
        listener.accept()
        sys.stdin.read()
        listener.accept()
sys.stdout.write(pathlib.Path({path!r}).read_text())
sys.exit({code})
"""


def _act(folder: Path, code: int = 0) -> None:
    """uperf, played."""
    path = folder / "uperf"
    data = _DATA / "rr1c-200x1000-c4-by-hand.txt"
    path.write_text(_ACTOR.format(python=sys.executable, path=str(data), code=code))
    path.chmod(0o755)


def test_a_run(tmp_path: Path) -> None:
    _act(tmp_path)
    with Here("target", tmp_path) as target, Here("peer", tmp_path) as peer:
        ends = Ends(target, peer, "127.0.0.1", seed=4)
        found = uperf.measure(_workload("rr1c-200x1000", connections=4), ends)
        assert not any(group_lives(started.process) for started in target.started)
        slave = next(command for command in target.commands if command[0] == "uperf")
    assert found.error == ""
    assert found.values.keys() == {"transaction_rate", "latency_mean", "goodput"}
    port = slave[slave.index("-P") + 1]
    assert slave == ("uperf", "-s", "-P", port)
    (ran,) = found.raw
    assert ran.command[1] == "-m"
    assert ran.command[3:] == ("-a", "-R", "-i", "1", "-P", port)


def test_a_master_that_fails_is_an_error(tmp_path: Path) -> None:
    _act(tmp_path, code=1)
    with Here("target", tmp_path) as target, Here("peer", tmp_path) as peer:
        found = uperf.measure(_workload("rr1c-200x1000"), Ends(target, peer, "127.0.0.1"))
    assert found.error.startswith("uperf failed: Difference(%)")
    assert found.values == {}


def test_an_address_that_is_more_than_one_is_refused() -> None:
    with Here() as here:
        found = uperf.measure(_workload("rr1c-1x1"), Ends(here, here, "a b=c"))
    assert found.error == "uperf cannot be given the address 'a b=c'"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"pattern": "rr"}, "uperf has no pattern 'rr'; it has rr1c-1x1, "),
        ({"direction": "tx"}, "direction tx: rr1c-1x1 is both"),
        (
            {"pattern": "str-readx30k", "direction": "rx"},
            "direction rx: str-readx30k is tx",
        ),
        ({"size": 5}, "size 5: the pattern says the sizes"),
        ({"connections": 251}, "connections 251: it takes 1 to 250"),
        ({"generators": 2}, "uperf has one master, with a process for each connection"),
        ({"rate": 5.0}, "uperf goes as fast as it can here; rr takes a rate"),
        ({"seconds": 1.0}, "seconds 1: uperf counts once a second, 2 are needed"),
        ({"seconds": float("nan")}, "seconds nan: "),
        ({"warmup": -1.0}, "warmup -1: it must be 0 or more seconds"),
        (
            {"pattern": "str-writex30k", "direction": "rx", "warmup": 0.5},
            "warmup: at least 1, since uperf counts what is in the sender's buffers as sent",
        ),
        ({"options": {"port": "0"}}, "port: '0' is not a number from 1 to 65535"),
        ({"options": {"x": "0"}}, "uperf has no option 'x'; it has port"),
    ],
)
def test_what_cannot_be_run_is_refused(changes: dict[str, object], problem: str) -> None:
    usual: dict[str, object] = {"pattern": "rr1c-1x1", "direction": "both"}
    workload = Workload(id="w", engine="uperf", **(usual | changes))  # type: ignore[arg-type]
    with pytest.raises(UsageError) as error:
        uperf.check(workload)
    assert str(error.value).startswith(f"w: {problem}")


def test_it_is_an_engine() -> None:
    engine = load("uperf")
    assert tuple(engine.PATTERNS) == IBM
    for pattern, metrics in engine.PATTERNS.items():
        assert set(metrics) <= METRICS.keys()
        engine.check(_workload(pattern))
    needs = engine.needs(_workload("rr1c-1x1"))
    assert [tool.program for tool in (*needs.target, *needs.peer)] == ["uperf", "uperf"]
    assert needs.target[0].packages["dnf"] == "uperf"
