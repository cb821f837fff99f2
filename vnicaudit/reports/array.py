"""JSON arrays that grow while the audit runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.reports.encode import encode_items
from vnicaudit.reports.spool import Spool


class Separator:
    """The comma between pieces of one array: none before the first."""

    def __init__(self) -> None:
        self._first = True

    def before(self) -> str:
        """What to write before the next piece."""
        if self._first:
            self._first = False
            return "\n"
        return ",\n"


class SpooledArray:
    """An array whose items are known before its place in the document comes."""

    def __init__(self) -> None:
        self._spool = Spool()
        self._separator = Separator()

    def extend(self, items: Sequence[object]) -> None:
        """Append records (or dicts) to the array."""
        if items:
            self._spool.write(self._separator.before())
            self._spool.write(encode_items(items))

    def drain(self) -> Iterator[str]:
        """The array, brackets included, in pieces."""
        yield "["
        yield from self._spool.drain()
        yield "]"
