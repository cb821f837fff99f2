"""Errors reported by msgspec for a file that was edited or cut off, starting with the place."""

from __future__ import annotations

import re

import msgspec

_AT_BYTE = re.compile(r"JSON is malformed: (?P<what>.*) \(byte (?P<byte>\d+)\)")
_AT_PATH = re.compile(r"(?=.*`\Z)(?P<what>.*) - at `\$(?P<path>.*)`", re.DOTALL)


def mismatch(error: msgspec.DecodeError, place: str = "") -> str:
    """``samples[3].block: Expected `int`, got `str```. ``place``: the part being read."""
    found = _AT_PATH.fullmatch(str(error))
    what = found["what"] if found else str(error)
    path = (place + (found["path"] if found else "")).removeprefix(".")
    return f"{path}: {what}" if path else what


def malformed(data: bytes, name: str, error: msgspec.DecodeError) -> str:
    """``plan.json:3:17: not JSON: invalid character``: line and column (in bytes), both from 1."""
    found = _AT_BYTE.fullmatch(str(error))
    if not found:
        return f"{name}: not JSON: {error}"
    # msgspec counts the first trailing character as read
    end = int(found["byte"]) - (found["what"] == "trailing characters")
    line, column = data.count(b"\n", 0, end) + 1, end - data.rfind(b"\n", 0, end)
    return f"{name}:{line}:{column}: not JSON: {found['what']}"
