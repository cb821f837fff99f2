"""Guests of a host by the command lines and descriptors of its QEMU processes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vnicaudit.base.deadlines import Deadline
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Section
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.host.readings import SectionReadings
from vnicaudit.platforms.host.visiting.answered import host_in
from vnicaudit.platforms.host.visiting.processes import guests_in

HOST = "ssh://kvm1"
WORDS = (
    "/usr/bin/qemu-system-x86_64", "-machine", "q35,accel=kvm", "-nodefaults",
    "-name", "guest=web", "-netdev", '{"type":"tap","fds":"31:33","vhostfds":"32:34","id":"n0"}',
    "-device", "virtio-net-pci,mq=on,netdev=n0,id=net0,mac=52:54:00:00:00:01", "",
)  # fmt: skip
LINE = "\0".join(("/proc/7/cmdline", *WORDS))
OPEN = """/proc/7/fd:
lrwx------ 1 0 0 64 Nov 29 23:00 0 -> /dev/null
lrwx------ 1 0 0 64 Nov 29 23:00 32 -> /dev/vhost-net
lrwx------ 1 0 0 64 Nov 29 23:00 34 -> /dev/vhost-net
lrwx------ 1 0 0 64 Nov 29 23:00 35 -> /dev/vhost-vsock
"""
TAPS = "/proc/7/fdinfo/31\0iff:\tvnet4\n/proc/7/fdinfo/33\0iff:\tvnet4\n"


def _read(*sections: Section, elsewhere: bool = True) -> list[Domain | ReadError]:
    return list(guests_in(SectionReadings(sections), HOST, elsewhere=elsewhere))


def _domain(*sections: Section) -> Domain:
    (domain,) = _read(*sections)
    assert isinstance(domain, Domain)
    return domain


def test_a_process_is_a_running_guest_whose_nic_has_its_tap() -> None:
    domain = _domain(
        Section("qemu", LINE, 0), Section("qemu descriptors", OPEN), Section("qemu taps", TAPS)
    )
    (nic,) = domain.nics
    assert (domain.name, domain.location.target) == ("web", HOST)
    assert domain.state is not None
    assert domain.state.active is True
    assert nic.target_dev == "vnet4"
    assert nic.running is not None
    assert (nic.running.vhost, nic.running.evidence) == (True, "open descriptors")
    assert nic.running.queues == 2


@pytest.mark.parametrize(
    ("netdev", "end"),
    [
        ('{"type":"vhost-user","chardev":"c0","id":"n0"}', "/run/vhost/vhu0"),
        ("vhost-vdpa,vhostdev=/dev/vhost-vdpa-0,id=n0", "/dev/vhost-vdpa-0"),
    ],
)
def test_a_nic_has_the_socket_or_device_of_its_netdev(netdev: str, end: str) -> None:
    words = list(WORDS)
    words[7:8] = [netdev, "-chardev", "socket,id=c0,path=/run/vhost/vhu0,server=on,wait=off"]
    line = "\0".join(("/proc/7/cmdline", *words))
    (nic,) = _domain(Section("qemu", line, 0)).nics
    assert (nic.source, nic.target_dev) == (end, None)


@pytest.mark.parametrize(
    "device",
    ["virtio-net-pci,netdev=n0,mac=52:54:00:AB:00:01", "virtio-net-pci,netdev=n0,id=x"],
)
def test_a_nic_that_has_no_id_is_joined_by_its_mac(device: str) -> None:
    words = [*WORDS[:7], "tap,id=n0,ifname=tap1,script=no", "-device", device, ""]
    line = "\0".join(("/proc/7/cmdline", *words))
    (nic,) = _domain(Section("qemu", line, 0), Section("qemu taps", TAPS)).nics
    assert nic.target_dev == "tap1"


def test_the_node_of_a_macvtap_is_known_by_its_number() -> None:
    opened = OPEN.replace("32 -> /dev/vhost-net", "31 -> /dev/tap12")
    links = Section("macvtaps", "/sys/class/net/macvtap0/tap12\n/sys/class/net/m1/tap[0-9]*\n")
    sections = (Section("qemu", LINE, 0), Section("qemu descriptors", opened), links)
    (nic,) = _domain(*sections).nics
    assert nic.target_dev == "macvtap0"
    (nic,) = _domain(*sections, Section("qemu elsewhere", "/proc/7/cmdline\n")).nics
    assert nic.target_dev is None


@pytest.mark.parametrize(
    "words",
    [
        "-device e1000e,netdev=n1 -netdev tap,id=n0,ifname=tap1 -device virtio-net-pci,netdev=n0",
        "-device e1000e,netdev=n1 -nic tap,ifname=tap1,model=virtio-net-pci",
    ],
)
def test_nics_without_id_and_mac_are_joined_in_their_order(words: str) -> None:
    line = "\0".join(("/proc/7/cmdline", *WORDS[:6], "-netdev", "user,id=n1", *words.split(), ""))
    first, second = _domain(Section("qemu", line, 0), Section("qemu taps", TAPS)).nics
    assert (first.target_dev, second.target_dev) == (None, "tap1")


@pytest.mark.parametrize("listed", ["", "/proc/7/fd:\n"])
def test_descriptors_that_cannot_be_read_prove_nothing(listed: str) -> None:
    (nic,) = _domain(Section("qemu", LINE, 0), Section("qemu descriptors", listed)).nics
    assert nic.running is not None
    assert (nic.running.vhost, nic.running.evidence) == (True, "command line")


def test_no_vhost_is_open() -> None:
    listed = "/proc/7/fd:\nlrwx------ 1 0 0 64 Nov 29 23:00 0 -> /dev/null\n"
    line = LINE.replace(',"vhostfds":"32:34"', ',"vhost":true')
    (nic,) = _domain(Section("qemu", line, 0), Section("qemu descriptors", listed)).nics
    assert nic.running is not None
    assert (nic.running.vhost, nic.running.evidence) == (False, "open descriptors")


def test_guests_of_other_network_namespaces_are_left_out_of_a_namespace() -> None:
    sections = (Section("qemu", LINE, 0), Section("qemu elsewhere", "/proc/7/cmdline\n"))
    assert len(_read(*sections)) == 1
    assert _read(*sections, elsewhere=False) == []


def test_a_line_that_is_no_qemu_is_nothing() -> None:
    assert _read(Section("qemu", "/proc/8/cmdline\0sudo\0qemu-kvm\0-nodefaults\0", 0)) == []


def test_what_cannot_be_listed_or_understood_is_told() -> None:
    (unlisted,) = _read(Section("qemu", "grep: unrecognized option", 3))
    assert isinstance(unlisted, ReadError)
    assert "could not be listed" in unlisted.message
    hidden, _guest = _read(Section("qemu", LINE, 0), Section("qemu hidden", ""))
    assert isinstance(hidden, ReadError)
    assert "hidepid" in hidden.message
    (broken,) = _read(Section("qemu", LINE.replace("netdev=n0", "netdev=n9"), 0))
    assert isinstance(broken, ReadError)
    assert (broken.file, broken.message[-18:]) == (HOST, " (/proc/7/cmdline)")


PIECES = st.sampled_from([
    "\0", "\n", " -> ", "/dev/vhost-net", "/proc/7/cmdline", "/proc/7/fd:", "/proc/7/fdinfo/31",
    "iff:\tvnet4", "qemu-kvm", "-netdev", "tap,fd=31,id=n0", "-device", "{", "é", "99999999999",
])  # fmt: skip


@given(st.lists(st.lists(PIECES, max_size=12).map("".join), min_size=6, max_size=6))
def test_whatever_a_host_prints_is_read(texts: list[str]) -> None:
    names = ("qemu", "qemu descriptors", "qemu taps", "qemu elsewhere", "device paths",
             "device texts")  # fmt: skip
    sections = [Section(name, text) for name, text in zip(names, texts, strict=True)]
    _read(*sections)
    host_in(SectionReadings(sections), whole=True)


def test_many_lines_take_linear_time() -> None:
    many = 100_000
    sections = (
        Section("qemu", "".join(f"/proc/{pid}/cmdline\0x\n" for pid in range(many))),
        Section("qemu elsewhere", "".join(f"/proc/{pid}/cmdline\n" for pid in range(many))),
        Section("qemu descriptors", "/proc/7/fd:\n" + " -> /dev/vhost-net\n" * many),
        Section("device texts", "/proc/sys/kernel/hostname\0a\n/proc/sys/kernel/arch\0x\n"),
        Section("device paths", "".join(f"/sys/bus/vdpa/devices/{n}\0x\n" for n in range(many))),
    )
    with Deadline(20):
        assert _read(*sections) == []
        assert host_in(SectionReadings(sections), whole=True) is not None
