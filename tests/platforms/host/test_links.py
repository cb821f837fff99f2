"""What bounds a guest's frames on a host."""

from pathlib import Path

from vnicaudit.model.nic import PathMtu
from vnicaudit.platforms.host.tree import Tree, read_path_mtu


def made(root: Path, **interfaces: dict[str, str]) -> Tree:
    """A host with these interfaces: file below /sys/class/net/NAME -> content."""
    for name, files in interfaces.items():
        folder = root / "sys/class/net" / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            if file == "master":
                (folder / "master").symlink_to(f"../{text}")
                ports = root / "sys/class/net" / text / "brif"
                ports.mkdir(parents=True, exist_ok=True)
                (ports / name).mkdir()
            else:
                (folder / file).write_text(text)
    return Tree(str(root))


TAP = {"mtu": "9000\n", "tun_flags": "0x5002\n", "master": "br0"}


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


def test_what_cannot_be_told(tmp_path: Path) -> None:
    tree = made(tmp_path, vnet0={"mtu": "many\n"}, vnet1={"mtu": "0\n"})
    for name in ("vnet0", "vnet1", "vnet9", "../vnet0", ".", "a/b"):
        assert read_path_mtu(tree, name) is None
