"""One audit of a fleet at a time: two at once would read every host twice, and each would store one
half."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vnicaudit.base.clock import timestamp
from vnicaudit.base.locks import open_lock, own_lock
from vnicaudit.base.private_files import check_own, make_private
from vnicaudit.errors import RefusedError, UsageError


class FleetHeldError(RefusedError):
    """Another audit of the fleet is in progress."""


@contextmanager
def fleet_lock(state: Path) -> Iterator[None]:
    """Lock the fleet of a state directory inside this context. Raises FleetHeldError if another
    process holds the lock (the kernel releases it when that process ends), UsageError if the
    directory cannot be written."""
    folder = state / "fleet"
    for place in (state, folder):
        check_own(place, link=place == state)
    try:
        make_private(folder)
        descriptor = open_lock(folder / "lock")
    except OSError as error:
        raise UsageError(
            f"{folder}: {error.strerror}; choose another state folder with --state"
        ) from None
    with own_lock(descriptor, _holder(), _held):
        yield


def _holder() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}, since {timestamp('seconds')}"


def _held(holder: str) -> FleetHeldError:
    return FleetHeldError(
        f"another audit of this fleet is running ({holder}): wait for it to end, or give another "
        "fleet its own --state"
    )
