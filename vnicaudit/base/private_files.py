"""Files and folders that nobody else can read or change, durably on disk when a function says
so."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from vnicaudit.base.ownership import why_not_own
from vnicaudit.errors import JournalError, UsageError

StrPath = str | Path
"""A path; text where many are made: to make a Path of it takes as long as to open the file."""


def check_own(folder: Path, *, link: bool = False) -> None:
    """Raises UsageError where somebody else may change what is in a folder: what is kept there is
    written back to hosts. One that is not there yet is well; ``link``: it may be one."""
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
    """The folder and those above it that are missing, for nobody else to look into."""
    if folder.is_dir():
        return
    make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)


def write_private(path: StrPath, data: bytes) -> None:
    """A new file for nobody else to read, on disk when this returns; whole or not there. Raises
    JournalError where that cannot be."""
    write_several_private(((path, data),))


def write_private_quickly(path: StrPath, data: bytes) -> None:
    """A new file as :func:`write_private` makes one, on disk when the system gets round to it: it
    outlasts the program, and where the power fails may be damaged. Raises JournalError."""
    _replace(path, data, sync=False)


def write_several_private(files: Sequence[tuple[StrPath, bytes]]) -> None:
    """New files of one folder, each as :func:`write_private` makes one; all are on disk when this
    returns, in whatever order they came there."""
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
        os.unlink(path)  # what a process that was killed left
        return os.open(path, flags, 0o600)


@contextmanager
def writing(path: StrPath) -> Iterator[None]:
    """Raises JournalError where something cannot be written there."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: StrPath, error: OSError) -> JournalError:
    """The error that says that nothing can be kept there, and what to do."""
    return JournalError(
        f"{path} cannot be written ({error.strerror}): stopped there; run this again when it can "
        "be written"
    )


def sync_folder(path: StrPath) -> None:
    """Have the names in a folder on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
