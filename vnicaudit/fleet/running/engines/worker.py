"""The worker's part in auditing a fleet: read one host, and send the result back."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from vnicaudit import __version__
from vnicaudit.errors import VnicauditError
from vnicaudit.fleet.running.engines.one_try import ReadHost, one_try
from vnicaudit.fleet.running.engines.wire import (
    HostAnswer,
    HostOrder,
    OtherVersionError,
    answer_of,
    decoded,
    encoded,
)

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met


def read_for_controller(order: bytes, read: ReadHost[Met]) -> bytes:
    """Read the host of an order with this worker's reader; returns the answer. A controller of
    another version gets an answer from which it can see that."""
    worker = socket.gethostname()
    try:
        asked = decoded(order, HostOrder)
        items = one_try(read, asked.host, asked.plain, asked.deadline)
    except OtherVersionError as error:
        text = f"it has vnicaudit {__version__}, but the controller has {error}"
        return encoded(HostAnswer(worker, text))
    except VnicauditError as error:
        return encoded(HostAnswer(worker, str(error)))
    return encoded(answer_of(worker, items))
