"""Generators that run together, and what of theirs is told apart."""

import sys
from pathlib import Path

import pytest

from tests.bench.engines.here import Here
from vnicaudit.bench.engines._dnsperf_batch import (
    StuckError,
    busiest,
    concurrent_command,
    generators,
)
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran

SAYS = """\
echo "one $0"
printf 'no newline at the end' >&2
"""


def run(argv: tuple[str, ...], *, count: int = 1, look: int = 0) -> Ran:
    with Here("local") as here:
        output = here.put_file("out", b"")
        ran = here.run(
            concurrent_command(argv, count=count, output=output, observe_after=look), seconds=120
        )
        assert [path.name for path in Path(output).parent.iterdir()] == ["out"]
        return ran


def test_each_is_told_apart() -> None:
    argv = ("sh", "-c", SAYS, "a b")
    found = generators(run(argv, count=3), argv, 0)
    assert [(one.stdout, one.stderr) for one in found.runs] == [
        ("one a b\n", "no newline at the end")
    ] * 3
    assert [(one.command, one.code, one.endpoint) for one in found.runs] == [(argv, 0, "local")] * 3
    assert found.busiest is None


def test_exit_codes_are_theirs() -> None:
    argv = ("sh", "-c", "exit 3")
    assert [one.code for one in generators(run(argv, count=2), argv, 0).runs] == [3, 3]


def test_they_run_at_the_same_time() -> None:
    """One waits for what only the other makes."""
    with Here("local") as here:
        output = here.put_file("out", b"")
        pipe = f"{output}-pipe"
        wait = 'mkfifo "$0" 2>/dev/null && exec cat "$0"; echo met >"$0"'
        argv = ("sh", "-c", wait, pipe)
        ran = here.run(
            concurrent_command(argv, count=2, output=output, observe_after=0), seconds=120
        )
        found = generators(ran, argv, 0)
        assert sorted(one.stdout for one in found.runs) == ["", "met\n"]


def test_only_the_last_part_of_much_is_kept() -> None:
    argv = ("sh", "-c", "yes 0123456 | head -n 100000; echo the end")
    (one,) = generators(run(argv), argv, 0).runs
    assert len(one.stdout) == 262144
    assert one.stdout.endswith("the end\n")


def test_a_busy_thread_is_seen() -> None:
    busy = "import time\nwhile time.process_time() < 4: pass"
    argv = (sys.executable, "-c", busy)
    found = generators(run(argv, look=1), argv, 1)
    assert found.busiest is not None
    assert found.busiest > 0


def test_threads() -> None:
    """proc(5): user and system time are fields 14 and 15, in hundredths of a second."""
    line = "22090 (perf-recv (0) x) S 22084 22084 891 0 -1 4194368 4 0 0 0 {} {} 0 0 20 0 3 0 258\n"
    stats = line.format(7, 25) + line.format(400, 410)
    assert busiest(stats, 9) == pytest.approx(90)
    assert busiest("", 9) is None
    assert busiest(stats, 0) is None
    assert busiest("cat: no such file\n", 9) is None


def test_a_command_that_did_not_end_is_an_error() -> None:
    said = Ran(("sh",), 143, "\n== threads\n\n== ended 0\n", "terminated\n")
    with pytest.raises(MeasureError, match="dnsperf did not finish: terminated"):
        generators(said, ("dnsperf",), 0)


def test_a_command_that_had_to_be_ended_was_stuck() -> None:
    with pytest.raises(StuckError, match="dnsperf did not end by itself"):
        generators(Ran(("sh",), None, "\n== threads\n"), ("dnsperf",), 0)


def test_cut_off_anywhere_it_is_an_error() -> None:
    argv = ("sh", "-c", SAYS, "x")
    whole = run(argv, count=2)
    for end in range(len(whole.stdout)):
        with pytest.raises(MeasureError):
            generators(Ran(whole.command, 0, whole.stdout[:end]), argv, 0)
