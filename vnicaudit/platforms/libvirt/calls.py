"""Calls into libvirt that may never return, each with a deadline.

A call cannot be cancelled: it is made in a daemon thread of its own, and whoever waits for it gives
up. What was asked may then still be done, when the daemon goes on.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from vnicaudit.errors import ActionError, GoneError, SilentError
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.connection import explain

T = TypeVar("T")


def within(seconds: float, what: str, function: Callable[[], T]) -> T:
    """What ``function`` returns. Raises ActionError for what libvirt refuses (GoneError: there is
    no such domain any more), SilentError where nothing came back in time; ``what`` completes
    "libvirt did not answer when asked to …"."""
    answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put((function(), None))
        except BaseException as error:  # handed to the one who waits
            answers.put((None, error))

    threading.Thread(target=work, name=f"libvirt: {what}", daemon=True).start()
    try:
        value, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise SilentError(
            f"libvirt did not answer within {seconds:g} s when asked to {what}; it may still do so"
        ) from None
    if isinstance(error, libvirt.libvirtError):
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            raise GoneError(f"cannot {what}: {explain(error)}") from error
        raise ActionError(f"cannot {what}: {explain(error)}") from error
    if error is not None:
        raise error
    return value  # type: ignore[return-value]
