"""A host of a cloud that runs its servers."""

from __future__ import annotations

import msgspec


class ComputeNode(msgspec.Struct, frozen=True):
    """One host by its ``name`` in the cloud; its ``address`` and ``zone`` are empty if they are
    unknown. ``up``: its service answers."""

    name: str
    address: str = ""
    zone: str = ""
    aggregates: tuple[str, ...] = ()
    up: bool = True
