"""JSON arrays that grow while the audit runs."""

from __future__ import annotations

import codecs
import tempfile
import weakref
from collections.abc import Iterator, Sequence

from vnicaudit.reports.encode import encode_items

_IN_MEMORY = 1 << 20
_CHUNK = 1 << 16


class Separator:
    """Separator between the pieces of one array; empty before the first piece."""

    def __init__(self) -> None:
        self._first = True

    def before(self) -> str:
        """Return a line break before the first piece, and a comma with one before any other."""
        if self._first:
            self._first = False
            return "\n"
        return ",\n"


class TextSpool:
    """Text that must wait for its place later in the document, kept off the heap: append, then
    drain once. Above 1 MiB it is in an unnamed temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (outlives this)
        self._finalizer = weakref.finalize(self, self._file.close)

    def write(self, text: str) -> None:
        """Append text. Raises OSError if the temporary directory is full."""
        self._file.write(text.encode())

    def drain(self) -> Iterator[str]:
        """All text, in order, in pieces of 64 KiB; closes the spool."""
        self._file.seek(0)
        yield from codecs.iterdecode(iter(lambda: self._file.read(_CHUNK), b""), "utf-8")
        self._finalizer()


class SpooledArray:
    """An array whose items are known before the document reaches it."""

    def __init__(self) -> None:
        self._spool = TextSpool()
        self._separator = Separator()

    def extend(self, items: Sequence[object]) -> None:
        """Append records (or dicts) to the array."""
        if items:
            self._spool.write(self._separator.before() + encode_items(items))

    def drain(self) -> Iterator[str]:
        """The array, brackets included, in pieces."""
        yield "["
        yield from self._spool.drain()
        yield "]"
