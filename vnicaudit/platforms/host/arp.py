"""The ARP table of this machine: MAC addresses and the IP addresses for which they answered.

``/proc/net/arp`` (fs/proc in Linux, net/ipv4/arp.c ``arp_format_neigh_entry``). libvirt reads the
same table by netlink, which fails on new kernels: libvirt 9.0 on Linux 6.18 says "wrong nlmsg len".
"""

from __future__ import annotations

from vnicaudit.platforms.host.tree import Tree

_COMPLETE = 0x2
"""ATF_COM: the entry is complete, since the address was answered (include/uapi/linux/if_arp.h)."""
_COLUMNS = 6
_MANY = 65536


def read_arp(tree: Tree) -> dict[str, tuple[str, ...]]:
    """MAC -> IPv4 addresses; empty if there is no such table."""
    return arp_of(tree.text("/proc/net/arp") or "")


def arp_of(text: str) -> dict[str, tuple[str, ...]]:
    """MAC -> IPv4 addresses, from the table's text. Other lines are skipped."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines()[1:_MANY]:
        words = line.split()
        if len(words) != _COLUMNS or not words[2].startswith("0x"):
            continue
        try:
            complete = int(words[2], 16) & _COMPLETE
        except ValueError:
            continue
        if complete:
            mac = words[3].lower()
            found[mac] = (*found.get(mac, ()), words[0])
    return found
