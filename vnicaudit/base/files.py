"""Files that are read and written safely: replaced whole, private to the user, locked."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pwd
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from vnicaudit.base.deadlines import sleep
from vnicaudit.base.opening import is_pipe
from vnicaudit.base.wording import TIME_ID
from vnicaudit.errors import JournalError, UsageError

# Replace a file with a new one, completely or not at all.


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
def replaced(place: str, *, private: bool = False) -> Iterator[BinaryIO]:
    """A stream to write to, moved to ``place`` once it is written and closed without an error; if
    the disk is full, the old file stays. ``private`` as in :func:`begin_file`. Raises OSError."""
    descriptor, part = begin_file(place, private=private)
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


# Files and folders that nobody else can read or change, durably on disk when a function says so.


# Ownership of a file or folder: whoever may write to it decides on its content.


def why_not_own(status: os.stat_result) -> str | None:
    """The reason why somebody else can change a file or folder, as the end of a sentence; None if
    only this user and root can. The user's own private group does not count."""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to {_name(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH and not _sticky(status):
        return "is writable by everyone"
    # root's group, and the user's private group, which has the user's number
    own_group = status.st_gid == 0 or status.st_gid == status.st_uid == os.geteuid()
    if status.st_mode & stat.S_IWGRP and not own_group and not _sticky(status):
        return "is writable by its group"
    return None


def _sticky(status: os.stat_result) -> bool:
    """True for a folder such as /tmp: others can add files to it, but cannot remove ours."""
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)


def _name(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"


StrPath = str | Path
"""A path; a text where many are made, because making a Path takes as long as opening the file."""


def check_own(folder: Path, *, link: bool = False) -> None:
    """Raise UsageError if somebody else can change the contents of a folder: they are written back
    to hosts later. A folder that does not exist yet is accepted; ``link``: so is a link."""
    try:
        status = os.stat(folder) if link else os.lstat(folder)
    except OSError:
        return
    reason = why_not_own(status) if stat.S_ISDIR(status.st_mode) else "is not a folder"
    if reason is not None:
        raise UsageError(
            f"{folder} {reason}: definitions stored there are written back to hosts, so nobody "
            "else may change them; correct its owner and mode, or choose another folder with "
            "--state"
        )


def make_private(folder: Path) -> None:
    """Create a folder that nobody else can read, and its missing parents."""
    if folder.is_dir():
        return
    make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)


def write_private(path: StrPath, data: bytes) -> None:
    """Write a new file that nobody else can read. It is on disk when this returns, or does not
    exist. Raises JournalError if that fails."""
    write_several_private(((path, data),))


def write_private_quickly(path: StrPath, data: bytes) -> None:
    """Write a new file like :func:`write_private`, but let the system sync it later: it survives
    the end of the program, but may be damaged by a power failure. Raises JournalError."""
    _replace(path, data, sync=False)


def write_several_private(files: Sequence[tuple[StrPath, bytes]]) -> None:
    """Write new files of one folder like :func:`write_private`; all are on disk when this returns,
    written in any order."""
    for path, data in files:
        _replace(path, data, sync=True)
    last = files[-1][0]
    with writing(last):
        sync_folder(os.path.dirname(last))


def _replace(path: StrPath, data: bytes, *, sync: bool) -> None:
    part = f"{path}.part"
    try:
        _write(part, data, sync=sync)
        os.replace(part, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(part)
        raise unwritable(path, error) from None


def _write(path: str, data: bytes, *, sync: bool) -> None:
    descriptor = _opened(path)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _opened(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileExistsError:
        os.unlink(path)  # left behind by a process that was killed
        return os.open(path, flags, 0o600)


@contextmanager
def writing(path: StrPath) -> Iterator[None]:
    """Turn an OSError raised in the body into JournalError."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: StrPath, error: OSError) -> JournalError:
    """The error that says that nothing can be stored there, and what to do."""
    return JournalError(
        f"{path} cannot be written ({error.strerror}): stopped there; run this again when it can "
        "be written"
    )


def sync_folder(path: StrPath) -> None:
    """Sync a folder, so that the names in it are on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# Locks between processes of one machine: a file that names its holder, and that the kernel unlocks
# when the holder ends, however it ends.


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
            there = os.pread(descriptor, _HOLDER_MAX, 0).decode("utf-8", "replace")
            raise held(there or "unknown") from None
        with suppress(OSError):  # the disk is full: the lock holds all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, holder.encode(), 0)
        yield
    finally:
        os.close(descriptor)
