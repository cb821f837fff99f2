"""The lock on a host, stored on the host itself."""

from __future__ import annotations

import msgspec


class HostLock(msgspec.Struct, frozen=True):
    """``owner``: 32 hexadecimal digits that tell one state folder on one machine from others; empty
    where they cannot be read. ``holder``: who that is, for people. ``clear_command``: what removes
    the lock where its holder is gone."""

    owner: str
    holder: str
    clear_command: str = ""
