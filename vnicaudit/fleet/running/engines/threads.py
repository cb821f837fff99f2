"""Hosts are read by threads of this process: they wait for libvirt, which releases the GIL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import msgspec

from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.audit.reading.machines import CALLS
from vnicaudit.base.deadlines import DaemonCall, TimeUpError
from vnicaudit.model.fleet import InventoryHost, LiveOptions
from vnicaudit.model.report import LostRead, ReadError

# One try of one host by this process, with a deadline.


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


class Threads(Generic[M]):
    """``plain``: options of hosts that have none of their own; ``deadline``: seconds for one try of
    one host."""

    def __init__(self, read: ReadHost[M], plain: LiveOptions, deadline: float) -> None:
        self._read = read
        self._plain = plain
        self._deadline = deadline

    def attempt(self, host: InventoryHost) -> list[M | ReadError]:
        """One try of a host, in this thread."""
        return one_try(self._read, host, self._plain, self._deadline)

    def slots(self, site: str) -> int:
        """0: no limit besides the number of threads."""
        del site
        return 0

    def close(self) -> None:
        """Nothing to release."""


# The interface of an engine: one attempt to read one host, wherever that runs.


"""Items read from a host: what runs there (``HostItem``), or its definitions."""


class ReadingEngine(Protocol[M]):
    """Reads hosts; called by several threads at once."""

    def attempt(self, host: InventoryHost) -> list[M | ReadError]:
        """Everything that one attempt reads before the host's deadline, with a LostRead if it
        failed. Raises TargetError if no further host can be read."""

    def slots(self, site: str) -> int:
        """The number of hosts of a site that it can read at once now; 0: no limit."""

    def close(self) -> None:
        """Release everything it holds; hosts that are being read are abandoned."""
