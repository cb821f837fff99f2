"""The line that our own generator prints, read by its engine."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.bench.engines import rr
from vnicaudit.bench.engines._rr_command import (
    Pattern,
    RrReport,
    client_error,
    error_of,
    pattern_of,
    report_of,
)
from vnicaudit.errors import MeasureError, NoTrafficError
from vnicaudit.model.measurement import Workload

_RR = Pattern("rr", 200, 1000)


def _side(**changes: Any) -> dict[str, Any]:
    usual = {
        "bytes": 3600,
        "transactions": 3,
        "cpu": 0.25,
        "wait": 0.125,
        "late": 0,
        "sum": 60_000,
    }
    return usual | {"max": 40_000, "waiting": 1, "oldest": 0.001} | changes


_NOTHING: dict[str, Any] = {"bytes": 0, "transactions": 0}


def _line(**changes: Any) -> str:
    usual = {"counts": [[10_000, 2], [40_000, 1]], "client": [_side()], "server": [_side()]}
    return json.dumps(usual | {"error": ""} | changes) + "\n"


def test_a_report_in_the_units_of_metrics() -> None:
    workload = Workload(id="w", engine="rr", pattern="rr1c-200x1000", direction="both", seconds=2.0)
    found = rr.measurement_of(workload, _RR, report_of(_line(), _RR), ())
    assert found.values == {
        "goodput": 14_400.0,
        "transaction_rate": 1.5,
        "latency_mean": 20.0,
        "latency_p50": 10.0,
        "latency_p99": 40.0,
        "latency_p999": 40.0,
        "latency_max": 40.0,
    }
    assert not found.generator_limited
    assert (found.seconds, found.bytes, found.transactions) == (2.0, 3600, 3)
    assert found.details["waiting_longest_us"] == 1000


@pytest.mark.parametrize("end", ["client", "server"])
@pytest.mark.parametrize(("cpu", "wait"), [(0.95, 0.0), (0.45, 0.5)])
def test_a_worker_that_has_no_cpu_time_left_limits(end: str, cpu: float, wait: float) -> None:
    workload = Workload(id="w", engine="rr", pattern="rr1c-200x1000", direction="both")
    report = report_of(_line(**{end: [_side(cpu=cpu, wait=wait)]}), _RR)
    assert rr.measurement_of(workload, _RR, report, ()).generator_limited


@pytest.mark.parametrize(
    ("connections", "client", "server", "limited"),
    [
        (1, [(0.49, 0.0)], [(0.46, 0.0)], True),
        (1, [(0.2, 0.3)], [(0.1, 0.35)], True),
        (1, [(0.49, 0.0)], [(0.45, 0.0)], False),
        # two connections, each with a process of its own at both ends, could do twice as much
        (2, [(0.5, 0.0), (0.5, 0.0)], [(0.45, 0.0), (0.45, 0.0)], True),
        (2, [(0.49, 0.0)], [(0.46, 0.0)], False),
        (50, [(0.9, 0.0), (0.9, 0.0)], [(0.9, 0.0), (0.9, 0.0)], False),
    ],
)
def test_ends_that_take_turns_and_leave_the_network_no_time_limit(
    connections: int,
    client: list[tuple[float, float]],
    server: list[tuple[float, float]],
    limited: bool,
) -> None:
    """While one end works on a connection's request, the other one waits for it: neither is ever
    busy all the time."""
    workload = Workload(
        id="w", engine="rr", pattern="rr1c-200x1000", direction="both", connections=connections
    )
    sides = {
        name: [_side(cpu=cpu, wait=wait, **(_NOTHING if number else {})) for number, (cpu, wait) in
               enumerate(each)]
        for name, each in (("client", client), ("server", server))
    }  # fmt: skip
    found = rr.measurement_of(workload, _RR, report_of(_line(**sides), _RR), ())
    assert found.generator_limited is limited


@pytest.mark.parametrize(
    ("kernel", "limited"), [((0.0, 0.0), True), ((0.4, 0.35), True), ((0.4, 0.36), False)]
)
def test_time_in_the_kernel_is_the_path_s(kernel: tuple[float, float], limited: bool) -> None:
    """What sends nothing but requests has hardly any time of its own: then a path that only costs
    CPU time (a veth pair, an emulated NIC) is what was measured."""
    workload = Workload(id="w", engine="rr", pattern="rr1c-200x1000", direction="both")
    sides = {"client": [_side(cpu=0.5, wait=0.01, kernel=kernel[0])]}
    sides["server"] = [_side(cpu=0.4, wait=0.09, kernel=kernel[1])]
    found = rr.measurement_of(workload, _RR, report_of(_line(**sides), _RR), ())
    assert found.generator_limited is limited


def test_requests_that_go_out_late_limit() -> None:
    workload = Workload(
        id="w", engine="rr", pattern="rr1c-200x1000", direction="both", seconds=1.0, rate=100
    )
    for late, limited in ((2, False), (3, True)):
        report = report_of(_line(client=[_side(late=late)]), _RR)
        assert rr.measurement_of(workload, _RR, report, ()).generator_limited is limited


@pytest.mark.parametrize("length", range(len(_line())))
def test_a_line_that_is_cut_is_an_error(length: int) -> None:
    with pytest.raises(MeasureError):
        report_of(_line()[:length], _RR)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (_line(error="a connection was lost"), "a connection was lost"),
        (_line(client=[]), "from one end only"),
        (_line(server=[]), "from one end only"),
        (_line(counts=[[10_000, 2]]), "counted more or fewer latencies than answers"),
        (_line(client=[_side(bytes=1)]), "bytes do not match its answers"),
        (
            _line(counts=[], client=[_side(transactions=0, bytes=0)]),
            "no request was answered in the measured time",
        ),
        (_line(client=[_side(cpu=-1)]), "cannot be read"),
        (_line(client=[_side(bytes="1")]), "cannot be read"),
        (_line(client=[_side(bytes=None)]), "cannot be read"),
        (_line(counts=[[-1, 3]]), "cannot be read"),
        (_line().replace("0.25", "NaN"), "cannot be read"),
        (_line().replace("0.25", "1e999"), "cannot be read"),
        ("[" * 100_000 + "}\n", "cannot be read"),
        (_line() + _line(), "cannot be read"),
        ("", "is incomplete"),
    ],
)
def test_a_line_that_cannot_be_is_an_error(line: str, error: str) -> None:
    with pytest.raises(MeasureError, match=error):
        report_of(line, _RR)


@given(st.text() | st.text().map(lambda text: text + "}\n"))
def test_any_text_is_an_error(text: str) -> None:
    with pytest.raises(MeasureError):
        report_of(text, _RR)
    assert isinstance(error_of(text), str)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(["error", "counts", "client", "server"]), _json))
def test_any_json_is_a_report_or_an_error(found: dict[str, Any]) -> None:
    line = json.dumps({"error": ""} | found) + "\n"
    try:
        report = report_of(line, _RR)
    except MeasureError:
        return
    assert report.answered > 0


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("rr1c-1x1", Pattern("rr", 1, 1)),
        ("rr1c-200x30k", Pattern("rr", 200, 30720)),
        ("rr1c-16384kx16384k", Pattern("rr", 16 << 20, 16 << 20)),
        ("crr-200x1k", Pattern("crr", 200, 1024)),
        ("str-writex1", None),
        ("rr1c-16385kx1", None),
        ("rr1c-01x1", None),
        ("rr1c-1x1 ", None),
        ("rr1c-1x1\n", None),
        ("rr1c-1x1x1", None),
        ("rr1c-²x1", None),
        ("str-readx30K", None),
        ("str-sendx30k", None),
        ("", None),
    ],
)
def test_names_of_patterns(name: str, pattern: Pattern | None) -> None:
    assert pattern_of(name) == pattern


@pytest.mark.parametrize(
    ("percent", "nanoseconds"), [(1, 10), (50, 10), (50.1, 20), (99, 20), (99.1, 30), (100, 30)]
)
def test_a_percentile_is_the_latency_that_so_many_requests_do_not_exceed(
    percent: float, nanoseconds: int
) -> None:
    report = RrReport("", ((10, 50), (20, 49), (30, 1)))
    assert report.percentile(percent) == nanoseconds


# Clients fail by themselves, or because nothing got through.


@pytest.mark.parametrize(
    ("said", "silent"),
    [
        ("cannot connect: timed out", True),
        ("cannot connect: [Errno 111] Connection refused", True),
        ("cannot connect: [Errno 113] No route to host", True),
        ("nothing came or went for 10 s", True),
        ("a connection was lost", False),
        ("send_omni: broken", False),
        ("the server speaks another language", False),
    ],
)
def test_what_a_client_says(said: str, silent: bool) -> None:
    assert isinstance(client_error(said), NoTrafficError) is silent
