"""Files and folders that nobody else can read or change, durably on disk when a function says
so."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from vnicaudit.errors import JournalError, UsageError

# Ownership of a file or folder: whoever may write to it decides on its content.


def why_not_own(status: os.stat_result) -> str | None:
    """The reason why somebody else can change a file or folder, as the end of a sentence; None if
    only this user and root can. The user's own private group does not count."""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to {_name(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH and not _sticky(status):
        return "is writable by everyone"
    if status.st_mode & stat.S_IWGRP and not _own_group(status) and not _sticky(status):
        return "is writable by its group"
    return None


def _sticky(status: os.stat_result) -> bool:
    """True for a folder such as /tmp: others can add files to it, but cannot remove ours."""
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)


def _own_group(status: os.stat_result) -> bool:
    """True for root's group and for the user's private group (which has the user's number)."""
    return status.st_gid == 0 or status.st_gid == status.st_uid == os.geteuid()


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
