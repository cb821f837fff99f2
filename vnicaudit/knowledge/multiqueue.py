"""Settings of a compute node that disable multiqueue for its servers.

Source: Nova 34.0.0, ``virt/libvirt/vif.py``: queues are set only with KVM (``get_base_config``),
and at most ``max_queues`` of them (``_get_max_tap_queues``).
"""

from __future__ import annotations

from vnicaudit.model.nova_options import as_number


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
