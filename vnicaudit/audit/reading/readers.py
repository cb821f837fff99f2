"""Recognise the kind of a file by its content, or else by its name and place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vnicaudit.model.file_kind import FileKind, FileKinds


HEAD = 64 * 1024
"""Bytes by which a kind is recognised; most files are smaller."""
WHOLE = 1024 * 1024
"""Up to this size a text is recognised by all of it: a licence may be long, and the images of a
play may come last."""


def reader_of(kinds: FileKinds, data: bytes, *, path: str, named: bool) -> FileKind | None:
    """The first kind that recognises a file with this beginning; the file may contain others as
    well. ``named``: the user named this file; a file of a folder may be about something else."""
    whole = is_told_by_all(data, len(data))
    head = data if whole else data[:HEAD]
    for kind in kinds:
        found = kind.looks_like(head) and (not whole or kind.is_one(head))
        if found and (named or kind.among_others(head)):
            return kind
    return next((kind for kind in kinds if kind.has_place(path, head)), None)


def is_told_by_all(head: bytes, size: int) -> bool:
    """True for a file that is recognised by all of its content, not only by its head."""
    return size <= WHOLE and b"\0" not in head


def unrecognised_reason(kinds: FileKinds, data: bytes) -> str:
    """Why no kind recognises a file with this beginning."""
    head = data[:HEAD]
    if not data.strip():
        return "empty: nothing to read"
    if (part := next(kinds.unjudged.alone(data[:WHOLE], ""), None)) is not None:
        return part.message
    reasons = (kind.why_not(head) for kind in kinds)
    if (reason := next(filter(None, reasons), None)) is not None:
        return reason
    return "not recognised: none of " + ", ".join(kind.name for kind in kinds)


def nothing_in(kind: FileKind) -> str:
    """The error for a file of this kind that contains nothing to be judged."""
    return f"recognised as {kind.name}, but it contains nothing to judge: no {kind.looks_for}"
