"""Sizes of the two tables of receive flow steering (RFS), which works only where both have entries.

Source: Documentation/networking/scaling.rst of Linux, *RFS Configuration*: one table of the host
(``rps_sock_flow_entries``) and one of each receive queue (``rps_flow_cnt``), the host's divided by
the number of queues; both are rounded up to a power of two. 32768 entries work fairly well on a
moderately loaded server. net/core/sysctl_net_core.c takes no more than 2**29.
"""

from __future__ import annotations

from typing import NamedTuple

ENTRIES = "net.core.rps_sock_flow_entries"
MODERATE = 32768
"""Entries of the host's table that the kernel's documentation names."""
MOST_ENTRIES = 1 << 29


class RfsSizes(NamedTuple):
    """Entries of the host's table, and of the table of each receive queue."""

    entries: int
    per_queue: int


def rfs_sizes(connections: int, queues: int) -> RfsSizes:
    """Sizes for that many connections at a time, as the kernel keeps them."""
    entries = _power_of_two(connections)
    return RfsSizes(entries, _power_of_two(-(-entries // queues)))


def _power_of_two(number: int) -> int:
    """The number, rounded up to a power of two."""
    return 1 << (number - 1).bit_length()


def set_per_queue(device: str, entries: int) -> str:
    """The command that gives each receive queue of a device so many entries. ``device`` is quoted
    for a shell."""
    return (
        f"for queue in /sys/class/net/{device}/queues/rx-*; "
        f"do echo {entries} > $queue/rps_flow_cnt; done"
    )
