"""How packets of a NIC travel, from its effective values: the answer to "is it slow?"."""

from __future__ import annotations

from typing import Literal

from vnicaudit.model.effective import NONE, UNKNOWN
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.report import NicRow

Path = Literal["slow", "fast", "unknown", "does not start"]
PATHS: tuple[Path, ...] = ("does not start", "slow", "unknown", "fast")
"""Worst first."""


def path_of(nic: NicRow) -> Path:
    """``slow``: the model is emulated, or virtio has no vhost, so that QEMU copies every packet.
    ``fast``: vhost, or a data path of its own (passthrough, vhost-user, vDPA)."""
    if not nic.starts:
        return "does not start"
    if nic.model.state == NONE:
        return "fast"
    if nic.model.state == UNKNOWN:
        return "unknown"
    if nic.model.effective not in VIRTIO:
        return "slow"
    if nic.vhost.state == UNKNOWN:
        return "unknown"
    return "fast" if nic.vhost.state == NONE or nic.vhost.effective else "slow"
