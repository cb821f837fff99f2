"""Settings of a compute node that take multiqueue away from its servers.

Source: Nova 34.0.0, ``virt/libvirt/vif.py``: queues are given with KVM alone
(``get_base_config``), and ``max_queues`` is the most of them (``_get_max_tap_queues``).
"""

from __future__ import annotations

from vnicaudit.model.nova_options import as_number


def queue_pairs(number: int) -> str:
    """``one queue pair``, ``4 queue pairs``."""
    return "one queue pair" if number == 1 else f"{number} queue pairs"


def is_emulated(virt_type: str | None) -> bool:
    """True where guests run without KVM; False where that is not known."""
    return virt_type == "qemu"


def is_single(max_queues: str | None) -> bool:
    """True where at most one queue pair is given; False where that is not known."""
    return as_number(max_queues or "") == 1


def taken_away(virt_type: str | None, max_queues: str | None) -> str:
    """The setting that leaves none of it; empty where neither does. None: not known."""
    if is_emulated(virt_type):
        return "virt_type = qemu"
    return "max_queues = 1" if is_single(max_queues) else ""
