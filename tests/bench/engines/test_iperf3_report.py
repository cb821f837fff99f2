"""The parser: what iperf3 printed, whole, cut off, and spoilt in all ways."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.engines.iperf3_recorded import FILES, VERSIONS, WHOLE, plan, ran, said, text
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.engines import _iperf3_report as report
from vnicaudit.bench.engines import _iperf3_result as result
from vnicaudit.bench.engines._iperf3_report import PairRuns
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_is_an_error_wherever_it_is_cut_off(path: Path) -> None:
    printed = path.read_text()
    for length in range(len(printed.rstrip())):
        with pytest.raises(MeasureError):
            report.parse(printed[:length])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", WHOLE)
@pytest.mark.parametrize("end", ["client", "server"])
def test_reads_what_is_whole(version: str, case: str, end: str) -> None:
    found = report.parse(text(version, case, f"{end}.json"))
    assert found.start.version == f"iperf {version}"
    assert found.start.test_start.protocol == plan(version, case).workload.pattern.upper()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("case", "end"),
    [
        ("refused", "client"),
        ("busy", "client"),
        ("interrupted", "client"),
        ("interrupted", "server"),
        ("killed", "client"),
        ("taken", "server"),
        ("buffer-refused", "client"),
        ("buffer-refused", "server"),
    ],
)
def test_what_failed_is_an_error(version: str, case: str, end: str) -> None:
    with pytest.raises(MeasureError, match="iperf3"):
        report.parse(text(version, case, f"{end}.json"))


@pytest.mark.parametrize(
    ("version", "case", "words"),
    [
        ("3.12", "refused", "iperf3: unable to connect to server: Connection refused"),
        ("3.12", "busy", "iperf3: the server is busy running a test. try again later"),
        ("3.12", "interrupted", "iperf3: interrupt - the client has terminated"),
        ("3.22", "killed", "iperf3: control socket has closed unexpectedly"),
        ("3.9", "killed", "iperf3: control socket has closed unexpectedly"),
        ("3.9", "refused", "iperf3: unable to send control message: Bad file descriptor"),
        ("3.9", "busy", "iperf3: unable to send control message: Connection reset by peer"),
        ("3.9", "buffer-refused", "iperf3: socket buffer size not set correctly"),
    ],
)
def test_says_what_the_client_said(version: str, case: str, words: str) -> None:
    """Its exit status is 0 where 3.12 was refused; 3.9 says why on standard error only."""
    stopped = ran(version, case, "server", code=None)
    client = ran(version, case, "client", code=1 if version == "3.9" else 0)
    found = result.measurement_of(plan(version, case), [PairRuns(client, stopped)])
    assert (found.error, found.values) == (words, {})
    assert found.failure == ("silent" if case == "refused" else "tool")


@pytest.mark.parametrize("version", VERSIONS)
def test_says_that_the_port_was_taken(version: str) -> None:
    words = "unable to start listener for connections: Address already in use"
    assert result.failure_reason(ran(version, "taken", "server", code=1)) == words


def test_says_that_it_was_stopped() -> None:
    pair = said("3.12", "tcp")
    client = Ran(("iperf3",), None, pair.client.stdout[:100], "", 33.0)
    found = result.measurement_of(plan("3.12", "tcp"), [PairRuns(client, pair.server)])
    assert found.error == "iperf3 did not end within 33 s: exit status None, no error output"
    assert found.failure == "silent"


def test_takes_no_report_of_another_test() -> None:
    pair = PairRuns(ran("3.12", "tcp", "client"), ran("3.12", "tcp-omit", "server"))
    server = json.loads(ran("3.12", "tcp", "server").stdout)
    server["start"]["cookie"] = "another"
    pair = PairRuns(pair.client, Ran(("iperf3",), 0, json.dumps(server)))
    found = result.measurement_of(plan("3.12", "tcp"), [pair])
    assert found.error == "the iperf3 server's report is from another test than the client's"


@pytest.mark.parametrize("case", ["tcp-omit", "udp-loss-omit"])
def test_takes_no_report_with_an_omitted_part(case: str) -> None:
    """Its clock starts anew; the engine never asks for -O."""
    found = result.measurement_of(plan("3.12", case), [said("3.12", case)])
    assert "iperf3's report has a gap between" in found.error


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("", "incomplete"),
        ("null", "incomplete"),
        ("[1e999", "incomplete"),
        ('{"error": "boom"}', "iperf3: boom"),
        ('{"error": ""}', "iperf3: failed"),
        ('{"error": 5}', "incomplete"),
        ("[" * 100_000, "incomplete"),
        ("\x00", "incomplete"),
    ],
)
def test_takes_nothing_else(printed: str, words: str) -> None:
    with pytest.raises(MeasureError, match=words):
        report.parse(printed)


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_says_no_more_than_that_it_cannot_be_read(printed: str) -> None:
    with pytest.raises(MeasureError):
        report.parse(printed)


_LOST = object()
WRONG: tuple[Any, ...] = (_LOST, 0, -1, 1e308, "x", None, True, False, [], {})


@pytest.mark.parametrize("case", ["tcp", "tcp-bidir", "udp-loss", "udp-reverse"])
@pytest.mark.parametrize("end", ["client", "server"])
def test_one_wrong_value_never_makes_a_wrong_number(case: str, end: str) -> None:
    """Each value of a report in turn is lost, or another, or ten times as much."""
    document = json.loads(text("3.22", case, f"{end}.json"))
    right = _measured(case, end, document)
    assert right.values
    for container, key in list(_places(document)):
        value = container[key]
        for wrong in (*WRONG, *_tenfold(value)):
            if wrong is not _LOST:
                container[key] = wrong
            elif isinstance(container, dict):
                del container[key]
            found = _measured(case, end, document)
            assert found.error or _close(found, right), (key, value, wrong)
            container[key] = value


def _measured(case: str, end: str, document: Any) -> Measured:
    pair = said("3.22", case)._asdict()
    pair[end] = Ran(("iperf3",), 0, json.dumps(document))
    return result.measurement_of(plan("3.22", case), [PairRuns(**pair)])


def _close(found: Measured, right: Measured) -> bool:
    """Within what two counts of the same may differ by."""
    return all(
        abs(found.values[name] - value) <= 0.02 * max(value, 1)
        for name, value in right.values.items()
    )


def _places(part: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        yield part, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


def _tenfold(value: Any) -> tuple[Any, ...]:
    return (value * 10,) if isinstance(value, (int, float)) and value else ()
