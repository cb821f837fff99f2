"""One try of one host by this process, with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.audit.reading.side_by_side import CALLS
from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.model.fleet import InventoryHost
from vnicaudit.model.live import LiveOptions
from vnicaudit.model.report import LostRead, ReadError

M = TypeVar("M")
ReadHost = Callable[[str, LiveOptions], Iterator[M]]
"""Reads a target. Raises TargetError if it cannot be read at all."""


def one_try(
    read: ReadHost[M], host: InventoryHost, plain: LiveOptions, deadline: float
) -> list[M | ReadError]:
    """Everything that one try reads before the host's deadline (in seconds), with the failure if
    that passed. ``plain``: options of hosts that have none of their own."""
    items: list[M | ReadError] = []
    ended = threading.Event()

    def read_all() -> None:
        for item in guarded(host.uri, read(host.uri, _options_of(host, plain))):
            if ended.is_set():
                return
            items.append(item)

    try:
        DaemonCall(f"host {host.name}", read_all).result(deadline)
    except TimeUpError:
        ended.set()
        text = f"not completely read within {deadline:g} s (--host-deadline)"
        return [*items, LostRead(text, host.uri, failure="deadline")]
    return items


def _options_of(host: InventoryHost, plain: LiveOptions) -> LiveOptions:
    own = host.options
    return msgspec.structs.replace(
        plain,
        deadline=plain.deadline if own.deadline is None else own.deadline,
        agent=plain.agent if own.agent is None else own.agent,
        calls=plain.calls or CALLS,
    )
