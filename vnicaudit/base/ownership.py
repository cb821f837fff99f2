"""Ownership of a file or folder: whoever may write to it decides on its content."""

from __future__ import annotations

import os
import pwd
import stat


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
