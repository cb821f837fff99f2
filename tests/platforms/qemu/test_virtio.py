"""What the properties of a virtio NIC switch off, and the socket it is on, in libvirt's terms."""

import shlex

import pytest

from tests.rows import rows, rows_of_tuples
from vnicaudit.model.nic import RunningNic
from vnicaudit.platforms.qemu.arguments import parse
from vnicaudit.platforms.qemu.nics import nics


def _nic(device: str, *more: str) -> RunningNic:
    words = [*shlex.split(" ".join(more)), "-device", f"virtio-net-pci,{device}"]
    (nic,) = nics(parse(words), arch="x86_64", machine="q35", with_default=False).nics
    return nic


@rows_of_tuples
def test_offloads(device: str, host: tuple[str, ...], guest: tuple[str, ...]) -> None:
    nic = _nic(device)
    assert (nic.host_off, nic.guest_off) == (host, guest)


def test_a_switch_that_is_given_away_from_the_device() -> None:
    nic = _nic("id=net0", "-global virtio-net-pci.csum=off -set device.net0.ioeventfd=off")
    assert (nic.host_off, nic.ioeventfd, nic.event_idx) == (("csum",), "off", None)


@pytest.mark.parametrize(
    ("device", "txmode"),
    [("tx=timer", "timer"), ("tx=bh", "iothread"), ("tx=x", None), ("id=n", None)],
)
def test_transmission(device: str, txmode: str | None) -> None:
    assert _nic(device).txmode == txmode


NETDEV = "-netdev vhost-user,id=n,chardev=c"


@rows
def test_the_socket_of_vhost_user(
    chardev: str, mode: str | None, ovs: bool, reconnect: str | None
) -> None:
    for line in (f"-chardev {chardev} {NETDEV}", f"{NETDEV} -chardev {chardev}"):
        nic = _nic("netdev=n", line.replace("'", ""))
        assert (nic.source_mode, nic.ovs_socket, nic.reconnect) == (mode, ovs, reconnect)


def test_a_tap_has_no_such_socket() -> None:
    chardev = "-chardev socket,id=c,path=/run/openvswitch/dpdk0"
    nic = _nic("netdev=n", chardev, "-netdev tap,id=n,chardev=c")
    assert (nic.source_mode, nic.ovs_socket, nic.reconnect) == (None, False, None)
