"""What who waits is shown, on a terminal and elsewhere."""

import re

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from vnicaudit.bench.running.forecast import Ahead
from vnicaudit.cli.bench.output import BenchProgress
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.model.measurement import Sample

Capture = pytest.CaptureFixture[str]
SAMPLE = Sample(
    workload=TCP.id, arm="before", block=0, order=0, started="", values={"goodput": 7.81e9}
)


class Clock:
    """Time that goes on when it is told to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def progress(clock: Clock, *, quiet: bool = False) -> BenchProgress:
    return BenchProgress(OutputOptions(color="never", quiet=quiet, verbose=False), clock)


def ahead(number: int, left: float = 600.0, soonest: float = 600.0) -> Ahead:
    return Ahead(number, 28, left, soonest)


def test_what_is_prepared_is_said_at_once(clock: Clock, capsys: Capture) -> None:
    progress(clock).prepares("connecting to agent://web01 and local")
    assert capsys.readouterr().err == "connecting to agent://web01 and local\n"


def test_how_long_and_how_many(clock: Clock, capsys: Capture) -> None:
    one = progress(clock)
    one.runs(TCP, "before", ahead(1))
    assert capsys.readouterr().err == "about 10 min: at most 28 runs, not counting repeats\n"
    one.runs(TCP, "before", ahead(1))  # repeated: it was said
    progress(clock).runs(TCP, "before", ahead(15))  # of an interrupted process
    assert "at most 28 runs" not in capsys.readouterr().err
    progress(clock).runs(TCP, "before", ahead(1, 4800.0, 1200.0))
    assert capsys.readouterr().err.startswith("about 20 min to 1 h 20 min: ")


def test_elsewhere_a_line_in_thirty_seconds_with_the_last_value(
    clock: Clock, capsys: Capture
) -> None:
    one = progress(clock)
    one.runs(TCP, "before", ahead(1))
    one.sampled(SAMPLE)
    clock.now = 29.0
    one.runs(TCP, "before", ahead(2))
    assert len(capsys.readouterr().err.splitlines()) == 1
    clock.now = 31.0
    one.runs(TCP, "after", ahead(3, 720.0))
    assert capsys.readouterr().err == (
        f"run 3 of at most 28; about 12 min left; last 7.81 Gb/s; now {TCP.id}, after, "
        "for about 15 s\n"
    )
    clock.now = 60.0
    one.runs(TCP, "after", ahead(4))
    assert capsys.readouterr().err == ""


def test_a_run_that_did_not_count_has_no_value(clock: Clock, capsys: Capture) -> None:
    one = progress(clock)
    one.runs(TCP, "before", ahead(1))
    one.sampled(replace(SAMPLE, valid=False, reason="steal"))
    clock.now = 31.0
    one.runs(TCP, "before", ahead(1))
    assert "; last did not count; " in capsys.readouterr().err


def test_quiet_shows_nothing(clock: Clock, capsys: Capture) -> None:
    one = progress(clock, quiet=True)
    one.prepares("x")
    one.runs(TCP, "before", ahead(1))
    one.sampled(SAMPLE)
    one.says("x")
    assert capsys.readouterr().err == ""


def test_a_terminal_has_one_line(
    clock: Clock, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "50")
    one = progress(clock)
    one.prepares("warming up before")
    one.runs(TCP, "before", ahead(2))
    one.sampled(SAMPLE)
    one.runs(TCP, "before", ahead(3))
    shown = capsys.readouterr().err
    assert "\n" not in shown
    lines = [line for line in re.split(r"\r\x1b\[K", shown) if line]
    assert lines[0] == "warming up before"
    assert lines[-1].startswith("run 3 of at most 28; about 10 min left; last 7.")
    assert all(len(line) < 50 for line in lines)
