"""Reasons why a host, or a part of it, was not read."""

from __future__ import annotations

from typing import Literal, get_args

FailureKind = Literal["unreachable", "refused", "authentication", "deadline", "broken", "internal"]
"""``unreachable``: no connection could be made (name, route, port, timeout); ``refused``: its
libvirt or SSH refused (no permission, no such driver); ``authentication``: keys, certificates or
SASL; ``deadline``: it stopped answering; ``broken``: the connection was lost in the middle, or
answers made no sense; ``internal``: this program failed. Only ``unreachable``, ``deadline`` and
``broken`` are worth a retry."""

WORTH_A_RETRY: frozenset[FailureKind] = frozenset({"unreachable", "deadline", "broken"})

_KINDS: dict[str, FailureKind] = {kind: kind for kind in get_args(FailureKind)}


def failure_kind(code: str) -> FailureKind | None:
    """The kind for a code; None for an unknown code."""
    return _KINDS.get(code)
