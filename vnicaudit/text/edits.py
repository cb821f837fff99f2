"""Replace pieces of a text and leave every other byte as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Edit(NamedTuple):
    """Bytes ``start`` to ``end`` (exclusive) become ``new``. An empty range is an insertion, an
    empty ``new`` a removal."""

    start: int
    end: int
    new: bytes


class OverlappingEditsError(ValueError):
    """Two edits of the same bytes: they cannot both be made."""


def applied(data: bytes, edits: Iterable[Edit]) -> bytes:
    """``data`` with all edits made; positions are those before any of them.

    Raises OverlappingEditsError; equal edits count as one. Raises ValueError for a range that is
    not in ``data``.
    """
    parts: list[bytes] = []
    position = 0
    for edit in sorted(set(edits)):
        if not 0 <= edit.start <= edit.end <= len(data):
            raise ValueError(f"bytes {edit.start} to {edit.end} of {len(data)}")
        if edit.start < position:
            raise OverlappingEditsError(f"two edits of byte {edit.start}")
        parts += [data[position : edit.start], edit.new]
        position = edit.end
    return b"".join([*parts, data[position:]])
