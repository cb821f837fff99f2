"""Parts of the CPU time at an end: its own cgroup, softirqs, the switch, vhost workers."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.engines.here import Here
from tests.bench.facts.recorded import text
from tests.not_run import not_run
from vnicaudit.bench.facts.cpu import CpuReading, cpu_reading, use_between
from vnicaudit.bench.facts.guest_process import switch_threads
from vnicaudit.bench.facts.path_check import read_end
from vnicaudit.model.host import Section
from vnicaudit.model.measurement import CpuParts, Ran


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
