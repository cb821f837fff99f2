"""Bytes of many columns, waiting in one temporary file for their place in the page."""

from __future__ import annotations

import sys
import tempfile
import weakref
from array import array
from collections.abc import Iterator

_IN_MEMORY = 1 << 20
_TEXT = 1 << 14
"""Characters of a text column kept in memory."""


class ChunkFile:
    """Pieces of bytes, written in any order and read by position. Above 1 MiB it is an unnamed
    temporary file. Raises OSError if the temporary directory is full."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (outlives this)
        self._finalizer = weakref.finalize(self, self._file.close)
        self._end = 0

    def append(self, data: bytes) -> tuple[int, int]:
        """Store a piece; returns its position and size."""
        place = self._end
        self._file.seek(place)
        self._file.write(data)
        self._end += len(data)
        return place, len(data)

    def read(self, place: int, size: int) -> bytes:
        """Read a stored piece."""
        self._file.seek(place)
        return self._file.read(size)


class Numbers:
    """A column of numbers below 2^32, each in as few bytes as the largest needs. They stay in
    memory until :meth:`settle`. ``append`` and ``extend`` are those of the array, for speed."""

    def __init__(self, file: ChunkFile) -> None:
        self._file = file
        self._piece = array("I")
        self.append = self._piece.append
        self.extend = self._piece.extend
        self._chunks: list[tuple[int, int]] = []
        self.count = 0
        self.largest = 0

    @property
    def width(self) -> int:
        """Bytes of one number: 1, 2 or 4."""
        self.settle()
        return 1 if self.largest < 1 << 8 else 2 if self.largest < 1 << 16 else 4

    def pieces(self) -> Iterator[bytes]:
        """The column as little-endian numbers, in pieces."""
        width = self.width
        for place, size in self._chunks:
            yield _narrowed(self._file.read(place, size), width)

    def settle(self) -> None:
        """Move numbers from memory to the file."""
        if not self._piece:
            return
        self.count += len(self._piece)
        self.largest = max(self.largest, max(self._piece))
        if sys.byteorder == "big":
            self._piece.byteswap()
        self._chunks.append(self._file.append(self._piece.tobytes()))
        del self._piece[:]


class Bytes:
    """A column of values of equal size (MAC addresses, UUIDs), or of text."""

    def __init__(self, file: ChunkFile) -> None:
        self._file = file
        self._piece: list[bytes] = []
        self._waiting = 0
        self._chunks: list[tuple[int, int]] = []
        self.size = 0

    def append(self, data: bytes) -> None:
        """Add some bytes."""
        self._piece.append(data)
        self._waiting += len(data)
        self.size += len(data)
        if self._waiting >= _TEXT:
            self._flush()

    def pieces(self) -> Iterator[bytes]:
        """All bytes, in pieces."""
        self._flush()
        for place, size in self._chunks:
            yield self._file.read(place, size)

    def _flush(self) -> None:
        self._chunks.append(self._file.append(b"".join(self._piece)))
        self._piece, self._waiting = [], 0


def _narrowed(data: bytes, width: int) -> bytes:
    """Convert little-endian numbers of four bytes to fewer bytes."""
    if width == 4:
        return data
    if width == 1:
        return data[::4]
    narrow = bytearray(len(data) // 2)
    narrow[::2], narrow[1::2] = data[::4], data[1::4]
    return bytes(narrow)
