"""Open files without waiting for anything else, and read no more than needed."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from vnicaudit.errors import UsageError

FilePath = str | os.PathLike[str]
GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\0"
"""First bytes of files that are compressed."""


class NotRegularError(OSError):
    """Error for a FIFO, a socket, a device or a folder: reading from one may block for ever."""

    def __init__(self, path: FilePath) -> None:
        super().__init__(errno.EINVAL, "not a regular file", path)


def open_file(path: FilePath) -> int:
    """Open any kind of file for reading and return its descriptor; does not wait for the writer of
    a FIFO. Raises OSError."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:  # a zero byte in the path
        raise OSError(errno.EINVAL, "not a file name", path) from None


def open_regular(path: FilePath, *, null: bool = True) -> BinaryIO:
    """Open a regular file for reading; also ``/dev/null``, which stands for an empty file, if
    ``null`` allows it.

    Raises OSError; NotRegularError if it is no regular file.
    """
    descriptor = open_file(path)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) and not (null and _is_null(status)):
        os.close(descriptor)
        raise NotRegularError(path)
    return open(descriptor, "rb")


def read_regular(path: FilePath, most: int) -> bytes:
    """The first ``most`` bytes of a regular file. Raises OSError; NotRegularError if it is no
    regular file, also for ``/dev/null``."""
    with open_regular(path, null=False) as stream:
        return stream.read(most)


def own_text(name: str, data: bytes, most: int, kind: str) -> str:
    """The text of a file that a user wrote, of ``most`` bytes, lines ended alike. Raises UsageError
    with the place; ``kind``: what it should be (``a scenario``)."""
    if len(data) > most:
        raise UsageError(f"{name}: larger than {most >> 20} MiB: not {kind}")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}:{line}: not UTF-8") from None


def is_packed(head: bytes) -> bool:
    """True for the first bytes of a tar archive, and of what is compressed and may be one."""
    return head.startswith((GZIP, XZ)) or head[257:262] == b"ustar"


def read_beside(module: str, name: str) -> bytes:
    """The content of a file beside a module, which is given by its ``__file__``. ``pkgutil`` does
    the same, and takes longer to load than a file to lint."""
    with open(os.path.join(os.path.dirname(module), name), "rb") as stream:
        return stream.read()


@contextmanager
def as_usage_error(path: FilePath) -> Iterator[None]:
    """Turn an OSError raised in the body into UsageError: the user named the file and can correct
    it."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def is_input_awaited() -> bool:
    """True if standard input is a pipe or a socket, whose end may be long in coming."""
    try:
        return sys.stdin is not None and is_pipe(sys.stdin.fileno())
    except (OSError, ValueError):  # standard input was replaced by a stream in memory
        return False


def is_pipe(place: int | str) -> bool:
    """True if a descriptor or path is a pipe or a socket."""
    try:
        mode = os.stat(place).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _is_null(status: os.stat_result) -> bool:
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == os.stat(os.devnull).st_rdev
