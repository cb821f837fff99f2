"""Records -> JSON text that can always be encoded as UTF-8 and is safe to show on a terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from vnicaudit.reports.safe import safe

_encoder = msgspec.json.Encoder()
_COMMAND = re.compile(r"(?<=#)#(?=\w*\[)")
"""The second ``#`` of ``##[name``, a command for build servers that scan the output of jobs. In
JSON it can occur only in strings."""


def encode(value: object) -> str:
    """A value as JSON on one line.

    Unprintable characters, and what a build server would take for a command, are written as
    ``\\uNNNN``, which every JSON reader decodes. Lone surrogates (bytes of a file name that is not
    UTF-8) cannot be written like that in JSON: they are replaced by a visible escape.
    """
    try:
        return _escaped(_encoder.encode(value))
    except UnicodeEncodeError:
        return _escaped(_encoder.encode(_encodable(msgspec.to_builtins(value))))


def encode_items(values: Sequence[object]) -> str:
    """The items of a JSON array, one per line, separated by commas; no brackets."""
    try:
        lines = _encoder.encode_lines(values)[:-1]
    except UnicodeEncodeError:
        return ",\n".join(map(encode, values))
    # line breaks inside strings are written \\n, so every raw one is between two items
    return _escaped(lines.replace(b"\n", b",\n"))


def _escaped(data: bytes) -> str:
    text = data.decode()
    if "#" in text and "##" in text:  # searching for one character is far faster than for two
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
