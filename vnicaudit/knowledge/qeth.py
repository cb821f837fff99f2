"""Commands for devices of IBM Z's qeth driver, and adapters of that machine.

Sources: zdev/src/qeth.c of s390-tools: ``layer2`` and ``buffer_count`` can be set only while the
device is offline; chzdev(8) does it in one command and keeps it for the next boot. With another
``layer2`` a link is a new one, without its settings (``qeth_dev_layer2_store``,
drivers/s390/net/qeth_core_sys.c of Linux, 0aa35a36): that is left to people. RoCE Express
adapters have Mellanox's drivers.
"""

from __future__ import annotations

from shlex import quote

from vnicaudit.model.finding import S390
from vnicaudit.model.host_facts import HostFacts, HostLink

_ROCE_DRIVERS = frozenset({"mlx4_en", "mlx4_core", "mlx5_core"})


SET_WHILE_OFFLINE = """
link=$1 name=$2 value=$3 net=/sys/class/net/$1
device=$(readlink -f "$net/device") && cd "$device" && present=$(cat "$name") || exit
[ "$present" != "$value" ] || exit 0
asked() { # flags that people ask for; those in sysfs are also a bridge's
    for flag in UP PROMISC ALLMULTI; do
        ip link show dev "$link" | grep -q "[<,]$flag[,>]" && echo "$flag"
    done
}
state() {
    cat "$net/mtu" "$net/tx_queue_len"
    asked
    readlink "$net/master"
    ip -br addr show dev "$link"
    for family in -4 -6; do ip "$family" route show table all dev "$link" | sort; done
}
before=$(state) flags=$(asked) kept=$(mktemp -d) || exit
trap 'rm -rf "$kept"' EXIT
mtu=$(cat "$net/mtu") length=$(cat "$net/tx_queue_len") master=$(readlink "$net/master")
ip addr save dev "$link" >"$kept/addr" || exit
for family in -4 -6; do
    ip "$family" route save table all type unicast dev "$link" >"$kept/route$family" || exit
done
printf 0 >online && printf %s "$value" >"$name"
code=$?
printf 1 >online || code=$?
ip link set dev "$link" mtu "$mtu" txqueuelen "$length"
for flag in $flags; do
    case $flag in
        UP) ip link set dev "$link" up ;;
        PROMISC) ip link set dev "$link" promisc on ;;
        ALLMULTI) ip link set dev "$link" allmulticast on ;;
    esac
done
[ "$(readlink "$net/master")" = "$master" ] || ip link set dev "$link" master "${master##*/}"
{ # what came back by itself is refused
    ip addr restore <"$kept/addr"
    for family in -4 -6; do ip "$family" route restore <"$kept/route$family"; done
} 2>/dev/null
waits=0
while [ "$(state)" != "$before" ] && [ "$((waits += 1))" -lt 20 ]; do sleep 0.5; done
[ "$(state)" = "$before" ] || { echo "$link is not as before: $before" >&2; code=1; }
exit "$code"
"""
"""Takes a device offline, sets an attribute and takes it online again; addresses, routes, the port
of a bridge, MTU and promiscuity are recorded before, restored behind it, and compared. Arguments:
link, attribute, value. Everything is kept by ip(8) itself, in its own form (``ip addr save``)."""


def set_offline(device: str, name: str, value: int) -> str:
    """The commands that set an attribute which needs the device offline, also for the next boot."""
    device = quote(device)
    return f"chzdev -d -a {device}; chzdev {device} {name}={value}; chzdev -e -a {device}"


FLOOD_AND_LEARN = ("flooding", "learning")
"""VNIC characteristics by which a device takes frames for unknown addresses. The driver refuses
them while a bridge role is set, and keeps them while it is offline (``qeth_l2_vnicc_set_state`` and
``qeth_l2_vnicc_init``, drivers/s390/net/qeth_l2_main.c of Linux)."""


def flood_and_learn(device: str) -> str:
    """The commands that let a device take frames for unknown addresses, until the next boot."""
    folder = quote(f"/sys/bus/ccwgroup/drivers/qeth/{device}/vnicc")
    return "; ".join(f"echo 1 > {folder}/{name}" for name in FLOOD_AND_LEARN)


def is_z(facts: HostFacts) -> bool:
    """True for IBM Z and LinuxONE."""
    return facts.z is not None or facts.arch in S390


def is_roce(facts: HostFacts, link: HostLink) -> bool:
    """True for a RoCE Express adapter."""
    return is_z(facts) and link.driver in _ROCE_DRIVERS
