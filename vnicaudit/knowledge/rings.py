"""Sizes of virtio rings, in descriptors.

Source: QEMU's ``virtio_net_max_tx_queue_size`` and ``virtio_net_device_realize``; measured with
7.2.22 and 10.0.13.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vnicaudit.model.nic import Behind, NicConfig

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
