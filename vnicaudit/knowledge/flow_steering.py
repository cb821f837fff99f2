"""Sizes of the two tables of receive flow steering (RFS), which works only where both have entries,
and commands that set steering on all queues of a device.

Source: Documentation/networking/scaling.rst of Linux, *RFS Configuration*: one table of the host
(``rps_sock_flow_entries``) and one of each receive queue (``rps_flow_cnt``), the host's divided by
the number of queues; both are rounded up to a power of two. 32768 entries work fairly well on a
moderately loaded server. net/core/sysctl_net_core.c takes no more than 2**29.
"""

from __future__ import annotations

from shlex import quote
from typing import Literal

from vnicaudit.knowledge.host_cpus import is_profiles_mask
from vnicaudit.model.host_facts import HostFacts, HostLink, Queue

ENTRIES = "net.core.rps_sock_flow_entries"
MODERATE = 32768
"""Entries of the host's table that the kernel's documentation names."""
MOST_ENTRIES = 1 << 29
_NEARLY = 0.9
"""Share of a link's speed at which it counts as streaming at line rate: a threshold of our own."""


def rfs_entries(connections: int, queues: int = 1) -> int:
    """Entries of the host's table for that many connections at a time, or of the table of each of
    its receive queues, as the kernel keeps them: rounded up to a power of two."""
    share = -(-(1 << (connections - 1).bit_length()) // queues)
    return 1 << (share - 1).bit_length()


def set_on_each(device: str, name: Literal["rps_cpus", "rps_flow_cnt"], value: str | int) -> str:
    """The command that sets a mask or a number of entries on each receive queue of a device."""
    queues = f"/sys/class/net/{quote(device)}/queues/rx-*"
    return f"for queue in {queues}; do echo {value} > $queue/{name}; done"


def steered_queues(facts: HostFacts, link: HostLink) -> list[Queue]:
    """Receive queues whose packets are steered (RPS) because somebody set it for this link: not by
    the mask that the host's profile gives to all."""
    return [
        queue
        for queue in link.rps_queues() or ()
        if queue.cpus and not is_profiles_mask(facts, queue.cpus)
    ]


def rfs_is_on(facts: HostFacts) -> bool | None:
    """True if both tables of RFS have entries; None: unknown."""
    entries = facts.sysctl(ENTRIES)
    if not entries:
        return None if entries is None else False
    queues = [queue for link in facts.links or () for queue in link.rps_queues() or ()]
    if any(queue.flows for queue in queues):
        return True
    read = all(link.queues is not None for link in facts.links or () if link.physical)
    return False if read and facts.links is not None else None


def streams(facts: HostFacts, link: HostLink) -> bool:
    """True if a link received at nearly its speed during the window."""
    received, window = (link.growth or {}).get("rx_bytes"), facts.window
    if received is None or not window or not link.speed or link.speed < 0:
        return False
    return received * 8 / window >= _NEARLY * link.speed * 1e6
