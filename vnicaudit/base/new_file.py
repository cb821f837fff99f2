"""Replace a file with a new one, completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator
from typing import IO, BinaryIO

from vnicaudit.base.identifiers import TIME_ID
from vnicaudit.base.opening import is_pipe
from vnicaudit.base.waiting import sleep

# Files and folders that this program makes, which nothing may change or take for guests: those of
# runs, which keep definitions as they were, backups, and files that are not complete yet.

BEING_WRITTEN = ".vnicaudit-"
"""Prefix of the name of a file that is not complete yet."""
BACKUP = ".vnicaudit.bak"
"""Suffix of the backup of a changed file; a number may follow."""
DEFINITIONS = "definitions"
"""The folder, in that of a run, of the definitions before and after the change."""


def is_run_folder(folder: str) -> bool:
    """True for the folder of a run of ``apply`` or ``rollback`` in a state directory."""
    is_named_so = TIME_ID.fullmatch(os.path.basename(folder)) is not None
    return is_named_so and os.path.isdir(os.path.join(folder, DEFINITIONS))


def is_in_run_folder(file: str) -> bool:
    """True for a file in the folder of a run, or below it."""
    folder = os.path.dirname(os.path.abspath(file))
    return is_run_folder(folder) or is_run_folder(os.path.dirname(folder))


READER_PATIENCE = 60.0
"""Seconds to wait for the reader of a FIFO."""
_LOOK = 0.1
_DESCRIPTORS = "/proc/self/fd"
_MOST_LINKS = 40
"""As many links in a path as Linux follows (path_resolution(7))."""


def begin_file(
    place: str, *, private: bool = False, readable: bool = False
) -> tuple[int, str | None]:
    """A descriptor to write to, and the name that :func:`finish_file` needs to move the file to
    ``place`` when it is complete (a link there is replaced, not followed). Until then it has none,
    where the file system can do that, so that nothing stays if this process is killed. The name is
    None if ``place`` is a device, a pipe or
    an open file of this process (``/dev/stdout``), which is written to directly. ``private``:
    nobody else can read the file; ``readable``: everybody can read a new file, whatever the umask
    is.

    Raises OSError, also for a link to a device or pipe that somebody else created, and for a FIFO
    that nobody reads.
    """
    if (number := open_descriptor(place)) is not None:
        return os.dup(number), None
    if os.path.exists(place) and not os.path.isfile(place):
        _check_link(place)
        return _opened_to_write(place), None
    part = os.path.join(os.path.dirname(place), BEING_WRITTEN + os.urandom(8).hex())
    try:
        descriptor = _opened_new(part)
    except OSError as error:  # name the target file, not the temporary one
        raise OSError(error.errno, error.strerror, place) from None
    try:
        os.fchmod(descriptor, 0o600 if private else _mode(place, readable=readable))
    except OSError:
        os.close(descriptor)
        drop_file(part)
        raise
    return descriptor, part


def _opened_new(part: str) -> int:
    """A descriptor of a new file: one without a name, or else of that name (NFS, some overlays)."""
    if os.path.isdir(_DESCRIPTORS):
        with contextlib.suppress(OSError):  # EOPNOTSUPP; any other comes again below
            flags = os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC
            return os.open(os.path.dirname(part) or ".", flags, 0o600)
    return os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)


def finish_file(stream: IO[str] | IO[bytes], part: str, place: str) -> None:
    """Close a file of :func:`begin_file` and move it to its place. Raises OSError."""
    stream.flush()
    descriptor = stream.fileno()
    if not os.fstat(descriptor).st_nlink:
        # with a folder's descriptor, which a whole path has no use for, Python follows the link
        os.link(f"{_DESCRIPTORS}/{descriptor}", part, src_dir_fd=descriptor)
    stream.close()
    os.replace(part, place)


def drop_file(part: str) -> None:
    """Remove a file of :func:`begin_file` that is not to be finished, if it has its name yet."""
    with contextlib.suppress(OSError):
        os.unlink(part)


def _opened_to_write(place: str) -> int:
    """A descriptor of a device or a pipe. A FIFO is opened as soon as somebody reads it."""
    end = time.monotonic() + READER_PATIENCE
    while True:
        try:
            descriptor = os.open(place, os.O_WRONLY | os.O_TRUNC | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.ENXIO or not is_pipe(place):
                raise
            if time.monotonic() >= end:
                words = f"a FIFO that nobody reads, after {READER_PATIENCE:.0f} s"
                raise OSError(error.errno, words, place) from None
            sleep(_LOOK)
        else:
            os.set_blocking(descriptor, True)
            return descriptor


def open_descriptor(place: str) -> int | None:
    """The number of the open file of this process that a path stands for, such as ``/dev/stdout``
    or ``/dev/fd/3``, also by links; else None. Such a path must never be replaced by a file: for
    root, the whole machine would lose its standard output."""
    own = f"/proc/{os.getpid()}/fd"
    for _link in range(_MOST_LINKS):
        folder, name = os.path.split(os.path.abspath(place))
        folder = os.path.realpath(folder)
        if folder == own and name.isdecimal():
            return int(name)
        try:
            place = os.path.join(folder, os.readlink(os.path.join(folder, name)))
        except OSError:
            return None
    return None


@contextlib.contextmanager
def replaced(place: str) -> Iterator[BinaryIO]:
    """A stream to write to, moved to ``place`` once it is written and closed without an error; if
    the disk is full, the old file stays. Raises OSError."""
    descriptor, part = begin_file(place)
    try:
        with open(descriptor, "wb") as stream:
            yield stream
            if part is not None:
                finish_file(stream, part, place)
    except BaseException:
        if part is not None:
            drop_file(part)
        raise


def _check_link(place: str) -> None:
    status = os.lstat(place)
    if stat.S_ISLNK(status.st_mode) and status.st_uid not in (0, os.geteuid()):
        words = "a link that belongs to another user: remove it, or choose another name"
        raise OSError(errno.EPERM, words, place)


def _mode(place: str, *, readable: bool) -> int:
    """Permissions of the replaced file, without those for others to write that the umask removes;
    for a new file those that the umask leaves, or 644 if it is to be ``readable``."""
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
