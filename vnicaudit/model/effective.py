"""Effective settings of a guest's NIC: one resolved value per fact, with the reason."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

KNOWN = "known"
UNKNOWN = "unknown"
NONE = "none"


class Resolved(msgspec.Struct, Generic[T], frozen=True):
    """``declared`` -> ``effective``, because ``reason``.

    ``state`` tells the three cases apart in which ``effective`` may be None: ``known`` (it has a
    value), ``unknown`` (these inputs do not show it; the reason names a source that would) and
    ``none`` (this NIC has no such thing, e.g. a ring on an rtl8139).
    """

    declared: T | None
    effective: T | None
    reason: str
    state: str = KNOWN


class Effective(msgspec.Struct, frozen=True, cache_hash=True):
    """The five facts on which the speed of a NIC depends, resolved.

    ``model`` is libvirt's model name; ``vhost`` tells whether the packet path is in the kernel
    (False for a userspace path; None with state ``none`` for vhost-user, vDPA and passthrough,
    which have a data path of their own); ``queues`` counts queue pairs; rings count descriptors.
    """

    model: Resolved[str]
    vhost: Resolved[bool]
    queues: Resolved[int]
    rx_queue_size: Resolved[int]
    tx_queue_size: Resolved[int]
    starts: bool = True
    """False when libvirt or QEMU is known to refuse this NIC at start."""
