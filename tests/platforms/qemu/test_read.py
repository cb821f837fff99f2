"""Whole inputs: recorded here (see data/README.md), or written by hand and called so."""

from pathlib import Path

import pytest

from vnicaudit.errors import TargetError
from vnicaudit.model.host import Version
from vnicaudit.model.nic import RunningQemu
from vnicaudit.platforms.qemu.read import looks_like, read_text

DATA = Path(__file__).parent / "data"
LOG = (DATA / "libvirt-9.0-qemu-7.2.log").read_bytes()
LISTINGS = ("ps-auxww.txt", "ps-ef.txt", "ps-elfL.txt", "ps-eo-pid-args.txt", "pgrep-a.txt")


def _read(data: bytes) -> list[RunningQemu]:
    return list(read_text(data, target="t", file="f"))


def _facts(qemu: RunningQemu) -> list[tuple[object, ...]]:
    return [
        (nic.driver, nic.backend, nic.mac, nic.vhost, nic.queues, nic.rx_queue_size, nic.mtu)
        for nic in qemu.nics
    ]


RECORDED = [
    ("virtio-net-pci", "tap", "52:54:00:c0:f1:01", False, 2, 512, 1450),
    ("rtl8139", "user", "52:54:00:c0:f1:02", False, 1, None, None),
]


def test_log_gives_its_last_start() -> None:
    (qemu,) = _read(LOG)
    assert qemu.name == "vnicaudit-conf-rec, 1"
    assert qemu.uuid == "6f2b8a54-6a1b-4c5e-9d0c-2f6f6b1f7a01"
    assert (qemu.arch, qemu.machine, qemu.type) == ("x86_64", "pc-q35-7.2", "qemu")
    assert (qemu.vcpus, qemu.vcpus_max, qemu.windows_hint, qemu.owner) == (2, 4, True, "nova")
    assert (qemu.qemu_version, qemu.libvirt_version) == (Version(7, 2, 22), Version(9))
    assert (qemu.location.file, qemu.location.line, qemu.stopped) == ("f", 47, True)
    assert _facts(qemu) == RECORDED
    assert {nic.evidence for nic in qemu.nics} == {"log"}
    assert {nic.log_warning for nic in qemu.nics} == {""}


def _outcome(data: bytes) -> str:
    """``read`` when the start was read in full, ``refused`` when it was refused, with a place."""
    try:
        (qemu,) = _read(data)
    except TargetError as error:
        told = "not understood" in error.message and error.file == "f" and error.line
        return "refused" if told else str(error)
    return "read" if _facts(qemu) == RECORDED else repr(qemu)


def test_log_cut_at_every_byte_is_never_guessed_at() -> None:
    """From the header of the second start on: refused until all its arguments are there."""
    second = LOG.index(b"starting up", 200)
    end = LOG.index(b"-msg timestamp=on\n", second) + len(b"-msg timestamp=on\n")
    for size in range(second + 20, len(LOG)):
        assert _outcome(LOG[:size]) == ("refused" if size < end else "read"), size


def test_a_log_that_ends_in_its_first_start_says_where() -> None:
    with pytest.raises(TargetError, match="the log ends inside QEMU's arguments") as caught:
        _read(LOG[: LOG.index(b'"vectors"')].rsplit(b"-netdev", 1)[0] + b"-no-reboot")
    assert caught.value.line == 2


def test_log_of_2015() -> None:
    """Written by hand in the style of libvirt 1.2: all arguments on one line."""
    (qemu,) = _read((DATA / "libvirt-1.2-by-hand.log").read_bytes())
    assert (qemu.name, qemu.type, qemu.arch, qemu.vcpus) == ("web01", "kvm", "x86_64", 2)
    assert (qemu.qemu_version, qemu.libvirt_version) == (Version(2, 1, 2), Version(1, 2, 9))
    assert (qemu.virtio_disk, qemu.stopped, qemu.owner) == (True, False, "libvirt")
    assert _facts(qemu) == [("virtio-net-pci", "tap", "52:54:00:aa:bb:01", True, 2, 256, None)]


def test_log_with_a_warning() -> None:
    (qemu,) = _read((DATA / "warning-by-hand.log").read_bytes())
    (nic,) = qemu.nics
    assert nic.vhost is False
    assert nic.log_warning is not None
    assert nic.log_warning.endswith("Unable to open vhost-net. Opened so far 0, requested 1")


def test_rotated_log_has_no_start() -> None:
    data = (DATA / "rotated-by-hand.log").read_bytes()
    assert looks_like(data) == "log"
    with pytest.raises(TargetError, match="without a start of QEMU") as caught:
        _read(data)
    assert (caught.value.file, caught.value.line) == ("f", 1)


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name: str) -> None:
    data = (DATA / name).read_bytes()
    assert looks_like(data) == "ps"
    libvirt, bare, tap = _read(data)
    assert (libvirt.pid, libvirt.name) == (2623, "vnicaudit-conf-rec, 1")
    assert (libvirt.owner, libvirt.windows_hint) == ("nova", True)
    assert _facts(libvirt) == RECORDED
    assert (bare.pid, bare.name, bare.owner) == (2645, "bare", "qemu")
    assert _facts(bare) == [("e1000", "user", "52:54:00:c0:f1:03", False, 1, None, None)]
    assert (tap.pid, tap.name, tap.machine, tap.type) == (2646, None, "q35", "qemu")
    assert _facts(tap) == [("virtio-net-pci", "tap", "52:54:00:c0:f1:04", False, 1, 256, None)]


def test_listing_gives_the_line_of_each_process() -> None:
    found = _read((DATA / "ps-ef.txt").read_bytes())
    assert [qemu.location.line for qemu in found] == [3, 4, 5]


def test_listing_cut_at_the_width_of_a_terminal() -> None:
    with pytest.raises(
        TargetError, match=r"cut its lines at 120 columns.*\(and 2 more\)"
    ) as caught:
        _read((DATA / "ps-aux-120-columns.txt").read_bytes())
    assert caught.value.line == 3


def test_whole_lines_of_equal_length_are_not_cut() -> None:
    """Two guests of libvirt with names of one length; its last option shows that nothing is cut."""
    line = (
        "qemu 26{0} 1 0 10:00 ? 00:00:07 /usr/bin/qemu-system-x86_64 -name guest=vm-{0} "
        "-nodefaults -netdev user,id=n -device e1000,netdev=n,mac=52:54:00:00:00:{0} "
        "-msg timestamp=on"
    )
    listing = "\n".join([line.format("01"), line.format("02")]).encode()
    assert [qemu.name for qemu in _read(listing)] == ["vm-01", "vm-02"]
    with pytest.raises(TargetError, match=r"cut its lines at .*\(and 1 more\)"):
        _read(listing.replace(b" -msg timestamp=on", b""))


@pytest.mark.parametrize(("name", "count"), [("cmdline-libvirt", 2), ("cmdline-nic", 1)])
def test_copy_of_proc_cmdline(name: str, count: int) -> None:
    data = (DATA / name).read_bytes()
    assert looks_like(data) == "command"
    (qemu,) = _read(data)
    assert len(qemu.nics) == count


def test_cmdline_cut_by_an_old_kernel() -> None:
    data = b"/usr/bin/kvm\0-m\x00512\0-append\0" + b"x" * 5000
    with pytest.raises(TargetError, match="cut at 4096 bytes"):
        _read(data[:4096])


def test_document() -> None:
    """Prose, package installation and a grep are no command lines; three lines are."""
    data = (DATA / "document-by-hand.md").read_bytes()
    assert looks_like(data) == "command"
    tap, arm, partly = _read(data)
    assert (tap.location.line, tap.type, tap.vcpus) == (7, "kvm", 4)
    assert _facts(tap) == [("virtio-net-pci", "tap", "52:54:00:aa:bb:03", True, 4, 256, None)]
    assert tap.nics[0].tx_queue_size == 1024
    assert (arm.location.line, arm.arch, arm.machine) == (11, "aarch64", "virt")
    assert arm.gaps == (
        "no NIC is given, so QEMU adds virtio-net-pci; but these may not be all its arguments: "
        "not judged",
    )
    assert (partly.location.line, partly.nics, partly.vcpus) == (12, (), None)


def test_good_ones_are_given_before_the_bad_one_is_told() -> None:
    text = (
        b"$ qemu-system-x86_64 -nic user,model=e1000 -name first\n"
        b"$ qemu-system-x86_64 -netdev user,id=n -device e1000,netdev=typo -name second\n"
        b"$ qemu-system-x86_64 -nic user,model=e1000 -name third\n"
    )
    found = read_text(text, target="t", file=None)
    assert [next(found).name, next(found).name] == ["first", "third"]
    with pytest.raises(TargetError, match="netdev 'typo', which does not exist") as caught:
        next(found)
    assert (caught.value.file, caught.value.line) == ("t", 2)


def test_a_command_of_libvirts_log_without_nodefaults_is_cut() -> None:
    log = (
        b"2024-06-03 11:02:14.211+0000: starting up libvirt version: 10.0.0, qemu version: 8.2.0\n"
        b"LC_ALL=C \\\n/usr/libexec/qemu-kvm \\\n-name guest=a \\\n-S \\\n-accel kvm\n"
    )
    with pytest.raises(TargetError, match="its -nodefaults is missing"):
        next(read_text(log, target="t", file=None))


def test_libvirts_command_line_without_nodefaults_is_cut() -> None:
    line = b"/usr/bin/qemu-system-x86_64 -name guest=a -object secret,id=masterKey0,file=/k -m 5\n"
    with pytest.raises(TargetError, match="its -nodefaults is missing"):
        _read(line)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\0\1\2\xff",
        b"<domain><devices><emulator>/usr/bin/qemu-system-x86_64</emulator></devices></domain>",
        b"[libvirt]\nvirt_type = kvm\n# use qemu-kvm -m for tests\nimages_type = raw\n",
        b"Run qemu-system-x86_64 -nographic to begin.\n",
        b"$ yum install qemu-kvm -y\n",
        b"$ ls -l /usr/libexec/qemu-kvm -m\n",
        b"qemu-system-x86_64 --version\n",
        b"kvm: exiting hardware virtualization\n",
        b"* qemu-system-x86_64 -m 512\n",
    ],
)
def test_what_names_qemu_and_runs_none(text: bytes) -> None:
    assert looks_like(text) is None
    assert _read(text) == []


def test_a_listing_is_known_by_its_header_alone() -> None:
    """QEMU may stand far below the part of a file that is looked at."""
    head = (
        b"USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND\nroot 1 0 0 1 1 ? S 1 0:01 init\n"
    )
    assert looks_like(head) == "ps"
    assert _read(head) == []


def test_unquoted_json_pasted_without_columns() -> None:
    """``tr '\\0' ' ' < /proc/PID/cmdline``."""
    data = (DATA / "cmdline-libvirt").read_bytes().replace(b"\0", b" ")
    assert looks_like(data) == "command"
    (qemu,) = _read(data)
    assert _facts(qemu) == RECORDED
