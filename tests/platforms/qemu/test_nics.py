"""Arguments -> NICs. One line of arguments per case; what is asserted is what the guest has."""

import shlex

import pytest

from tests.rows import rows, rows_of_tuples
from vnicaudit.model.nic import RunningNic
from vnicaudit.platforms.qemu.arguments import parse
from vnicaudit.platforms.qemu.nics import NicsFound, nics


def _found(line: str, *, arch: str | None = "x86_64", machine: str | None = "q35") -> NicsFound:
    return nics(parse(shlex.split(line)), arch=arch, machine=machine, with_default=True)


def _one(line: str, *, arch: str | None = "x86_64", machine: str | None = "q35") -> RunningNic:
    (nic,) = _found(line, arch=arch, machine=machine).nics
    return nic


def test_device_and_netdev_in_any_order() -> None:
    before = _one("-netdev tap,id=n -device virtio-net-pci,netdev=n,mac=52:54:00:AA:00:01,id=net0")
    after = _one("-device virtio-net-pci,netdev=n,mac=52-54-00-aa-00-01,id=net0 -netdev tap,id=n")
    assert before == after
    assert before == RunningNic(
        driver="virtio-net-pci",
        model="virtio",
        backend="tap",
        mac="52:54:00:aa:00:01",
        id="net0",
        vhost=False,
        queues=1,
        rx_queue_size=256,
        tx_queue_size=256,
        mq=False,
        backend_queues=1,
    )


@rows
def test_vhost_by_backend(netdev: str, vhost: bool | None) -> None:
    nic = _one(f"-netdev {netdev},id=n -device virtio-net-pci,netdev=n")
    assert nic.vhost is vhost
    assert nic.backend == netdev.split(",")[0]


def test_vhost_is_in_json_too() -> None:
    nic = _one(
        """-netdev '{"type":"tap","fd":"9","vhost":true,"vhostfd":"10","id":"n"}' """
        """-device '{"driver":"virtio-net-ccw","netdev":"n","devno":"fe.0.0000"}'"""
    )
    assert (nic.driver, nic.model, nic.vhost) == ("virtio-net-ccw", "virtio", True)


def test_an_emulated_nic_uses_no_vhost_even_when_its_tap_has_it() -> None:
    nic = _one("-netdev tap,id=n,vhost=on,queues=4 -device e1000,netdev=n")
    assert (nic.vhost, nic.queues, nic.rx_queue_size, nic.mq) == (False, 1, None, None)


@rows
def test_queue_pairs_the_guest_can_use(netdev: str, device: str, queues: int | None) -> None:
    nic = _one(f"-netdev {netdev},id=n -device virtio-net-pci,netdev=n,{device}")
    assert nic.queues == queues


def test_rings_packed_and_mtu() -> None:
    nic = _one(
        "-netdev tap,id=n -device virtio-net-pci,netdev=n,rx_queue_size=1024,tx_queue_size=0x200,"
        "packed=on,host_mtu=9000"
    )
    assert (nic.rx_queue_size, nic.tx_queue_size, nic.settings.packed, nic.mtu) == (
        1024,
        512,
        "on",
        9000,
    )


def test_globals_and_set_change_a_device() -> None:
    """``-global`` is a default, which the device itself overrides; ``-set`` overrides that."""
    nic = _one(
        "-netdev tap,id=n -global virtio-net-pci.rx_queue_size=1024 "
        "-global driver=virtio-net-device,property=packed,value=on "
        "-global virtio-net-pci.tx_queue_size=1024 "
        "-device virtio-net-pci,netdev=n,id=a,tx_queue_size=512 -set device.a.host_mtu=1400"
    )
    assert (nic.rx_queue_size, nic.tx_queue_size, nic.settings.packed, nic.mtu) == (
        1024,
        512,
        "on",
        1400,
    )


def test_one_liner() -> None:
    nic = _one("-nic tap,model=virtio-net-pci,vhost=on,mac=52:54:00:00:00:02,id=x")
    assert (nic.driver, nic.backend, nic.vhost, nic.mac, nic.id) == (
        "virtio-net-pci", "tap", True, "52:54:00:00:00:02", "x",
    )  # fmt: skip


@rows
def test_the_machines_own_nic(arch: str, machine: str | None, driver: str) -> None:
    for line in ("-m 512", "-nic user", "-nic model=" + driver):
        nic = _one(line, arch=arch, machine=machine)
        assert (nic.driver, nic.backend) == (driver, "user")


@pytest.mark.parametrize(
    "line", ["-nodefaults", "-nic none", "-net none", "-netdev user,id=n", "-net user"]
)
def test_what_switches_it_off(line: str) -> None:
    assert _found(line).nics == ()


def test_a_nic_given_as_a_device_does_not_switch_it_off() -> None:
    """Measured: ``qemu-system-x86_64 -device virtio-net-pci`` of QEMU 7.2 has two NICs."""
    found = _found("-device virtio-net-pci").nics
    assert [nic.driver for nic in found] == ["virtio-net-pci", "e1000e"]
    assert found[0].backend is None
    assert found[0].vhost is None


@pytest.mark.parametrize("machine", ["microvm", "none", "ast2600-evb"])
def test_boards_without_a_known_nic_get_none(machine: str) -> None:
    assert _found("-m 512", machine=machine).nics == ()


def test_no_conclusion_from_silence_where_arguments_may_be_missing() -> None:
    found = nics(parse(["-m", "512"]), arch="x86_64", machine="pc", with_default=False)
    assert found.nics == ()


def test_hub_of_net_options() -> None:
    nic = _one("-net nic,model=virtio,macaddr=52:54:00:00:00:03 -net tap,ifname=tap0")
    assert (nic.driver, nic.backend, nic.vhost) == ("virtio-net-pci", "hubport", False)


def test_hubs_by_vlan_and_hubs_of_many() -> None:
    first, second = _found(
        "-net nic,vlan=1,model=e1000 -net user,vlan=1 "
        "-net nic,vlan=2,model=virtio -net tap,vlan=2,vhost=on -net user,vlan=2"
    ).nics
    assert (first.driver, first.backend) == ("e1000", "user")
    assert (second.driver, second.backend, second.vhost) == ("virtio-net-pci", "hubport", False)


def test_virtio_on_s390x_is_ccw() -> None:
    nic = _one("-net nic,model=virtio -net user", arch="s390x", machine=None)
    assert (nic.driver, nic.model) == ("virtio-net-ccw", "virtio")


def test_arm_board_as_libvirt_writes_it() -> None:
    """qemuBuildLegacyNicStr: ``-netdev`` with ``-net nic,netdev=``."""
    nic = _one(
        "-netdev user,id=hostnet0 -net nic,macaddr=52:54:00:09:a4:37,netdev=hostnet0,"
        "model=lan9118,id=net0",
        arch="armv7l",
        machine="vexpress-a9",
    )
    assert (nic.driver, nic.backend, nic.mac, nic.id, nic.vhost) == (
        "lan9118", "user", "52:54:00:09:a4:37", "net0", False,
    )  # fmt: skip


def test_assigned_devices_are_listed_and_mediated_ones_are_not() -> None:
    nic = _one("-nodefaults -device vfio-pci,host=0000:3b:10.2,id=hostdev0 "
               "-device vfio-pci,sysfsdev=/sys/bus/mdev/devices/x,id=hostdev1")  # fmt: skip
    assert nic == RunningNic("vfio-pci", "vfio-pci", "vfio", id="hostdev0")


def test_other_devices_are_no_nics() -> None:
    assert (
        _found("-nodefaults -device virtio-blk-pci,drive=d -device isa-serial -device ").nics == ()
    )


def test_an_unknown_device_on_a_netdev_is_a_nic() -> None:
    assert _one("-netdev user,id=n -device idontexist,netdev=n").model == "idontexist"


@rows
def test_says_what_shows_that_arguments_are_missing(line: str, problem: str) -> None:
    assert _found(line).problem == problem


def test_a_nic_whose_model_cannot_be_told_is_a_problem() -> None:
    found = _found("-net nic -net user", arch=None, machine=None)
    assert found.problem == "-net names no model=, and the machine's default NIC is unknown"
    assert found.nics == ()


def _nic(device: str, *more: str) -> RunningNic:
    words = [*shlex.split(" ".join(more)), "-device", f"virtio-net-pci,{device}"]
    (nic,) = nics(parse(words), arch="x86_64", machine="q35", with_default=False).nics
    return nic


@rows_of_tuples
def test_offloads(device: str, host: tuple[str, ...], guest: tuple[str, ...]) -> None:
    nic = _nic(device)
    assert (nic.settings.host_off, nic.settings.guest_off) == (host, guest)


def test_a_switch_that_is_given_away_from_the_device() -> None:
    nic = _nic("id=net0", "-global virtio-net-pci.csum=off -set device.net0.ioeventfd=off")
    assert (nic.settings.host_off, nic.settings.ioeventfd, nic.settings.event_idx) == (
        ("csum",),
        "off",
        None,
    )


@pytest.mark.parametrize(
    ("device", "txmode"),
    [("tx=timer", "timer"), ("tx=bh", "iothread"), ("tx=x", None), ("id=n", None)],
)
def test_transmission(device: str, txmode: str | None) -> None:
    assert _nic(device).settings.txmode == txmode


NETDEV = "-netdev vhost-user,id=n,chardev=c"


@rows
def test_the_socket_of_vhost_user(
    chardev: str, mode: str | None, ovs: bool, reconnect: str | None
) -> None:
    for line in (f"-chardev {chardev} {NETDEV}", f"{NETDEV} -chardev {chardev}"):
        nic = _nic("netdev=n", line.replace("'", ""))
        assert (nic.settings.source_mode, nic.settings.ovs_socket, nic.settings.reconnect) == (
            mode,
            ovs,
            reconnect,
        )


def test_a_tap_has_no_such_socket() -> None:
    chardev = "-chardev socket,id=c,path=/run/openvswitch/dpdk0"
    nic = _nic("netdev=n", chardev, "-netdev tap,id=n,chardev=c")
    assert (nic.settings.source_mode, nic.settings.ovs_socket, nic.settings.reconnect) == (
        None,
        False,
        None,
    )
