"""Records -> JSON text that can always be written as UTF-8, and shown on a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from vnicaudit.reports.safe import safe

_encoder = msgspec.json.Encoder()
_COMMAND = re.compile(r"(?<=#)#(?=\w*\[)")
"""The second mark of ``##[name``, a command for build servers that read what a job prints. In JSON
it stands in strings alone."""


def encode(value: object) -> str:
    """A value as JSON on one line.

    Characters that do not print are written ``\\uNNNN``, which any reader turns back; so is what a
    build server would take for a command. Half a surrogate pair (a byte of a file name that is
    not UTF-8) has no such form in JSON: it is replaced by a visible escape.
    """
    try:
        return _escaped(_encoder.encode(value))
    except UnicodeEncodeError:
        return _escaped(_encoder.encode(_encodable(msgspec.to_builtins(value))))


def encode_items(values: Sequence[object]) -> str:
    """The items of a JSON array, one per line, each but the last with its comma; no brackets."""
    try:
        lines = _encoder.encode_lines(values)[:-1]
    except UnicodeEncodeError:
        return ",\n".join(map(encode, values))
    # a line break inside a string is written \\n, so every raw one stands between two items
    return _escaped(lines.replace(b"\n", b",\n"))


def _escaped(data: bytes) -> str:
    text = data.decode()
    if "#" in text and "##" in text:  # one character is found far faster than two
        text = _COMMAND.sub(r"\\u0023", text)
    if data.isascii() and "\x7f" not in text:
        return text
    return "".join(map(_character, text))


def _character(character: str) -> str:
    if character == "\n" or character.isprintable():
        return character
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value if _fits(value) else safe(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    return value


def _fits(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)
