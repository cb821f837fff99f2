"""The lock on a host, stored on the host itself."""

from __future__ import annotations

import msgspec


class HostLock(msgspec.Struct, frozen=True):
    """``owner``: 32 hexadecimal digits that identify one state folder on one machine; empty if they
    cannot be read. ``holder``: a description of the owner for people. ``clear_command``: the
    command that removes the lock if its holder is gone."""

    owner: str
    holder: str
    clear_command: str = ""
