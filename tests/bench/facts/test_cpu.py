"""CPU time of a machine, steal, throttling."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.engines.here import Here
from tests.bench.facts.recorded import text
from tests.not_run import not_run
from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.facts.cpu import (
    CPU_TIME,
    BootTime,
    CpuReading,
    Ticks,
    Used,
    cpu_reading,
    throttled_seconds,
    ticks,
    use_between,
)
from vnicaudit.errors import MeasureError
from vnicaudit.model.host import Section
from vnicaudit.reaching.sections import ask

FIRST = text("proc/guest.stat").partition("\n")[0] + "\n"
NONE = Ticks(0, 0, 0, 0, 0, 0, 0, 0)


def at(
    uptime: float, spent: Ticks = NONE, throttled: dict[str, float] | None = None, boot: str = "b"
) -> CpuReading:
    return CpuReading(BootTime(uptime, 100, boot), spent, throttled or {})


def test_the_line_of_all_cpus() -> None:
    found = ticks(FIRST)
    assert found == Ticks(772, 0, 672, 200, 0, 0, 12, 0)
    assert found.busy == 772 + 672 + 12


def test_cut_anywhere_it_is_an_error() -> None:
    for length in range(len(FIRST)):
        with pytest.raises(MeasureError):
            ticks(FIRST[:length])


@given(st.lists(st.integers(0, 2**63), min_size=10, max_size=10))
def test_eight_columns_are_read(columns: list[int]) -> None:
    line = "cpu  " + " ".join(map(str, columns)) + "\n"
    assert ticks(line) == Ticks(*columns[:8])


@pytest.mark.parametrize("broken", ["", "cpu\n", "cpu0 1 2 3 4 5 6 7 8 9 0\n", FIRST * 2])
def test_what_is_no_such_line(broken: str) -> None:
    with pytest.raises(MeasureError):
        ticks(broken)


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("v2.quota", 17.841005),
        ("v1.quota", 0.380910835),
        ("v2.no-controller", 0.0),
        ("v2.root", 0.0),
    ],
)
def test_how_long_a_quota_held_a_group_back(name: str, seconds: float) -> None:
    assert throttled_seconds(text(f"cgroup/{name}.cpu.stat")) == pytest.approx(seconds)


@pytest.mark.parametrize("name", ["v2.quota", "v1.quota"])
def test_a_cut_number_is_no_number(name: str) -> None:
    whole = text(f"cgroup/{name}.cpu.stat")
    right = throttled_seconds(whole)
    found = {throttled_seconds(whole[:length]) for length in range(len(whole))}
    assert found == {0.0, right}


def test_between_two_readings() -> None:
    spent = Ticks(user=300, nice=10, system=80, idle=500, iowait=50, irq=1, softirq=9, steal=50)
    assert use_between(at(100.0), at(105.0, spent)) == Used(4e6, 5.0, None, 5.0, "b")


def test_a_clock_of_another_rate() -> None:
    after = CpuReading(BootTime(2.0, 1024, "b"), NONE._replace(user=512, idle=1536), {})
    assert use_between(at(1.0), after).busy == 500_000


def test_a_machine_that_was_booted_meanwhile_tells_nothing() -> None:
    assert use_between(at(100.0), at(200.0, boot="another")) == Used()
    assert use_between(at(100.0), at(99.0)) == Used()


def test_counters_that_went_back_tell_nothing() -> None:
    early = at(100.0, NONE._replace(steal=9, user=5))
    assert use_between(early, at(110.0, NONE._replace(user=5))) == Used(seconds=10.0, boot="b")


def test_waiting_for_a_disk_may_go_back() -> None:
    early = at(100.0, NONE._replace(iowait=9))
    late = at(110.0, NONE._replace(user=90, steal=10))
    assert use_between(early, late) == Used(900_000, 10.0, None, 10.0, "b")


def test_the_group_that_was_held_back_most_counts() -> None:
    early = at(0.0, throttled={"/a": 5.0, "/a/b": 0.0, "/session-1": 0.0})
    late = at(10.0, throttled={"/a": 5.1, "/a/b": 0.5, "/session-2": 99.0})
    assert use_between(early, late).throttled == pytest.approx(5.0)


def test_several_threads_held_back_at_once_are_no_more_than_all_the_time() -> None:
    assert (
        use_between(at(0.0, throttled={"/": 0.0}), at(1.0, throttled={"/": 7.0})).throttled == 100.0
    )


def test_without_getconf_there_are_100_ticks_a_second() -> None:
    sections = [
        Section("uptime", "12.50 20.00\n"),
        Section("ticks", "\n"),
        Section("boot", "c0bdfe99\n"),
        Section("stat", FIRST),
        Section("throttle /sys/fs/cgroup", text("cgroup/v2.quota.cpu.stat")),
    ]
    assert cpu_reading(sections) == CpuReading(
        BootTime(12.5, 100, "c0bdfe99"), ticks(FIRST), {"/sys/fs/cgroup": 17.841005}
    )


def test_a_machine_without_uptime_is_an_error() -> None:
    with pytest.raises(MeasureError, match="uptime"):
        cpu_reading([Section("stat", FIRST)])


def _read_cpu(endpoint: Endpoint) -> CpuReading:
    return cpu_reading(ask(endpoint, CPU_TIME))


def test_a_busy_loop_of_known_cpu_time_is_seen() -> None:
    """By the loop's own CPU time; what else the machine does is bounded by what is idle."""
    loop = "import time\nwhile time.process_time() < 2: pass"
    with Here() as here:
        before = _read_cpu(here)
        subprocess.run([sys.executable, "-S", "-c", loop], check=True)
        after = _read_cpu(here)
    spent = use_between(before, after)
    assert spent.busy is not None
    assert spent.seconds is not None
    assert spent.busy >= 0.9 * 2e6
    cpus = os.cpu_count() or 1
    assert spent.busy <= 1.1 * cpus * spent.seconds * 1e6


def test_the_shell_of_small_guests_reads_the_same(tmp_path: Path) -> None:
    busybox = shutil.which("busybox")
    if busybox is None:
        not_run("rig", "busybox is not installed")
    (tmp_path / "sh").symlink_to(busybox)
    with Here() as here, Here(programs=tmp_path) as small:
        usual, other = _read_cpu(here), _read_cpu(small)
    assert other.clock.boot == usual.clock.boot != ""
    assert other.clock.ticks == usual.clock.ticks
    assert other.throttled.keys() == usual.throttled.keys() != set()
    assert other.ticks.busy >= usual.ticks.busy > 0
