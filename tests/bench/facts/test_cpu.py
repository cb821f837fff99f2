"""CPU time of a machine, steal, throttling."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    longest_wait,
    throttled_seconds,
    ticks,
    use_between,
)
from vnicaudit.bench.facts.guest_process import switch_threads
from vnicaudit.bench.facts.path_check import read_end
from vnicaudit.errors import MeasureError
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import CpuParts, Ran
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


# Pressure of a machine's CPUs, as the kernel writes it.


# Linux 6.18; kernels before 5.13 have no second line.
CPU = """\
some avg10=96.69 avg60=97.10 avg300=88.59 total=951269166
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
"""
STAT = "cpu  1 2 3 4 5 6 7 8 9 10\n"


@pytest.mark.parametrize(
    ("printed", "pressure"),
    [
        (CPU, {"some": 951.269166}),
        (CPU.partition("full")[0], {"some": 951.269166}),
        ("", {}),
        ("full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n", {}),
        ("some avg10=0.00 total=many\n", {}),
    ],
)
def test_pressure_is_its_total_in_seconds(printed: str, pressure: dict[str, float]) -> None:
    sections = [Section("uptime", "1.0 1.0\n"), Section("stat", STAT), Section("pressure", printed)]
    assert cpu_reading(sections).pressure == pressure


@pytest.mark.parametrize(
    ("before", "after", "seconds", "percent"),
    [
        ({0: 1.0}, {0: 3.5}, 10.0, 25.0),
        ({0: 0.0, 1: 0.0, 2: 0.0}, {0: 0.01, 1: 0.5, 2: 0.02}, 10.0, 5.0),
        ({0: 0.0}, {0: 11.0}, 10.0, 100.0),  # read a little later than the clock
        ({0: 5.0}, {0: 5.0, 1: 0.9}, 10.0, 0.0),
        ({}, {0: 5.0}, 10.0, None),
        ({0: 5.0}, {0: 4.0}, 10.0, None),
        ({0: 5.0}, {0: 6.0}, 0.0, None),
    ],
)
def test_the_longest_wait_between_two_readings_is_a_share_of_the_time(
    before: dict[int, float], after: dict[int, float], seconds: float, percent: float | None
) -> None:
    assert longest_wait(before, after, seconds) == percent


# Parts of the CPU time at an end: its own cgroup, softirqs, the switch, vhost workers.


def reading(uptime: str, **sections: str) -> CpuReading:
    made = {"uptime": f"{uptime} 20.00\n", "ticks": "100\n", "boot": "b\n"}
    made["stat"] = "cpu  1 0 1 1 0 0 1 0 0 0\n"
    return cpu_reading([Section(name, value) for name, value in (made | sections).items()])


def test_softirqs_are_those_of_all_cpus_and_of_the_busiest() -> None:
    early = reading("10.00", softirqs="0 100\n1 500\n")
    late = reading("20.00", softirqs="0 150\n1 1400\n")
    assert use_between(early, late).parts == CpuParts(softirq=9.5e6, softirq_of_busiest=9e6)


def test_the_own_cgroup_is_told_from_others_by_its_inode() -> None:
    early = reading("10.00", group="4242 /sys/fs/cgroup\nusage_usec 1000000\n")
    late = reading("20.00", group="4242 /sys/fs/cgroup\nusage_usec 5500000\n")
    used = use_between(early, late)
    assert used.group == "4242"
    assert used.parts.group == pytest.approx(4.5e6)
    other = reading("20.00", group="4243 /sys/fs/cgroup\nusage_usec 5500000\n")
    assert use_between(early, other).parts.group is None


@pytest.mark.parametrize(
    "said", ["", "1 /sys/fs/cgroup\nusage_usec 5\n", "77 /sys/fs/cgroup\n", "77 \nusage_usec x\n"]
)
def test_the_root_and_what_cannot_be_read_are_no_own_cgroup(said: str) -> None:
    assert reading("10.00", group=said).group == {}


def line(pid: int, name: str, spent: int, started: int = 5) -> str:
    return text("proc/kthreadd.stat").replace("2 (kthreadd)", f"{pid} ({name})").replace(
        " 0 2 0 0 20 ", f" 0 {spent} 0 0 20 "
    ).replace(" 22 0 0 ", f" {started} 0 0 ")  # fmt: skip


def test_threads_of_the_switch_and_of_vhost() -> None:
    said = line(7, "ovs-vswitchd", 200) + line(8, "vhost-99", 30) + line(9, "vhost-100", 5)
    assert switch_threads([Section("threads", said + said[:40])], 100) == {
        "vswitch 7 5": 2.0, "vhost 8 5": 0.3, "vhost 9 5": 0.05,
    }  # fmt: skip
    assert switch_threads([], 100) == {}


def test_a_thread_that_began_in_between_counts_whole_and_one_that_ended_not_at_all() -> None:
    early, late = reading("10.00"), reading("20.00")
    early = early._replace(threads={"vhost 8 5": 1.0, "vhost 9 5": 9.0})
    late = late._replace(threads={"vhost 8 5": 1.5, "vhost 9 77": 0.25})
    parts = use_between(early, late).parts
    assert parts.vhost == pytest.approx(0.75e6)
    assert parts.vswitch is None


@contextmanager
def cgroup() -> Iterator[Path]:
    """A cgroup of version 2, made and gone afterwards."""
    for mount in (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")):
        if (mount / "cgroup.procs").exists() and os.access(mount, os.W_OK):
            break
    else:
        not_run("tests", "there is no cgroup of version 2 to write to")
    group = mount / f"vncpu{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        not_run("tests", "cgroups of version 2 cannot be made here")
    try:
        yield group
    finally:
        group.rmdir()


class InGroup(Here):
    """This machine, its programs in a cgroup of their own."""

    def __init__(self, group: Path) -> None:
        super().__init__()
        self._into = ("sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(group))

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        return super().run((*self._into, *argv), seconds=seconds, stdin=stdin)


def test_a_busy_loop_of_known_cpu_time_in_a_cgroup_of_its_own() -> None:
    loop = "import time\nwhile time.process_time() < 1: pass"
    with cgroup() as group, InGroup(group) as here:
        before = read_end(here, "target", "127.0.0.1").cpu
        here.run((sys.executable, "-S", "-c", loop), seconds=60.0)
        outside = [sys.executable, "-S", "-c", loop]
        subprocess.run(outside, check=True)
        used = use_between(before, read_end(here, "target", "127.0.0.1").cpu)
    assert used.group
    assert used.parts.group is not None
    assert 1e6 <= used.parts.group < 1.9e6  # not what ran outside of it
    assert used.parts.softirq is not None
    assert used.parts.softirq_of_busiest is not None
    assert used.parts.softirq_of_busiest <= used.parts.softirq
