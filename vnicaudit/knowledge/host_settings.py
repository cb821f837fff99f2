"""Settings of a host that decide how fast its guests' NICs are, and the command that sets each
until the next boot.

Sources: ethtool(8), ip-link(8), sysctl(8), ovs-vswitchd.conf.db(5), and Documentation/networking/
scaling.rst of Linux (RPS, RFS, XPS in sysfs).
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Literal

import msgspec

SettingKind = Literal[
    "feature", "private-flag", "ring", "channels", "mtu", "queue-length", "rps", "rps-flows",
    "xps", "sysctl", "ovs", "ovs-interface",
]  # fmt: skip

SHORT = {
    "rx-checksumming": "rx",
    "tx-checksumming": "tx",
    "scatter-gather": "sg",
    "tcp-segmentation-offload": "tso",
    "generic-segmentation-offload": "gso",
    "generic-receive-offload": "gro",
    "large-receive-offload": "lro",
}
"""Long names of features, as `ethtool -k` prints them, and the short ones that `-K` takes."""


class HostSetting(msgspec.Struct, frozen=True):
    """One setting: its kind, the ``device`` it is of (empty: the host's), and its ``name`` among
    those of its kind: a feature, a ring (``rx``), a queue (``rx-0``), a key. Empty where a device
    has only one."""

    kind: SettingKind
    device: str = ""
    name: str = ""


_COMMANDS: dict[SettingKind, str] = {
    "feature": "ethtool -K {device} {name} {value}",
    "private-flag": "ethtool --set-priv-flags {device} {name} {value}",
    "ring": "ethtool -G {device} {name} {value}",
    "channels": "ethtool -L {device} {name} {value}",
    "mtu": "ip link set {device} mtu {value}",
    "queue-length": "ip link set {device} txqueuelen {value}",
    "rps": "echo {value} > /sys/class/net/{device}/queues/{name}/rps_cpus",
    "rps-flows": "echo {value} > /sys/class/net/{device}/queues/{name}/rps_flow_cnt",
    "xps": "echo {value} > /sys/class/net/{device}/queues/{name}/xps_cpus",
    "sysctl": "sysctl -w {name}={value}",
    "ovs": "ovs-vsctl set Open_vSwitch . other_config:{name}={value}",
    "ovs-interface": "ovs-vsctl set Interface {device} {name}={value}",
}


def pin_emulator(guest: str, cpus: str) -> str:
    """The command that moves a guest's emulator threads, and with them its vhost workers
    (virsh(1), *emulatorpin*)."""
    return f"virsh emulatorpin {quote(guest)} {cpus}"


def command_for(setting: HostSetting, value: str) -> str:
    """The command that sets it, as root, until the next boot (in Open vSwitch: for good)."""
    name = SHORT.get(setting.name, setting.name) if setting.kind == "feature" else setting.name
    return _COMMANDS[setting.kind].format(
        device=quote(setting.device), name=quote(name), value=quote(value)
    )


def features_on(device: str, names: Sequence[str]) -> str:
    """The command that switches these features on."""
    return f"ethtool -K {quote(device)} " + " ".join(f"{SHORT[name]} on" for name in names)
