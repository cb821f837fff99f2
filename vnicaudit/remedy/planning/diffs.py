"""The difference between two definitions, as it is reviewed."""

from __future__ import annotations

import difflib
import re


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """A unified diff of two definitions; undecodable bytes as escapes. Empty where they are the
    same."""
    old, new = (_lines(data) for data in (before, after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, name, name)
    )


def _lines(data: bytes) -> list[str]:
    text = data.decode("utf-8", "backslashreplace")
    return [line for line in re.split(r"(?<=\n)", text) if line]  # by line feeds alone
