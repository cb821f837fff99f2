"""Commands of this program that are shown to be copied into a shell: with the state folder where it
is another than the one that is taken without being asked for."""

from __future__ import annotations

import os
from pathlib import Path

from vnicaudit.base.shell import path_word

SYSTEM = "/var/lib/vnicaudit"
"""The state folder of root."""


def default_state() -> str:
    """Root's is the system's, else the user's own (XDG_STATE_HOME)."""
    if os.geteuid() == 0:
        return SYSTEM
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return str(Path(home) / "vnicaudit")


def command(words: str, state: str | Path) -> str:
    """``words`` as a command on what is kept in that folder."""
    other = Path(state) != Path(default_state())
    return f"vnicaudit {words}" + (f" --state {path_word(str(state))}" if other else "")


def history_command(words: str, place: str) -> str:
    """``words`` as a command on the history that is kept there (without a password)."""
    return f"vnicaudit {words} --history {path_word(place)}"
