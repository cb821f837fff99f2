"""Functions called by name on the workers of a Dask cluster. Each takes and returns bytes
(:mod:`vnicaudit.fleet.dask`), so that no object of vnicaudit is pickled."""

from __future__ import annotations

import socket

from vnicaudit import __version__
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import VnicauditError
from vnicaudit.fleet.dask import (
    HostAnswer,
    HostOrder,
    OtherVersionError,
    answer_of,
    decoded,
    encoded,
)
from vnicaudit.fleet.host_reading import one_try


def version() -> bytes:
    """The version of vnicaudit."""
    return encoded(None)


def read_host(order: bytes) -> bytes:
    """Read the host of an order; returns the answer. A controller of another version gets an answer
    from which it can see that."""
    worker = socket.gethostname()
    try:
        asked = decoded(order, HostOrder)
        items = one_try(every_platform().read_live, asked.host, asked.plain, asked.deadline)
    except OtherVersionError as error:
        text = f"it has vnicaudit {__version__}, but the controller has {error}"
        return encoded(HostAnswer(worker, text))
    except VnicauditError as error:
        return encoded(HostAnswer(worker, str(error)))
    return encoded(answer_of(worker, items))
