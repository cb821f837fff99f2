"""A new file in the place of another: whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

BEING_WRITTEN = ".vnicaudit-"
"""How the name of a file begins that is not whole yet."""
BACKUP = ".vnicaudit.bak"
"""How the name of a copy of a file that was changed ends, but for a number."""


def begin_file(
    place: str, *, private: bool = False, readable: bool = False
) -> tuple[int, str | None]:
    """A descriptor to write to, and the name of the file that is to be moved to ``place`` when it
    is whole: a link there is replaced, not followed. None: a device or a pipe is there, and is
    written to as it is. ``private``: for nobody else to read; ``readable``: a new file is for
    everybody to read, whatever the umask is.

    Raises OSError, also for a link to a device or pipe that somebody else put there.
    """
    if os.path.exists(place) and not os.path.isfile(place):
        _check_link(place)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        return os.open(place, flags, 0o666), None
    import tempfile  # not for a report on standard output

    folder = os.path.dirname(place) or "."
    try:
        descriptor, part = tempfile.mkstemp(prefix=BEING_WRITTEN, dir=folder)
    except OSError as error:  # the file it is to be, in place of its part
        raise OSError(error.errno, error.strerror, place) from None
    try:
        os.fchmod(descriptor, 0o600 if private else _mode(place, readable=readable))
    except OSError:
        os.close(descriptor)
        os.unlink(part)
        raise
    return descriptor, part


@contextlib.contextmanager
def replaced(place: str) -> Iterator[BinaryIO]:
    """A stream to write to, moved to ``place`` once it was written and closed without an error: a
    full disk leaves the old file. Raises OSError."""
    descriptor, part = begin_file(place)
    try:
        with open(descriptor, "wb") as stream:
            yield stream
        if part is not None:
            os.replace(part, place)
    except BaseException:
        if part is not None:
            os.unlink(part)
        raise


def _check_link(place: str) -> None:
    status = os.lstat(place)
    if stat.S_ISLNK(status.st_mode) and status.st_uid not in (0, os.geteuid()):
        words = "a link that belongs to another user: remove it, or choose another name"
        raise OSError(errno.EPERM, words, place)


def _mode(place: str, *, readable: bool) -> int:
    """Permissions of the file that is replaced, without those to write that the umask takes from
    others; of a new one, what the umask leaves, or 644 of one that is to be ``readable``."""
    mask = os.umask(0o077)
    os.umask(mask)
    new = 0o644 if readable else 0o666 & ~mask
    try:
        status = os.lstat(place)
    except FileNotFoundError:
        return new
    if not stat.S_ISREG(status.st_mode):
        return new
    return status.st_mode & 0o777 & ~(mask & 0o022)
