"""Network interfaces of a host, as far as they limit the size of a guest's frames.

Source: Documentation/ABI/testing/sysfs-class-net of Linux; only tun devices have ``tun_flags``
(drivers/net/tun.c).
"""

from __future__ import annotations

from vnicaudit.model.nic import PathMtu
from vnicaudit.platforms.host.tree import Tree

_NET = "/sys/class/net"
_MOST_PORTS = 4096
_LARGEST = 65_535


def read_path_mtu(tree: Tree, tap: str) -> PathMtu | None:
    """The MTUs (bytes) on the path of a NIC's frames from its tap on; None if there is no such
    interface."""
    if "/" in tap or tap.startswith("."):
        return None
    own = _mtu(tree, tap)
    if own is None:
        return None
    bridge = tree.link_name(f"{_NET}/{tap}/master")
    return PathMtu(own, None if bridge is None else _uplink(tree, bridge))


def _uplink(tree: Tree, bridge: str) -> int | None:
    """The smallest MTU of the ports that connect a Linux bridge to the outside: adapters, bonds and
    VLANs."""
    ports = tree.names(f"{_NET}/{bridge}/brif")[:_MOST_PORTS]
    found = (_mtu(tree, port) for port in ports if _leaves(tree, port))
    return min((mtu for mtu in found if mtu is not None), default=None)


def _leaves(tree: Tree, port: str) -> bool:
    if tree.exists(f"{_NET}/{port}/tun_flags"):
        return False
    if tree.exists(f"{_NET}/{port}/device") or tree.exists(f"{_NET}/{port}/bonding"):
        return True
    return "DEVTYPE=vlan" in (tree.text(f"{_NET}/{port}/uevent") or "").split()


def _mtu(tree: Tree, name: str) -> int | None:
    text = (tree.text(f"{_NET}/{name}/mtu") or "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 5):
        return None
    return int(text) if 0 < int(text) <= _LARGEST else None
