"""Regular files, opened so that nothing else is waited for."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file, for reading; also ``/dev/null``, which stands for an empty one.

    Raises OSError, and for a FIFO, a socket, a device or a folder one that says so: to read from
    one may take for ever.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:  # a zero byte
        raise OSError(errno.EINVAL, "not a file name", path) from None
    status = os.fstat(descriptor)
    null = stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev
    if not stat.S_ISREG(status.st_mode) and not null:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return open(descriptor, "rb")
