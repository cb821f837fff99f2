"""Commands of this program that are shown for copying into a shell, with the state folder if it is
not the default."""

from __future__ import annotations

import os
from pathlib import Path

from vnicaudit.base.shell import path_word

SYSTEM = "/var/lib/vnicaudit"
"""The state folder of root."""


def default_state() -> str:
    """The default state folder: SYSTEM for root, else the user's own (XDG_STATE_HOME)."""
    if os.geteuid() == 0:
        return SYSTEM

    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return str(Path(home) / "vnicaudit")


def command(words: str, state: str | Path) -> str:
    """``words`` as a command, with ``--state`` if the folder is not the default."""
    other = Path(state) != Path(default_state())
    return f"vnicaudit {words}" + (f" --state {path_word(str(state))}" if other else "")


def history_command(words: str, place: str) -> str:
    """``words`` as a command on the history at that place (shown without a password)."""
    return f"vnicaudit {words} --history {path_word(place)}"
