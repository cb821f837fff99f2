"""How a Linux guest names its interfaces, by distribution.

* systemd derives names from the address of a NIC since version 197, unless the distribution
  switches that off (systemd.net-naming-scheme(7)); for virtio NICs only since version 226 ("udev:
  net_id - support predictable ifnames on virtio buses", pull request 1119), on s390x's channel
  subsystem since 233 (pull request 5357). In between ``ens3`` becomes ``eth0`` when the model
  becomes virtio. Red Hat Enterprise Linux 7 has the newer code, but uses it only with
  ``net.ifnames=1`` on the kernel's command line (Red Hat solution 3219091).
* Others keep the kernel's names, which follow the order in which drivers find NICs.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from vnicaudit.knowledge.machines import is_q35
from vnicaudit.knowledge.pci_ids import model_of
from vnicaudit.knowledge.slots import ccw_number, is_i440fx, pci_slot
from vnicaudit.knowledge.systems import System
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.guest_words import S390, VIRTIO
from vnicaudit.model.nic import Nic

Scheme = Literal["systemd", "kernel"]

_Version = tuple[int, int]


class _FirstVersions(NamedTuple):
    """The first versions in which systemd names NICs, virtio NICs, and those on ccw."""

    any: _Version
    virtio: _Version
    ccw: _Version


_ALWAYS = _FirstVersions((0, 0), (0, 0), (0, 0))
_RED_HAT = _FirstVersions((7, 0), (8, 0), (8, 0))
_SINCE = {
    "almalinux": _ALWAYS,
    "archlinux": _ALWAYS,
    "centos": _RED_HAT,
    "centos-stream": _ALWAYS,
    "debian": _FirstVersions((9, 0), (9, 0), (10, 0)),
    "eurolinux": _RED_HAT,
    "fedora": _FirstVersions((19, 0), (24, 0), (26, 0)),
    "ol": _RED_HAT,
    "rhel": _RED_HAT,
    "rhel-atomic": _RED_HAT,
    "rocky": _ALWAYS,
    "scientificlinux": _RED_HAT,
    "ubuntu": _FirstVersions((15, 10), (16, 4), (18, 4)),
}
"""Distributions that leave it on, with their first versions whose systemd does it."""

_HIGHEST_INDEX = 16383
"""systemd ignores higher indexes, which firmware makes up (``ONBOARD_14BIT_INDEX_MAX``)."""


def is_virtio(nic: Nic) -> bool:
    """True if the guest needs a virtio driver for this NIC."""
    return model_of(nic) in VIRTIO


def scheme_of(system: System, nic: Nic) -> Scheme | None:
    """The program that names such a NIC in a guest with its distribution's default settings; None
    if that is unknown."""
    since = _SINCE.get(system.distribution or "")
    if since is None or system.version is None:
        return None
    first = since.ccw if nic.declared.address_type == "ccw" else since.any
    if is_virtio(nic):
        first = max(first, since.virtio)
    return "systemd" if system.version >= first else "kernel"


def name_by_address(nic: Nic, neighbours: tuple[Nic, ...], domain: DomainConfig) -> str | None:
    """The name that systemd gives the NIC; None if the definition does not tell.

    Measured with systemd 257 (and its schemes v239 to v255) in guests of QEMU 7.2: ``ens3`` at
    0000:00:03.0 of ``pc``, whose slots can be hot-plugged (with ACPI on), ``enp0s3`` of ``q35``,
    whose slots on bus 0 cannot; ``eno7`` with ``<acpi index='7'/>`` on ``pc``; ``enc1`` for
    0.0.0001 on s390x. Behind ports and bridges the name contains the guest's number of the bus.
    """
    if domain.arch in S390:
        number = ccw_number(nic)
        return None if number is None else f"enc{number.lstrip('.0') or '0'}"
    slot = pci_slot(nic)
    if slot is None or not slot.on_root_bus or slot.function or _has_shared_slot(nic, neighbours):
        return None
    if is_i440fx(domain):
        return f"ens{slot.slot}" if nic.declared.acpi is None else _onboard(nic.declared.acpi)
    return f"enp0s{slot.slot}" if is_q35(domain) and nic.declared.acpi is None else None


def _onboard(index: str) -> str | None:
    number = int(index) if index.isascii() and index.isdigit() and len(index) < 6 else 0
    return f"eno{number}" if 0 < number <= _HIGHEST_INDEX else None


def _has_shared_slot(nic: Nic, neighbours: tuple[Nic, ...]) -> bool:
    """True if several functions share the slot: each then has its function number in its name."""
    slot = pci_slot(nic)
    others = (pci_slot(other) for other in neighbours if other.index != nic.index)
    return slot is not None and any(
        other is not None and other._replace(function=0) == slot._replace(function=0)
        for other in others
    )
