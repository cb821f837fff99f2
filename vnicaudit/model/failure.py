"""Why a host, or a part of it, was not read."""

from __future__ import annotations

from typing import Literal, get_args

FailureKind = Literal["unreachable", "refused", "authentication", "deadline", "broken", "internal"]
"""``unreachable``: no connection came about (name, route, port, timeout); ``refused``: its libvirt
or SSH said no (no rights, no such driver); ``authentication``: keys, certificates or SASL;
``deadline``: it stopped answering; ``broken``: the connection was lost in the middle, or answers
made no sense; ``internal``: this program failed. Only ``unreachable``, ``deadline`` and ``broken``
are worth another try."""

WORTH_A_RETRY: frozenset[FailureKind] = frozenset({"unreachable", "deadline", "broken"})

_KINDS: dict[str, FailureKind] = {kind: kind for kind in get_args(FailureKind)}


def failure_kind(code: str) -> FailureKind | None:
    """The kind that a code stands for; None for what is none."""
    return _KINDS.get(code)
