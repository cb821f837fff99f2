"""CPU time of a guest on its hypervisor: threads, kernel threads, nothing twice, nothing missed."""

import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters import ADAPTERS
from tests.bench.engines.here import Here
from tests.bench.facts.recorded import text
from tests.not_run import not_run
from vnicaudit.bench.facts.cpu import BootTime
from vnicaudit.bench.facts.guest_process import (
    GuestHost,
    GuestProcess,
    HostUse,
    Process,
    QemuReading,
    find_guest,
    guest_nic,
    host_use,
    nic_words,
    process,
    qemu_reading,
    read_qemu,
)
from vnicaudit.errors import ActionError, MeasureError
from vnicaudit.model.host import Section
from vnicaudit.model.nic import NicConfig

CLOCK = (
    Section("uptime", "25467.44 1.00\n"),
    Section("ticks", "100\n"),
    Section("boot", "c0bdfe99\n"),
)
NORMAL, KERNEL = 138412416, 2129984
"""``flags`` as recorded of QEMU 7.2 and of kthreadd, on Linux 6.18."""


def stat(pid: int, name: str, user: int, *, flags: int = NORMAL, started: int = 2546638) -> str:
    """A line of the documented form (proc.rst, table 1-4)."""
    return (
        f"{pid} ({name}) S 1 7 7 0 -1 {flags} 6910 0 41 0 {user} 1 0 0 20 0 3 0 {started} "
        "1456386048 12440 18446744073709551615 1 1 0 0\n"
    )


def qemu(user: int = 0, **known: int) -> QemuReading:
    """``thread_9=5``: a vhost worker that is a thread; ``worker_9=5``: one that is a kernel thread;
    with what they have used."""
    by_kind: dict[str, dict[int, Process]] = {"thread": {}, "worker": {}}
    for name, spent in known.items():
        kind, _line, tid = name.partition("_")
        by_kind[kind][int(tid)] = Process(int(tid), "vhost-7", spent, 1, kind == "worker")
    process = Process(7, "qemu-system-x86", user, 5, kernel=False)
    return QemuReading(
        BootTime(user / 100, 100, "b"), process, by_kind["thread"], by_kind["worker"]
    )


def test_vhost_workers_that_are_threads_are_in_the_process_already() -> None:
    """Linux 6.4 and later (constructed: this machine has no vhost-net)."""
    sections = [
        *CLOCK,
        Section("process", stat(7, "qemu-system-x86", 99)),
        Section("thread", stat(9, "vhost-7", 40)),
    ]
    before = qemu_reading(sections)
    assert before is not None
    assert before.threads.keys() == {9}
    used = host_use(qemu(0, thread_9=0), qemu(100, thread_9=40), vhost=True)
    assert used == HostUse(1_000_000, 1.0, "b")


def test_vhost_workers_that_are_kernel_threads_are_added() -> None:
    """Before Linux 6.4 (constructed from the documented form)."""
    sections = [
        *CLOCK,
        Section("process", stat(7, "qemu-system-x86", 99)),
        Section("worker", stat(9, "vhost-7", 40, flags=KERNEL)),
        Section("worker", stat(10, "vhost-7", 2, flags=KERNEL)),
    ]
    before = qemu_reading(sections)
    assert before is not None
    assert before.workers.keys() == {9, 10}
    used = host_use(qemu(0, worker_9=10), qemu(100, worker_9=50, worker_10=2), vhost=True)
    assert used == HostUse(1_420_000, 1.0, "b")


def test_how_long_its_threads_waited_for_a_cpu() -> None:
    """Of the vhost workers and the main loop, the one that waited longest."""

    def reading(uptime: int, main: int, worker: int) -> QemuReading:
        found = qemu_reading(
            [
                Section("uptime", f"{uptime}.00 1.00\n"),
                *CLOCK[1:],
                Section("process", stat(7, "qemu-system-x86", 99)),
                Section("waited 7", f"5 {main} 3\n"),
                Section("thread", stat(9, "vhost-7", 40)),
                Section("waited 9", f"5 {worker} 3\n"),
                Section("worker", stat(11, "vhost-7", 40)),  # calls itself so
                Section("waited 11", f"5 {10**9 * uptime} 3\n"),
                Section("waited 12", ""),
            ]
        )
        assert found is not None
        return found

    before, after = reading(100, 10**9, 5), reading(110, 2 * 10**9, 4 * 10**9 + 5)
    assert before.waited == {7: 1.0, 9: 5e-9}
    assert host_use(before, after, vhost=True).waited == pytest.approx(40.0)
    blind = after._replace(waited={})
    assert host_use(before, blind, vhost=True).waited is None


def test_a_program_that_calls_itself_a_vhost_worker_is_none() -> None:
    sections = [
        *CLOCK,
        Section("process", stat(7, "qemu-system-x86", 99)),
        Section("worker", stat(9, "vhost-7", 40)),
    ]
    found = qemu_reading(sections)
    assert found is not None
    assert found.workers == {}


def test_what_is_a_thread_is_not_counted_again() -> None:
    sections = [
        *CLOCK,
        Section("process", stat(7, "qemu-system-x86", 99)),
        Section("thread", stat(9, "vhost-7", 40, flags=KERNEL)),
        Section("worker", stat(9, "vhost-7", 40, flags=KERNEL)),
    ]
    found = qemu_reading(sections)
    assert found is not None
    assert (set(found.threads), set(found.workers)) == ({9}, set())


def test_a_worker_that_ended_while_it_was_looked_at_is_left_out() -> None:
    sections = [
        *CLOCK,
        Section("process", stat(7, "qemu-system-x86", 99)),
        Section("thread", ""),
    ]
    found = qemu_reading(sections)
    assert found is not None
    assert found.threads == {}


def test_a_worker_that_is_known_to_be_there_and_is_not_seen_makes_it_unknown() -> None:
    assert host_use(qemu(0), qemu(100), vhost=True) == HostUse(boot="b")
    assert host_use(qemu(0), qemu(100), vhost=False) == HostUse(1_000_000, 1.0, "b")


def test_another_process_with_the_same_id_tells_nothing() -> None:
    later = qemu(100)
    other = later._replace(process=later.process._replace(started=6))
    assert host_use(qemu(0), other, vhost=False) == HostUse()


def test_a_worker_whose_id_was_given_to_another_counts_from_zero() -> None:
    later = qemu(100, worker_9=5)
    other = later.workers[9]._replace(started=2)
    used = host_use(qemu(0, worker_9=50), later._replace(workers={9: other}), vhost=True)
    assert used.total == 1_050_000


@contextmanager
def running_qemu(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A real QEMU with a machine that has nothing to run: its firmware looks for a disk."""
    try:
        process = subprocess.Popen(
            ["qemu-system-x86_64", "-machine", "accel=tcg", "-display", "none", *arguments],
            stderr=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        not_run("rig", "qemu-system-x86_64 is not installed")
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(here: Here, domain: str, mac: str | None = None) -> GuestProcess:
    """Its arguments are there when execve has returned; a QEMU that ended at once never has any."""
    late = time.monotonic() + 300
    while time.monotonic() < late:
        found = find_guest(GuestHost(here, ADAPTERS.command_line), domain, mac)
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError(f"there is no QEMU of {domain}")


def spent_by(process: subprocess.Popen[bytes]) -> float:
    """Microseconds, by the precise clock of the process (CLOCK_PROCESS_CPUTIME_ID's number of
    another process: clock_getcpuclockid(3))."""
    return time.clock_gettime(~process.pid << 3 | 2) * 1e6


def test_a_real_qemu_is_found_by_uuid_and_what_it_uses_is_seen() -> None:
    domain = str(uuid.uuid4())
    with Here() as here, running_qemu("-uuid", domain, "-name", "guest=a (b) c") as process:
        guest = wait_for(here, domain)
        assert guest.pid == process.pid
        assert wait_for(here, "a (b) c") == guest
        assert find_guest(GuestHost(here, ADAPTERS.command_line), str(uuid.uuid4())) is None
        assert find_guest(GuestHost(here, ADAPTERS.command_line), "a (b)") is None
        earlier = spent_by(process)
        before = read_qemu(here, guest)
        while spent_by(process) < earlier + 1e6:
            time.sleep(0.05)
        after = read_qemu(here, guest)
        later = spent_by(process)
    assert before is not None
    assert after is not None
    used = host_use(before, after, vhost=guest.vhost)
    assert used.total is not None
    assert 0.9 * 1e6 <= used.total <= 1.1 * (later - earlier)


def test_the_shell_of_small_systems_finds_the_same(tmp_path: Path) -> None:
    busybox = shutil.which("busybox")
    if busybox is None:
        not_run("rig", "busybox is not installed")
    for program in ("sh", "cat", "head", "tr"):
        (tmp_path / program).symlink_to(busybox)
    domain = str(uuid.uuid4())
    with Here() as here, Here(programs=tmp_path) as small, running_qemu("-uuid", domain, "-S"):
        guest = wait_for(here, domain)
        assert find_guest(GuestHost(small, ADAPTERS.command_line), domain) == guest
        reading = read_qemu(small, guest)
    assert reading is not None
    assert reading.process.id == guest.pid


def test_a_process_that_has_ended_has_no_reading() -> None:
    domain = str(uuid.uuid4())
    with Here() as here, running_qemu("-uuid", domain, "-S") as process:
        guest = wait_for(here, domain)
        assert read_qemu(here, guest._replace(started=guest.started + 1)) is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert read_qemu(here, guest) is None
        assert find_guest(GuestHost(here, ADAPTERS.command_line), domain) is None


def test_vhost_user_is_a_path_that_polls() -> None:
    """This QEMU waits for its backend all the time; its arguments are all there. The socket has a
    folder of its own: a path of more than 107 bytes is none for a socket."""
    with TemporaryDirectory(dir="/tmp") as short:
        domain, mac, other = str(uuid.uuid4()), "52:54:00:00:00:01", "52:54:00:00:00:02"
        arguments = (
            *("-uuid", domain),
            *("-object", "memory-backend-memfd,id=m,size=128M,share=on", "-numa", "node,memdev=m"),
            *("-netdev", "user,id=n1", "-device", f"virtio-net-pci,netdev=n1,mac={other}"),
            *("-chardev", f"socket,id=c,path={short}/s,server=on,wait=off"),
            *("-netdev", "vhost-user,id=n0,chardev=c"),
            *("-device", f"virtio-net-pci,netdev=n0,mac={mac}"),
        )
        with Here() as here, running_qemu(*arguments):
            assert wait_for(here, domain, mac).busy_poll
            assert wait_for(here, domain).busy_poll
            assert not wait_for(here, domain, other).busy_poll


def test_of_two_with_one_name_the_one_with_the_nic_is_meant() -> None:
    name = f"twin-{uuid.uuid4()}"

    def arguments(mac: str) -> tuple[str, ...]:
        nic = ("-netdev", "user,id=n", "-device", f"e1000,netdev=n,mac={mac}")
        return ("-name", name, "-S", *nic)

    with Here() as here, running_qemu(*arguments("52:54:00:00:00:0a")) as first:
        assert wait_for(here, name).pid == first.pid
        with running_qemu(*arguments("52:54:00:00:00:0b")) as second:
            assert wait_for(here, name, "52:54:00:00:00:0B").pid == second.pid
            assert find_guest(GuestHost(here, ADAPTERS.command_line), name) is None


def test_another_program_that_names_the_domain_is_no_qemu() -> None:
    domain = str(uuid.uuid4())
    words = ("qemu-system-x86_64", "-uuid", domain)
    waits = [sys.executable, "-S", "-c", "input()", *words]
    with Here() as here, subprocess.Popen(waits, stdin=subprocess.PIPE) as process:
        try:
            assert find_guest(GuestHost(here, ADAPTERS.command_line), domain) is None
        finally:
            process.kill()


# Lines of /proc/PID/stat.


def test_a_name_may_have_spaces_and_parentheses() -> None:
    assert process(text("proc/parentheses.stat")) == Process(
        12445, "a) R (b 1", spent=0, started=2639509, kernel=False
    )


def test_a_kernel_thread_is_known_by_its_flag() -> None:
    assert process(text("proc/kthreadd.stat")) == Process(2, "kthreadd", 2, 22, kernel=True)


@given(st.text(st.characters(codec="utf-8"), max_size=64), *(st.integers(0, 2**63),) * 3)
def test_whatever_the_name_the_numbers_are_right(
    name: str, user: int, system: int, started: int
) -> None:
    line = (
        f"7 ({name}) S 1 7 7 0 -1 4194304 0 0 0 0 {user} {system} 9 9 20 0 1 0 {started} "
        "2990080 421 18446744073709551615\n"
    )
    assert process(line) == Process(7, name, user + system, started, kernel=False)


@pytest.mark.parametrize("name", ["proc/parentheses.stat", "proc/kthreadd.stat"])
def test_cut_anywhere_it_is_an_error(name: str) -> None:
    line = text(name)
    for length in range(len(line)):
        with pytest.raises(MeasureError):
            process(line[:length])


# The guest's name, and its NIC in words.


MAC = "52:54:00:00:00:01"
DOMAIN = f"""\
<domain type="kvm">
  <name>web01</name>
  <devices>
    <interface type="network">
      <mac address="{MAC}"/><source network="default"/><model type="rtl8139"/>
    </interface>
    <interface type="network">
      <mac address="52:54:00:00:00:02"/><source network="default"/><model type="virtio"/>
    </interface>
  </devices>
</domain>
"""


class Guest:
    """A domain that runs as ``text`` says."""

    name = "web01"

    def __init__(self, text: str) -> None:
        self._text = text

    def live(self) -> bytes:
        if not self._text:
            raise ActionError("libvirt does not answer")
        return self._text.encode()


@pytest.mark.parametrize(
    ("text", "mac", "expected"),
    [
        (DOMAIN, MAC, "rtl8139"),
        (DOMAIN, "52:54:00:00:00:02", "virtio"),
        (DOMAIN, "52:54:00:00:00:03", None),
        (DOMAIN, None, None),
        ("", MAC, None),
        ("<domain", MAC, None),
    ],
)
def test_what_a_domain_says(text: str, mac: str | None, expected: str | None) -> None:
    found = guest_nic(Guest(text), "qemu:///system", mac)  # type: ignore[arg-type]
    assert found == expected


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (NicConfig(model="e1000"), "e1000"),
        (NicConfig(model="virtio", queues=1), "virtio"),
        (NicConfig(model="virtio", queues=4), "virtio, 4 queues"),
        (NicConfig(type="vdpa", model="virtio", queues=2), "virtio, vdpa, 2 queues"),
        (NicConfig(type="hostdev"), "hostdev"),
    ],
)
def test_a_nic_in_words(config: NicConfig, words: str) -> None:
    assert nic_words(config) == words
