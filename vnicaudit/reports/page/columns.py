"""Columns of the page's tables: numbered texts, numbers, addresses. Each describes itself for the
script that reads it (``templates/page/columns.js``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

import msgspec

from vnicaudit.reports.page.spool import Bytes, ChunkFile, Numbers
from vnicaudit.reports.safe import safe

_DISTINCT = 8192
"""Maximum different texts remembered per column. Later texts get a new number at each occurrence,
and the script merges those."""
_COMBINATIONS = 4096
"""Maximum combinations of texts remembered."""
_LARGEST = 0xFFFFFFFF
_MAC = "[0-9a-f]{2}(?::[0-9a-f]{2}){5}"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class ColumnInfo(msgspec.Struct, frozen=True):
    """How the script is to read a column. ``width``: bytes of a number (``dict``, ``number``) or of
    a value (``mac``, ``uuid``). ``bytes``: total of its numbers or values. ``texts``: bytes of its
    texts."""

    kind: Literal["dict", "text", "number", "mac", "uuid"]
    width: int = 0
    bytes: int = 0
    texts: int = 0
    again: bool = False
    """True if a text may occur in it twice."""


class Column(Protocol):
    """A column that grows row by row."""

    def settle(self) -> None:
        """Move rows from memory to the file; called now and then."""

    def info(self) -> ColumnInfo:
        """The description of the column for the script. No rows may be added afterwards."""

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the column: numbers or values first, then texts."""


class TextLines:
    """Texts, one per line; they are safe to show, so none contains a line break."""

    def __init__(self, file: ChunkFile) -> None:
        self._bytes = Bytes(file)
        self.count = 0

    @property
    def size(self) -> int:
        """Total bytes, including the line breaks between texts."""
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
    """A column of texts with many duplicates, stored as numbers. ``raw``: texts are already safe to
    show."""

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
        """The number of a text, for rows added with ``extend_numbers``."""
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
    """Rows of several dictionary columns whose texts occur in few combinations: until the columns
    are needed, a row is a tuple of numbers shared by many rows."""

    def __init__(self, *columns: Dictionary) -> None:
        self._columns = columns
        self._rows: list[tuple[int, ...]] = []
        self._add = self._rows.append
        self._known: dict[object, tuple[int, ...]] = {}

    def append(self, key: object) -> bool:
        """Add a row of a known combination; False: the key is not known."""
        numbers = self._known.get(key)
        if numbers is None:
            return False
        self._add(numbers)
        return True

    def append_new(self, key: object, texts: Iterable[str]) -> None:
        """Add the first row of a combination, with a text for each column."""
        if len(self._known) >= _COMBINATIONS:
            self._known.clear()
        pairs = zip(self._columns, texts, strict=True)
        numbers = self._known[key] = tuple(column.number(text) for column, text in pairs)
        self._add(numbers)

    def settle(self) -> None:
        """Move the rows to the columns."""
        for column, numbers in zip(self._columns, zip(*self._rows, strict=True), strict=False):
            column.extend_numbers(numbers)
        self._rows.clear()


class Names:
    """A column of texts with few duplicates."""

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
    """A column of MAC addresses or UUIDs as bytes; zeros: no address. ``odd``: a column with
    addresses in any other notation, as text, empty for all other rows."""

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
        """The column of addresses in other notations."""
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
        if len(data) == self._width * len(self._rows):  # a row may contain several lines
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
