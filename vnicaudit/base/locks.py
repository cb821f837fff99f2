"""Locks between processes of one machine: a file that the kernel lets go of when its holder ends,
however that ends, and that says who holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""No link is followed, and nothing waits for a pipe's other end."""
_HOLDER_MAX = 200


def open_lock(path: Path) -> int:
    """A descriptor of a lock's file, made where it is not there. Raises OSError."""
    return os.open(path, _FLAGS, 0o600)


@contextmanager
def own_lock(descriptor: int, holder: str, held: Callable[[str], Exception]) -> Iterator[None]:
    """Hold the lock, and write down who does (``holder``); closes the descriptor at the end. Raises
    what ``held`` makes of the holder's words where somebody else has it."""
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise held(_holder(descriptor)) from None
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder.encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, _HOLDER_MAX, 0).decode("utf-8", "replace") or "unknown"
