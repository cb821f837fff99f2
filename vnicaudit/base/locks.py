"""Locks between processes of one machine: a file that names its holder, and that the kernel unlocks
when the holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Do not follow a link, and do not wait for the other end of a pipe."""
_HOLDER_MAX = 200


def open_lock(path: Path) -> int:
    """Open a lock file, creating it if it does not exist; returns its descriptor. Raises
    OSError."""
    return os.open(path, _FLAGS, 0o600)


@contextmanager
def own_lock(descriptor: int, holder: str, held: Callable[[str], Exception]) -> Iterator[None]:
    """Hold the lock and write ``holder`` into its file; closes the descriptor at the end. If
    another process holds the lock, raises the error that ``held`` makes from that holder's text."""
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise held(_holder(descriptor)) from None
        with suppress(OSError):  # the disk is full: the lock holds all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder.encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, _HOLDER_MAX, 0).decode("utf-8", "replace") or "unknown"
