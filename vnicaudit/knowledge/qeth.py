"""Commands for devices of IBM Z's qeth driver, and adapters of that machine.

Sources: zdev/src/qeth.c of s390-tools: ``layer2`` and ``buffer_count`` can be set only while the
device is offline; chzdev(8) does it in one command and keeps it for the next boot. RoCE Express
adapters have Mellanox's drivers.
"""

from __future__ import annotations

from shlex import quote

from vnicaudit.model.finding import S390
from vnicaudit.model.host_facts import HostFacts, HostLink

_ROCE_DRIVERS = frozenset({"mlx4_en", "mlx4_core", "mlx5_core"})


def set_offline(device: str, name: str, value: int) -> str:
    """The commands that set an attribute which needs the device offline, also for the next boot."""
    device = quote(device)
    return f"chzdev -d -a {device}; chzdev {device} {name}={value}; chzdev -e -a {device}"


def flood_and_learn(device: str) -> str:
    """The commands that let a device take frames for unknown addresses, until the next boot."""
    folder = quote(f"/sys/bus/ccwgroup/drivers/qeth/{device}/vnicc")
    return f"echo 1 > {folder}/flooding; echo 1 > {folder}/learning"


def is_z(facts: HostFacts) -> bool:
    """True for IBM Z and LinuxONE."""
    return facts.z is not None or facts.arch in S390


def is_roce(facts: HostFacts, link: HostLink) -> bool:
    """True for a RoCE Express adapter."""
    return is_z(facts) and link.driver in _ROCE_DRIVERS
