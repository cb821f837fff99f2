"""Sizes of virtio rings, in descriptors.

Source: QEMU's ``virtio_net_max_tx_queue_size`` and ``virtio_net_device_realize``; measured with
7.2.22 and 10.0.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vnicaudit.model.nova_options import as_number

if TYPE_CHECKING:
    from vnicaudit.model.nic import Behind, NicConfig

# Settings of a compute node that disable multiqueue for its servers.
#
# Source: Nova 34.0.0, ``virt/libvirt/vif.py``: queues are set only with KVM (``get_base_config``),
# and at most ``max_queues`` of them (``_get_max_tap_queues``).


def queue_pairs(number: int) -> str:
    """``one queue pair``, ``4 queue pairs``."""
    return "one queue pair" if number == 1 else f"{number} queue pairs"


def is_emulated(virt_type: str | None) -> bool:
    """True if guests run without KVM; False if that is unknown."""
    return virt_type == "qemu"


def is_single(max_queues: str | None) -> bool:
    """True if a NIC gets at most one queue pair; False if that is unknown."""
    return as_number(max_queues or "") == 1


def taken_away(virt_type: str | None, max_queues: str | None) -> str:
    """The setting that disables multiqueue; empty if neither does. An argument of None is
    unknown."""
    if is_emulated(virt_type):
        return "virt_type = qemu"
    return "max_queues = 1" if is_single(max_queues) else ""


DEFAULT_RING = 256
"""QEMU's default, and the smallest size it accepts."""

MAX_RING = 1024

RING_SIZES = (256, 512, 1024)
"""The sizes that QEMU accepts: powers of two."""

_DIGITS = 10
"""Maximum number of digits that are read; no ring size has as many."""


def as_ring(text: str) -> int:
    """The number in a text; 0, which is not a ring size, if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < _DIGITS else 0


def ring_behind(nic: NicConfig, field: str, *, declared: bool) -> Behind | None:
    """The setting behind libvirt's settings that determines the ring size of a virtio NIC; None if
    there is none. ``declared``: libvirt sets a size itself, which wins over a default."""
    set_on_it = _behind_named(nic.behind, field)
    if set_on_it is not None and set_on_it.text:
        return set_on_it
    if set_on_it is None and declared:
        return None
    return _behind_named(nic.defaults, field) or set_on_it


def _behind_named(found: tuple[Behind, ...], name: str) -> Behind | None:
    return next((one for one in found if one.name == name), None)
