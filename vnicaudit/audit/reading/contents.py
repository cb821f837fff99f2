"""Contents of one file, kind by kind: a play may create an image and define a guest, a file of
manifests may contain domain XML. Each reader gets its own part; parts that are recognised but not
judged are reported."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import msgspec
from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.model.file_kind import Content, FileKind, Item, Unjudged
from vnicaudit.model.report import NotJudged, ReadError

Part = tuple[FileKind, Content]
"""A kind of file, and the content for its reader."""


class Readings(msgspec.Struct, frozen=True):
    """Everything to be read in a file, in the order of the kinds. ``alone``: it is one document,
    with only tags and comments before and after it."""

    parts: list[Part]
    alone: bool = False


def readings(kinds: Iterable[FileKind], first: FileKind, content: Content) -> Readings:
    """Everything to be read in a file that the kind ``first`` recognised."""
    extent = "several" if first.documents is None else first.documents.extent(content.data)
    if extent != "several":
        return Readings([(first, content)], extent == "alone")
    return Readings(_parts(tuple(kinds), first, content))


def _parts(kinds: tuple[FileKind, ...], first: FileKind, content: Content) -> list[Part]:
    found, rest = _documents(kinds, first, content)
    if found and not rest.data.strip():
        return found
    for kind in kinds:
        if kind.documents is None and kind is first:
            found.append((kind, rest))
        elif kind.documents is None and _may_stand_beside(kind, first, rest.data):
            part = rest
            if kind.prepared is not None:
                part = replace(rest, data=kind.prepared(rest.data))
            if kind.looks_like(part.data) and kind.is_one(part.data):
                found.append((kind, part))
    return found


def _documents(
    kinds: tuple[FileKind, ...], first: FileKind, content: Content
) -> tuple[list[Part], Content]:
    """Parts made of documents that may occur in files of any kind, and the content without them."""
    found, rest = [], content
    for kind in kinds:
        documents = kind.documents
        if documents is not None and (kind is first or documents.holds(content.data)):
            found.append((kind, content))
            rest = replace(rest, data=documents.without(rest.data))
    return found, rest


def read_all(parts: list[Part]) -> Iterator[Item]:
    """The items of all parts of a file. A part that cannot be read does not affect the others, and
    if two parts fail for the same reason, it is reported once. Raises TargetError for a file of one
    part."""
    if len(parts) == 1:
        yield from parts[0][0].read(parts[0][1])
        return
    said: set[tuple[str, int | None]] = set()
    for reader, content in parts:
        try:
            for item in reader.read(content):
                if not isinstance(item, ReadError) or _is_new(item, said):
                    yield item
        except TargetError as error:
            failed = ReadError(error.message, error.file or content.path, error.line)
            if _is_new(failed, said):
                yield failed


def not_judged(
    unjudged: Unjudged, readings: Readings, content: Content, read: Collection[int]
) -> Iterator[NotJudged]:
    """The parts of a file that none of its readers read (``read``: the lines that were read)."""
    notations = [kind.notation for kind, _part in readings.parts]
    if "log" in notations or "ini" in notations:
        return
    manifest, listing = "yaml" in notations, notations == ["words"]
    yield from unjudged.beside(content.data, content.path, read, manifest=manifest, listing=listing)


def _is_new(error: ReadError, said: set[tuple[str, int | None]]) -> bool:
    key = (error.message, error.line)
    known = key in said
    said.add(key)
    return not known


def _may_stand_beside(kind: FileKind, first: FileKind, data: bytes) -> bool:
    """True if ``kind`` may occur beside ``first`` in one file: most kinds cannot, and a lint of one
    nova.conf should load nothing else."""
    notations = (kind.notation, first.notation)
    if "log" in notations:
        return False
    if kind.may_hold is not None:
        return kind.may_hold(data)
    if "ini" in notations:
        return kind.notation == "ini" and first.notation in ("xml", "words")
    return True
