"""One file, or standard input -> its items, recognised by content."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.reading.commented import with_comments
from vnicaudit.audit.reading.contents import not_judged, read_all, readings
from vnicaudit.audit.reading.error_boundary import guarded_file
from vnicaudit.audit.reading.readers import (
    HEAD,
    WHOLE,
    is_told_by_all,
    nothing_in,
    reader_of,
    unrecognised_reason,
)
from vnicaudit.base.opening import open_file
from vnicaudit.errors import TargetError
from vnicaudit.model.file_kind import Content, FileKind, FileKinds, is_domain
from vnicaudit.model.report import PutAside, ReadError
from vnicaudit.text.beginning import is_own_report

if TYPE_CHECKING:
    from vnicaudit.model.file_kind import Item

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
    yield from guarded_file(shown, _file_items(path, _Input(shown, target, explicit, kinds)))


def names_nics(path: str) -> bool:
    """True if the beginning of a file of a folder names QEMU or NICs, although nothing in it was
    recognised."""
    try:
        descriptor = open_file(path)
        try:
            regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            head = _read_up_to(descriptor, WHOLE) if regular else b""
        finally:
            os.close(descriptor)
    except (OSError, TargetError):
        return False
    return b"\0" not in head and not is_own_report(head) and _OF_NICS.search(head) is not None


def _file_items(name: str, file: _Input) -> Iterator[Item]:
    descriptor = open_file(name)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISFIFO(status.st_mode):
            yield from _items(_read_pipe(descriptor, file.path), file)
            return
        if not stat.S_ISREG(status.st_mode):
            yield ReadError("not a regular file", file.path)
            return
        head = os.read(descriptor, HEAD)
        if status.st_size <= len(head) or len(head) < HEAD:
            yield from _items(head, file)
        else:
            yield from _large(descriptor, head, status.st_size, file)
    finally:
        os.close(descriptor)


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
    if len(data) > MAX_BYTES:
        yield ReadError(_too_large(len(data)), target)
        return
    yield from guarded_file(target, _items(data, _Input(target, target, explicit, kinds)))


def _large(descriptor: int, head: bytes, size: int, file: _Input) -> Iterator[Item]:
    if is_told_by_all(head, size):
        yield from _items(head + _read_up_to(descriptor, size - len(head)), file)
        return
    kind = reader_of(file.kinds, head, path=file.path, named=file.explicit)
    if kind is None:
        if file.explicit:
            yield ReadError(unrecognised_reason(file.kinds, head), file.path)
        return
    if kind.tail is not None:
        data, before = kind.tail(descriptor, size)
        content = Content(data, file.path, file.target, before)
    elif size > MAX_BYTES and not kind.any_size(head):
        yield ReadError(_too_large(size), file.path)
        return
    else:
        data = head + _read_up_to(descriptor, MAX_BYTES - len(head))
        content = Content(data, file.path, file.target)
    yield from _read_with(kind, content, file)


def _items(data: bytes, file: _Input) -> Iterator[Item]:
    kind = reader_of(file.kinds, data, path=file.path, named=file.explicit)
    if kind is not None:
        yield from _read_with(kind, Content(data, file.path, file.target), file)
    elif file.explicit:
        yield ReadError(unrecognised_reason(file.kinds, data), file.path)
    else:
        yield from file.kinds.unjudged.alone(data, file.path)


def _read_with(kind: FileKind, content: Content, file: _Input) -> Iterator[Item]:
    """Items recognised in a file, whatever its size; an error if a file that the user named has
    none."""
    if not kind.is_one(content.data):
        if file.explicit:
            yield ReadError(unrecognised_reason(file.kinds, content.data), content.path)
        return
    found = readings(file.kinds, kind, content)
    empty = True
    lines: set[int] = set()
    # most files are one document, with no parts to combine
    items = kind.read(content) if found.alone else read_all(found.parts)
    for item in with_comments(items, kind.comments, content):
        empty = False
        if isinstance(item, ReadError):
            lines.add(item.line or 0)
        elif is_domain(item):
            lines.add(item.location.line or 0)
        yield replace(item, is_explicit=file.explicit) if isinstance(item, PutAside) else item
    for part in () if found.alone else not_judged(file.kinds.unjudged, found, content, lines):
        empty = False
        yield part
    if empty and file.explicit and all(each.looks_for for each, _part in found.parts):
        yield ReadError(nothing_in(kind), content.path)


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
            from vnicaudit.base.waiting import is_readable  # only pipes are waited for

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
