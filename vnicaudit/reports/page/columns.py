"""Columns of the page's tables: texts by number, numbers, addresses. The script reads them by the
description that each gives of itself (``templates/page/columns.js``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, Protocol

import msgspec

from vnicaudit.reports.page.spool import Bytes, ChunkFile, Numbers
from vnicaudit.reports.safe import safe

_DISTINCT = 8192
"""Different texts of a column that are remembered; one that comes after them and is forgotten gets
another number each time, and the script puts those together."""
_MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ColumnInfo(msgspec.Struct, frozen=True):
    """How the script is to read a column. ``width``: bytes of a number (``dict``, ``number``) or of
    a value (``mac``, ``uuid``); ``bytes``: of its numbers or values, ``texts``: of its texts."""

    kind: Literal["dict", "text", "number", "mac", "uuid"]
    width: int = 0
    bytes: int = 0
    texts: int = 0
    again: bool = False
    """A text may stand in it twice."""


class Column(Protocol):
    """A column that grows row by row."""

    def settle(self) -> None:
        """Move to the file what grew in memory: called now and then."""

    def info(self) -> ColumnInfo:
        """The description of the column for the script. No rows are added afterwards."""

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the column: numbers or values first, then texts."""


class TextLines:
    """Texts, one to a line: safe to show, so that none has a line break."""

    def __init__(self, file: ChunkFile) -> None:
        self._bytes = Bytes(file)
        self.count = 0

    @property
    def size(self) -> int:
        """Bytes of all, with the line breaks between them."""
        return self._bytes.size

    def append(self, text: str) -> None:
        """Add a text that is safe to show."""
        data = text.encode()
        self._bytes.append(b"\n" + data if self.count else data)
        self.count += 1

    def pieces(self) -> Iterator[bytes]:
        """All lines, in pieces."""
        return self._bytes.pieces()


class Dictionary:
    """A column of texts of which many are equal: each has a number. ``raw``: texts are safe to show
    as they are handed in."""

    def __init__(self, file: ChunkFile, *, raw: bool = False) -> None:
        self._numbers = Numbers(file)
        self._add = self._numbers.append
        self._texts = TextLines(file)
        self._known: dict[str, int] = {}
        self._last = ("", -1)
        self._raw = raw

    def append(self, text: str) -> None:
        """Add the text of the next row."""
        number = self._known.get(text)
        self._add(self._new(text) if number is None else number)

    def settle(self) -> None:
        """Move its numbers to the file."""
        self._numbers.settle()

    def _new(self, text: str) -> int:
        if text == self._last[0] and self._last[1] >= 0:
            return self._last[1]
        number = self._texts.count
        self._texts.append(text if self._raw else safe(text))
        if len(self._known) < _DISTINCT:
            self._known[text] = number
        self._last = (text, number)
        return number

    def info(self) -> ColumnInfo:
        """The description of the column for the script."""
        numbers = self._numbers
        width, again = numbers.width, self._texts.count > len(self._known)
        return ColumnInfo("dict", width, numbers.count * width, self._texts.size, again)

    def pieces(self) -> Iterator[bytes]:
        """Numbers, then texts."""
        yield from self._numbers.pieces()
        yield from self._texts.pieces()


class Names:
    """A column of texts of which most differ."""

    def __init__(self, file: ChunkFile) -> None:
        self._texts = TextLines(file)

    def append(self, text: str) -> None:
        """Add the text of the next row."""
        self._texts.append(safe(text))

    def settle(self) -> None:
        """Do nothing: text goes to the file by itself."""

    def info(self) -> ColumnInfo:
        """The description of the column for the script."""
        return ColumnInfo("text", texts=self._texts.size)

    def pieces(self) -> Iterator[bytes]:
        """The texts."""
        return self._texts.pieces()


class NumberColumn:
    """A column of numbers."""

    def __init__(self, file: ChunkFile) -> None:
        self._numbers = Numbers(file)

    def append(self, number: int) -> None:
        """Add the number of the next row, at least 0."""
        self._numbers.append(min(number, 0xFFFFFFFF))

    def settle(self) -> None:
        """Move its numbers to the file."""
        self._numbers.settle()

    def info(self) -> ColumnInfo:
        """The description of the column for the script."""
        width = self._numbers.width
        return ColumnInfo("number", width, self._numbers.count * width)

    def pieces(self) -> Iterator[bytes]:
        """The numbers."""
        return self._numbers.pieces()


class Addresses:
    """A column of MAC addresses or UUIDs in bytes, zeros for none; ``odd`` has what is written
    otherwise, as text, and is empty for all others."""

    def __init__(self, file: ChunkFile, kind: Literal["mac", "uuid"]) -> None:
        self._kind = kind
        self._pattern = _MAC if kind == "mac" else _UUID
        self._width = 6 if kind == "mac" else 16
        self._none = bytes(self._width)
        self._bytes = Bytes(file)
        self.odd = Dictionary(file)

    def append(self, text: str | None) -> None:
        """Add the address of the next row."""
        if text is not None and self._pattern.fullmatch(text):
            self._bytes.append(bytes.fromhex(text.translate(_SEPARATORS)))
            self.odd.append("")
        else:
            self._bytes.append(self._none)
            self.odd.append(text or "")

    def settle(self) -> None:
        """Do nothing: bytes go to the file by themselves."""

    def info(self) -> ColumnInfo:
        """The description of the column for the script."""
        return ColumnInfo(self._kind, self._width, self._bytes.size)

    def pieces(self) -> Iterator[bytes]:
        """The addresses."""
        return self._bytes.pieces()


_SEPARATORS = str.maketrans("", "", ":-")
