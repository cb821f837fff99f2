"""Columns of the page's tables as compressed JSON: a list of numbers, or texts, each once, with the
number of its text for each row. ``templates/page/columns.js`` reads them."""

from __future__ import annotations

import zlib
from array import array
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from vnicaudit.reports.safe import safe

_LARGEST = 0xFFFFFFFF
_LEVEL = 6
"""Compression level of gzip: 9 takes twice the time for half a percent."""
_GZIP = 31
_LINE = 3 << 14


class TextColumn:
    """A column of texts. ``raw``: they are already safe to show."""

    def __init__(self, *, raw: bool = False) -> None:
        self._raw = raw
        self._texts: dict[str, int] = {}
        """The texts with their numbers."""
        self._rows = array("I")

    def append(self, text: str) -> None:
        """Add the text of the next row."""
        shown = text if self._raw else safe(text)
        self._rows.append(self._texts.setdefault(shown, len(self._texts)))

    def json(self) -> bytes:
        """``{"texts": […], "rows": […]}``; without rows if each row has a text of its own."""
        texts = list(self._texts)
        if len(texts) == len(self._rows):
            return msgspec.json.encode({"texts": texts})
        return msgspec.json.encode({"texts": texts, "rows": self._rows.tolist()})


class NumberColumn:
    """A column of numbers from 0 to 2^32 - 1; a larger one is shown as that."""

    def __init__(self) -> None:
        self._rows = array("I")

    def append(self, number: int) -> None:
        """Add the number of the next row."""
        self._rows.append(min(number, _LARGEST))

    def json(self) -> bytes:
        """A list."""
        return msgspec.json.encode(self._rows.tolist())


Column: TypeAlias = "TextColumn | NumberColumn"


def packed(tables: Mapping[str, Mapping[str, Column]], facts: object) -> Iterator[str]:
    """The data as lines of base64 of gzip of JSON: an HTML parser never has to hold a piece that
    grows with the fleet. ``facts``: a record for the script."""
    gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    waiting = bytearray()
    for piece in _json(tables, facts):
        waiting += gzip.compress(piece)
        while len(waiting) >= _LINE:
            yield b64encode(waiting[:_LINE]).decode() + "\n"
            del waiting[:_LINE]
    yield b64encode(waiting + gzip.flush()).decode() + "\n"


def _json(tables: Mapping[str, Mapping[str, Column]], facts: object) -> Iterable[bytes]:
    yield b'{"facts":' + msgspec.json.encode(facts) + b',"tables":'
    opening = b"{"
    for name, columns in tables.items():
        yield opening + msgspec.json.encode(name) + b":"
        opening = b"{"
        for key, column in columns.items():
            yield opening + msgspec.json.encode(key) + b":" + column.json()
            opening = b","
        yield b"}"
        opening = b","
    yield b"}}"
