"""Files below a root, what bounds a guest's frames there, and what cannot be told."""

import gzip
from pathlib import Path

from tests.platforms.host.trees import TAP, made
from vnicaudit.model.nic import PathMtu
from vnicaudit.platforms.host.local import Tree, read_path_mtu


def test_text_is_read_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("flags : vmx\n")
    assert Tree(str(tmp_path)).text("/proc/cpuinfo") == "flags : vmx\n"


def test_packed_text_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "config.gz").write_bytes(gzip.compress(b"CONFIG_VHOST_NET=m\n"))
    assert Tree(str(tmp_path)).text("/config.gz") == "CONFIG_VHOST_NET=m\n"


def test_damaged_packed_text_cannot_be_told(tmp_path: Path) -> None:
    (tmp_path / "short.gz").write_bytes(gzip.compress(b"CONFIG_VHOST_NET=m\n")[:-9])
    (tmp_path / "other.gz").write_bytes(b"CONFIG_VHOST_NET=m\n")
    damaged = bytearray(gzip.compress(bytes(range(256)) * 64))
    damaged[20:40] = b"\xff" * 20
    (tmp_path / "damaged.gz").write_bytes(damaged)
    tree = Tree(str(tmp_path))
    assert [tree.text(f"/{name}.gz") for name in ("short", "other", "damaged")] == [None] * 3


def test_a_file_that_is_too_large_cannot_be_told(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(17 * 1024 * 1024)
    assert Tree(str(tmp_path)).text("/huge") is None


def test_missing_is_not_unknown(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to("circle")
    tree = Tree(str(tmp_path))
    assert tree.exists("/file") is True
    assert tree.exists("/missing") is False
    assert tree.exists("/file/below") is False
    assert tree.exists("/circle") is None


def test_names_and_links(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").symlink_to("../../bus/vdpa/drivers/vhost_vdpa")
    tree = Tree(str(tmp_path))
    assert tree.names("/") == ("a", "b")
    assert tree.names("/missing") == ()
    assert tree.link_name("/a") == "vhost_vdpa"
    assert tree.link_name("/b") is None


def test_the_narrowest_uplink_counts_and_other_guests_do_not(tmp_path: Path) -> None:
    tree = made(
        tmp_path,
        vnet0=TAP,
        vnet1={**TAP, "mtu": "1300\n"},
        veth0={"mtu": "1200\n", "uevent": "INTERFACE=veth0\n", "master": "br0"},
        eth0={"mtu": "1500\n", "device": "", "master": "br0"},
        bond0={"mtu": "1400\n", "bonding": "", "master": "br0"},
        vlan7={"mtu": "1450\n", "uevent": "DEVTYPE=vlan\nINTERFACE=vlan7\n", "master": "br0"},
    )
    assert read_path_mtu(tree, "vnet0") == PathMtu(tap=9000, uplink=1400)


def test_a_tap_that_is_no_port_of_a_bridge(tmp_path: Path) -> None:
    tree = made(tmp_path, vnet0={"mtu": "1500\n"}, ovs0={"mtu": "1500\n", "master": "ovs-system"})
    assert read_path_mtu(tree, "vnet0") == PathMtu(tap=1500)
    assert read_path_mtu(tree, "ovs0") == PathMtu(tap=1500)


def test_mtu_that_cannot_be_told(tmp_path: Path) -> None:
    tree = made(tmp_path, vnet0={"mtu": "many\n"}, vnet1={"mtu": "0\n"})
    for name in ("vnet0", "vnet1", "vnet9", "../vnet0", ".", "a/b"):
        assert read_path_mtu(tree, name) is None
