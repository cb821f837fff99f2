"""Colour for terminals. Without colour, nothing is added, not even a reset."""

from __future__ import annotations

import re
from functools import cache

_PLAIN = r"https?://[!-~]+"

_STYLES = {
    "error": "bold white on red",
    "high": "bold red",
    "medium": "bold yellow",
    "low": "cyan",
    "info": "magenta",
    "crash": "bold magenta",
    "name": "bold",
    "quiet": "dim",
    "fix": "green",
    "added": "green",
    "removed": "red",
    "hunk": "cyan",
    "good": "bold green",
    "bad": "bold red",
}


class Paint:
    """Colours text by its meaning: a severity, a name, a fix…"""

    def __init__(self, *, color: bool) -> None:
        self._color = color

    def __call__(self, style: str, text: str) -> str:
        """The text, coloured; unchanged if colour is off, the text is empty or the style is
        unknown."""
        if not self._color or not text or style not in _STYLES:
            return text
        before, after = _codes(style)
        return f"{before}{text}{after}"

    def link(self, address: str, text: str) -> str:
        """The text as a hyperlink to ``address`` (OSC 8). Unchanged if colour is off, or if the
        address is empty or has unsafe characters."""
        if not self._color or not re.fullmatch(_PLAIN, address):
            return text
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


@cache
def _codes(style: str) -> tuple[str, str]:
    from rich.style import Style  # not loaded for a report without colour

    before, _, after = Style.parse(_STYLES[style]).render("|").partition("|")
    return before, after
