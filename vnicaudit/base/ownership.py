"""Ownership of a file or folder: what others may write, they decide."""

from __future__ import annotations

import os
import pwd
import stat


def why_not_own(status: os.stat_result) -> str | None:
    """Why somebody else decides what stands there, as the end of a sentence; None where only this
    user and root do. A group that is the user's own alone does not count."""
    if status.st_uid not in (0, os.geteuid()):
        return f"belongs to {_name(status.st_uid)}"
    if status.st_mode & stat.S_IWOTH and not _sticky(status):
        return "is writable by everyone"
    if status.st_mode & stat.S_IWGRP and not _own_group(status) and not _sticky(status):
        return "is writable by its group"
    return None


def _sticky(status: os.stat_result) -> bool:
    """A folder such as /tmp: others can add to it, and take nothing of ours away."""
    return stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX)


def _own_group(status: os.stat_result) -> bool:
    """Root's, or the one that a user has for himself (the same number)."""
    return status.st_gid == 0 or status.st_gid == status.st_uid == os.geteuid()


def _name(uid: int) -> str:
    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
