"""One file, or standard input -> its items, recognised by content."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.reading.error_boundary import guarded_file
from vnicaudit.base.deadlines import is_readable
from vnicaudit.base.opening import open_file
from vnicaudit.errors import TargetError
from vnicaudit.model.file_kind import Content, FileKind, FileKinds, Item, Unjudged, is_domain
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import NotJudged, PutAside, ReadError
from vnicaudit.text.beginning import is_own_report
from vnicaudit.text.comment_walk import MARK
from vnicaudit.text.excerpts import excerpts, without_prefixes

# Recognise the kind of a file by its content, or else by its name and place.


HEAD = 64 * 1024
"""Bytes by which a kind is recognised; most files are smaller."""
WHOLE = 1024 * 1024
"""Up to this size a text is recognised by all of it: a licence may be long, and the images of a
play may come last."""


def reader_of(kinds: FileKinds, data: bytes, *, path: str, named: bool) -> FileKind | None:
    """The first kind that recognises a file with this beginning; the file may contain others as
    well. ``named``: the user named this file; a file of a folder may be about something else."""
    whole = is_fully_read(data, len(data))
    head = data if whole else data[:HEAD]
    for kind in kinds:
        found = kind.looks_like(head) and (not whole or kind.is_one(head))
        if found and (named or kind.among_others(head)):
            return kind
    return next((kind for kind in kinds if kind.has_place(path, head)), None)


def is_fully_read(head: bytes, size: int) -> bool:
    """True for a file that is recognised by all of its content, not only by its head."""
    return size <= WHOLE and b"\0" not in head


def unrecognised_reason(kinds: FileKinds, data: bytes) -> str:
    """Why no kind recognises a file with this beginning."""
    head = data[:HEAD]
    if not data.strip():
        return "empty: nothing to read"
    if is_own_report(head):
        return "a report, a plan or a baseline of vnicaudit: give what it is about"
    if (part := next(kinds.unjudged.alone(data[:WHOLE], ""), None)) is not None:
        return part.message
    reasons = (kind.why_not(head) for kind in kinds)
    if (reason := next(filter(None, reasons), None)) is not None:
        return reason
    return f"not recognised: none of {kinds}"


# Descriptions of a file in YAML or code, each with the comments in the file that accept its
# findings.
#
# Descriptions in an INI file get their comments from its reader.


if TYPE_CHECKING:
    from vnicaudit.model.finding import AcceptingComment

    _Comments = Callable[[Content], tuple[AcceptingComment, ...]]

_WITHOUT = (NovaConfig, ReadError, PutAside, NotJudged)
"""Items that get no comments here."""


def with_comments(items: Iterator[Item], comments: _Comments, content: Content) -> Iterator[Item]:
    """The items, each with its comments. If there are none, items are passed on as they are
    read."""
    if MARK.encode() not in content.data:
        return items
    entries = comments(content)
    return _commented(items, entries) if entries else items


def _commented(items: Iterator[Item], entries: tuple[AcceptingComment, ...]) -> Iterator[Item]:
    """Each description with all comments of its file, as its settings may be anywhere in the file;
    the first one reports what is wrong with them."""
    later = tuple(replace(entry, reporter=False) for entry in entries)
    for item in items:
        if isinstance(item, _WITHOUT):
            yield item
            continue
        yield replace(item, comments=entries)
        entries = later


# Contents of one file, kind by kind: a play may create an image and define a guest, a file of
# manifests may contain domain XML. Each reader gets its own part; parts that are recognised but not
# judged are reported.


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


def excerpt_parts(kinds: FileKinds, content: Content) -> list[Part]:
    """The parts that a pasted text quotes (code in Markdown, output behind prompts), with their
    kinds; empty if it quotes nothing that is recognised. Definitions are read in the whole text."""
    pieces = excerpts(content.data)
    if not pieces:
        return []
    found, rest = _documents(tuple(kinds), None, content)
    for piece in pieces if rest is content else excerpts(rest.data):
        kind = reader_of(kinds, piece, path="", named=True)
        if kind is not None and not (found and kind is found[0][0] and kind.documents is not None):
            found.append((kind, replace(rest, data=piece)))
    return found


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
    kinds: tuple[FileKind, ...], first: FileKind | None, content: Content
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


MAX_BYTES = 64 * 1024 * 1024
"""Larger files are not read (except QEMU logs, from their end)."""

_ESCAPED = rb"\\x([89a-f][0-9a-f])"
"""A byte that is not UTF-8, as :func:`shown_path` shows it: never an ASCII one such as ``/``."""

_OF_NICS = re.compile(
    rb"[Qq][Ee][Mm][Uu]|[Vv]irtio[-_]net|[Vv]host[-_]net|<interface[\s>]|\bhw_vif_|\be1000|\brtl8139"
)
"""Words of files that may be about NICs although nothing in them is recognised."""

PIPE_PATIENCE = 60.0
"""Seconds to wait for output from a pipe's writer."""


class _Input(msgspec.Struct, frozen=True):
    """A file to read: its displayed name, and its target. ``explicit``: the user named this very
    file. ``kinds``: the kinds it may be of."""

    path: str
    target: str
    explicit: bool
    kinds: FileKinds


def read_file(path: str, target: str, kinds: FileKinds, *, explicit: bool) -> Iterator[Item]:
    """The items that one file describes, or why it could not be read. ``kinds``: the kinds it may
    be of. ``explicit``: the user named this very file, so unrecognised content is an error; in a
    folder it is skipped."""
    shown = shown_path(path)
    file = _Input(shown, target, explicit, kinds)
    return guarded_file(shown, _items(partial(_recognised_file, path, file), file))


def mention_of(path: str) -> Literal["", "nics", "own report"]:
    """The subject of a file of a folder in which nothing was recognised, by its beginning: QEMU or
    NICs, a report of this program, or something else."""
    try:
        descriptor = open_file(path)
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            head = _read_up_to(descriptor, WHOLE) if regular else b""
        finally:
            os.close(descriptor)
    except (OSError, TargetError):
        return ""
    if is_own_report(head):
        return "own report"
    return "nics" if b"\0" not in head and _OF_NICS.search(head) is not None else ""


def shown_path(path: str) -> str:
    """The path as text that can be written anywhere: a byte that is not UTF-8 is shown as
    ``\\xff``."""
    if path.isascii():
        return path
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def real_path(shown: str) -> str:
    """The path of a file, from the text of :func:`shown_path`."""
    if "\\x" not in shown or os.path.lexists(shown):
        return shown
    whole = re.sub(_ESCAPED, lambda found: bytes.fromhex(found[1].decode()), os.fsencode(shown))
    return os.fsdecode(whole)


def read_stream(
    stream: BinaryIO, target: str, kinds: FileKinds, *, explicit: bool = True
) -> Iterator[Item]:
    """The items that standard input, or an open file, describes. ``kinds``: the kinds it may be of;
    ``explicit``: as for :func:`read_file`."""
    data = stream.read(MAX_BYTES + 1)
    file = _Input(target, target, explicit, kinds)
    if len(data) > MAX_BYTES:
        return iter((ReadError(_too_large(len(data)), target),))
    return guarded_file(target, _items(partial(_recognised, data, file), file))


_Recognised: TypeAlias = "tuple[FileKind, Content, Readings | None] | ReadError | list[NotJudged]"
"""The kind of a file and the content for its reader, and what it quotes if it is a pasted text; or
what is told of a file without any."""


def _recognised_file(name: str, file: _Input) -> _Recognised:
    descriptor = open_file(name)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISFIFO(status.st_mode):
            return _recognised(_read_pipe(descriptor, file.path), file)
        if not stat.S_ISREG(status.st_mode):
            return ReadError("not a regular file", file.path)
        head = os.read(descriptor, HEAD)
        if len(head) == HEAD and is_fully_read(head, status.st_size):
            head += _read_up_to(descriptor, status.st_size - HEAD)
        if HEAD <= len(head) < status.st_size:
            return _large(descriptor, head, status.st_size, file)
        return _recognised(head, file)
    finally:
        os.close(descriptor)


def _recognised(data: bytes, file: _Input) -> _Recognised:
    own = is_own_report(data)  # it may quote what a reader would take
    content = Content(data, file.path, file.target)
    if file.explicit and not own and (parts := excerpt_parts(file.kinds, content)):
        return parts[0][0], content, Readings(parts)
    kind = None if own else reader_of(file.kinds, data, path=file.path, named=file.explicit)
    if kind is not None:
        return kind, content, None
    if file.explicit:
        return _prefixed(content, file) or ReadError(
            unrecognised_reason(file.kinds, data), file.path
        )
    return [] if own else list(file.kinds.unjudged.alone(data, file.path))


def _prefixed(content: Content, file: _Input) -> _Recognised | None:
    """The kind of a text of which each line stands behind a prefix; None if it is recognised
    without, either."""
    text = without_prefixes(content.data)
    kind = None if text is None else reader_of(file.kinds, text, path="", named=True)
    if text is None or kind is None:
        return None
    content = replace(content, data=text)
    return kind, content, Readings([(kind, content)])


def _large(descriptor: int, head: bytes, size: int, file: _Input) -> _Recognised:
    """As :func:`_recognised`, for a file that is recognised by its ``head``."""
    kind = reader_of(file.kinds, head, path=file.path, named=file.explicit)
    if kind is None:
        why = ReadError(unrecognised_reason(file.kinds, head), file.path)
        return why if file.explicit else []
    if size > MAX_BYTES and not kind.any_size(head):
        return ReadError(_too_large(size), file.path)
    data = head + _read_up_to(descriptor, MAX_BYTES - len(head))
    return kind, Content(data, file.path, file.target), None


def _items(recognise: Callable[[], _Recognised], file: _Input) -> Iterator[Item]:
    """Items recognised in a file, whatever its size; an error if a file that the user named has
    none."""
    found = recognise()
    if isinstance(found, ReadError):
        yield found
        return
    if isinstance(found, list):
        yield from found
        return
    kind, content, quoted = found
    if quoted is None and not kind.is_one(content.data):
        yield from _nothing(content, file, unrecognised_reason(file.kinds, content.data))
        return
    parts = quoted or readings(file.kinds, kind, content)
    empty = True
    lines: set[int] = set()
    # most files are one document, with no parts to combine
    items = kind.read(content) if parts.alone else read_all(parts.parts)
    for item in with_comments(items, kind.comments, content):
        empty = False
        if isinstance(item, ReadError):
            lines.add(item.line or 0)
        elif is_domain(item):
            lines.add(item.location.line or 0)
        yield replace(item, is_explicit=file.explicit) if isinstance(item, PutAside) else item
    for part in () if parts.alone else not_judged(file.kinds.unjudged, parts, content, lines):
        empty = False
        yield part
    if empty:
        silent = all(each.looks_for for each, _part in parts.parts)
        why = f"recognised as {kind.name}, but it contains nothing to judge: no {kind.looks_for}"
        yield from _nothing(content, file, why if silent else "")


def _nothing(content: Content, file: _Input, why: str) -> Iterator[Item]:
    """Tell about a file of which nothing was read: with an error, ``why``, if the user named it."""
    told = list(file.kinds.unjudged.alone(content.data, content.path))
    if file.explicit and why:
        yield ReadError(told[0].message if told else why, content.path)
    else:
        yield from told


def _too_large(size: int) -> str:
    return f"larger than {MAX_BYTES >> 20} MiB ({size >> 20} MiB): not read"


def _read_up_to(descriptor: int, limit: int) -> bytes:
    parts = []
    while limit > 0 and (part := os.read(descriptor, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _read_pipe(descriptor: int, path: str) -> bytes:
    """Read a FIFO that the user named (``<(virsh dumpxml x)``) until its writer closes it.

    A FIFO without a writer ends at once; if a writer stays silent, reading times out.
    """
    parts: list[bytes] = []
    total = 0
    while total <= MAX_BYTES:
        try:
            part = os.read(descriptor, 1 << 16)
        except BlockingIOError:  # there is a writer that has not written yet
            if is_readable(descriptor, PIPE_PATIENCE):
                continue
            raise TargetError(
                f"a pipe that sent nothing for {PIPE_PATIENCE:.0f} s", file=path
            ) from None
        if not part:
            return b"".join(parts)
        parts.append(part)
        total += len(part)
    raise TargetError(_too_large(total), file=path)
