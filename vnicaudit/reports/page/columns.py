"""Columns of the page's tables: texts by number, numbers, addresses. The script reads them by the
description that each gives of itself (``templates/page/columns.js``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from vnicaudit.reports.page.spool import Bytes, ChunkFile, Numbers
from vnicaudit.reports.safe import safe

_DISTINCT = 8192
"""Different texts of a column that are remembered; one that comes after them and is forgotten gets
another number each time, and the script puts those together."""
_COMBINATIONS = 4096
"""Combinations of texts that are remembered."""
_LARGEST = 0xFFFFFFFF
_MAC = "[0-9a-f]{2}(?::[0-9a-f]{2}){5}"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


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
        self.extend((text,))

    def extend(self, texts: Sequence[str]) -> None:
        """Add texts that are safe to show."""
        if texts:
            data = "\n".join(texts).encode()
            self._bytes.append(b"\n" + data if self.count else data)
            self.count += len(texts)

    def pieces(self) -> Iterator[bytes]:
        """All lines, in pieces."""
        return self._bytes.pieces()


class Dictionary:
    """A column of texts of which many are equal: each has a number. ``raw``: texts are safe to show
    as they are handed in."""

    def __init__(self, file: ChunkFile, *, raw: bool = False) -> None:
        self._numbers = Numbers(file)
        self.extend_numbers = self._numbers.extend
        self._texts = TextLines(file)
        self.known: dict[str, int] = {}
        self._last = ("", -1)
        self._raw = raw
        self._rows: list[str] = []
        self.append = self._rows.append
        """Add the text of the next row."""

    def number(self, text: str) -> int:
        """The number of a text, for rows that are added by ``extend_numbers``."""
        number = self.known.get(text)
        return self._new(text) if number is None else number

    def settle(self) -> None:
        """Move its numbers to the file."""
        known = self.known
        if not known.keys() >= set(self._rows):
            self._numbers.extend(map(self.number, self._rows))
        else:
            self._numbers.extend(map(known.__getitem__, self._rows))
        self._rows.clear()
        self._numbers.settle()

    def _new(self, text: str) -> int:
        if text == self._last[0] and self._last[1] >= 0:
            return self._last[1]
        number = self._texts.count
        self._texts.append(text if self._raw else safe(text))
        if len(self.known) < _DISTINCT:
            self.known[text] = number
        self._last = (text, number)
        return number

    def info(self) -> ColumnInfo:
        """The description of the column for the script."""
        self.settle()
        numbers = self._numbers
        width, again = numbers.width, self._texts.count > len(self.known)
        return ColumnInfo("dict", width, numbers.count * width, self._texts.size, again)

    def pieces(self) -> Iterator[bytes]:
        """Numbers, then texts."""
        self.settle()
        yield from self._numbers.pieces()
        yield from self._texts.pieces()


class Combinations:
    """Rows of several dictionaries whose texts come in few combinations: a row is one tuple of
    numbers, which many rows share, until the columns are asked for."""

    def __init__(self, *columns: Dictionary) -> None:
        self._columns = columns
        self._rows: list[tuple[int, ...]] = []
        self._add = self._rows.append
        self._known: dict[object, tuple[int, ...]] = {}

    def append(self, key: object) -> bool:
        """Add a row of a combination that is known by its key; False: it is not."""
        numbers = self._known.get(key)
        if numbers is None:
            return False
        self._add(numbers)
        return True

    def append_new(self, key: object, texts: Iterable[str]) -> None:
        """Add the first row of a combination: a text for each column."""
        if len(self._known) >= _COMBINATIONS:
            self._known.clear()
        pairs = zip(self._columns, texts, strict=True)
        numbers = self._known[key] = tuple(column.number(text) for column, text in pairs)
        self._add(numbers)

    def settle(self) -> None:
        """Hand the rows on to the columns."""
        for column, numbers in zip(self._columns, zip(*self._rows, strict=True), strict=False):
            column.extend_numbers(numbers)
        self._rows.clear()


class Names:
    """A column of texts of which most differ."""

    def __init__(self, file: ChunkFile) -> None:
        self._texts = TextLines(file)
        self._rows: list[str] = []
        self.append = self._rows.append
        """Add the text of the next row."""

    def settle(self) -> None:
        """Move its texts to the file."""
        self._texts.extend([safe(text) for text in self._rows])
        self._rows.clear()

    def info(self) -> ColumnInfo:
        """The description of the column for the script."""
        self.settle()
        return ColumnInfo("text", texts=self._texts.size)

    def pieces(self) -> Iterator[bytes]:
        """The texts."""
        self.settle()
        return self._texts.pieces()


class NumberColumn:
    """A column of numbers."""

    def __init__(self, file: ChunkFile) -> None:
        self._numbers = Numbers(file)
        self._rows: list[int] = []
        self.append = self._rows.append
        """Add the number of the next row, at least 0."""

    def settle(self) -> None:
        """Move its numbers to the file."""
        rows = self._rows
        large = max(rows, default=0) > _LARGEST
        self._numbers.extend([min(row, _LARGEST) for row in rows] if large else rows)
        rows.clear()
        self._numbers.settle()

    def info(self) -> ColumnInfo:
        """The description of the column for the script."""
        self.settle()
        width = self._numbers.width
        return ColumnInfo("number", width, self._numbers.count * width)

    def pieces(self) -> Iterator[bytes]:
        """The numbers."""
        self.settle()
        return self._numbers.pieces()


class Addresses:
    """A column of MAC addresses or UUIDs in bytes, zeros for none; ``odd`` has what is written
    otherwise, as text, and is empty for all others."""

    def __init__(self, file: ChunkFile, kind: Literal["mac", "uuid"]) -> None:
        self._kind = kind
        pattern = _MAC if kind == "mac" else _UUID
        self._is_one = re.compile(pattern).fullmatch
        self._are_all = re.compile(f"(?:{pattern}\n)*").fullmatch
        self._separator = ":" if kind == "mac" else "-"
        self._width = 6 if kind == "mac" else 16
        self._bytes = Bytes(file)
        self._odd = Dictionary(file)
        self._rows: list[str | None] = []
        self.append = self._rows.append
        """Add the address of the next row."""

    @property
    def odd(self) -> Dictionary:
        """The column of those that are written otherwise."""
        self.settle()
        return self._odd

    def settle(self) -> None:
        """Move its addresses to the file."""
        if not self._rows:
            return
        lines = "".join([f"{row}\n" for row in self._rows])
        data = b""
        if self._are_all(lines):
            data = bytes.fromhex(lines.replace(self._separator, ""))
        if len(data) == self._width * len(self._rows):  # a row may be of several lines
            self._bytes.append(data)
            self._odd.extend_numbers([self._odd.number("")] * len(self._rows))
        else:
            for row in self._rows:
                self._settle_one(row or "")
        self._rows.clear()

    def _settle_one(self, text: str) -> None:
        is_plain = self._is_one(text) is not None
        digits = text.replace(self._separator, "") if is_plain else "00" * self._width
        self._bytes.append(bytes.fromhex(digits))
        self._odd.extend_numbers([self._odd.number("" if is_plain else text)])

    def info(self) -> ColumnInfo:
        """The description of the column for the script."""
        self.settle()
        return ColumnInfo(self._kind, self._width, self._bytes.size)

    def pieces(self) -> Iterator[bytes]:
        """The addresses."""
        self.settle()
        return self._bytes.pieces()
