"""One file, or standard input -> what it describes, recognised by content."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from msgspec.structs import replace

from vnicaudit.audit.contents import not_judged, read_all, readings
from vnicaudit.audit.edge import guarded_file
from vnicaudit.audit.readers import (
    HEAD,
    Content,
    Item,
    Reader,
    is_told_by_all,
    nothing_in,
    reader_of,
    why_not,
)
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import PutAside, ReadError

MAX_BYTES = 64 * 1024 * 1024
"""Larger files are not read (QEMU logs are read from their end)."""

PIPE_PATIENCE = 60.0
"""Seconds to wait for a pipe's writer to say something."""

__all__ = ["MAX_BYTES", "Item", "read_file", "read_stream", "shown_path"]


def read_file(path: str, target: str, *, explicit: bool) -> Iterator[Item]:
    """What one file describes, or why it could not be read.

    ``explicit``: the user named this very file, so content that is not recognised is an error;
    in a folder it is passed over.
    """
    shown = shown_path(path)
    yield from guarded_file(shown, _file_items(path, shown, target, explicit=explicit))


def _file_items(name: str, path: str, target: str, *, explicit: bool) -> Iterator[Item]:
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISFIFO(status.st_mode):
            yield from _items(_read_pipe(descriptor, path), path, target, explicit=explicit)
            return
        if not stat.S_ISREG(status.st_mode):
            yield ReadError("not a regular file", path)
            return
        head = os.read(descriptor, HEAD)
        if status.st_size <= len(head) or len(head) < HEAD:
            yield from _items(head, path, target, explicit=explicit)
        else:
            yield from _large(descriptor, head, status.st_size, path, target, explicit=explicit)
    finally:
        os.close(descriptor)


def shown_path(path: str) -> str:
    """The path as text that can be written anywhere: a byte of it that is not UTF-8 is shown as
    ``\\xff``."""
    if path.isascii():
        return path
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_stream(stream: BinaryIO, target: str) -> Iterator[Item]:
    """What standard input describes."""
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        yield ReadError(_too_large(len(data)), target)
        return
    yield from guarded_file(target, _items(data, target, target, explicit=True))


def _large(
    descriptor: int, head: bytes, size: int, path: str, target: str, *, explicit: bool
) -> Iterator[Item]:
    if is_told_by_all(head, size):
        head += _read_up_to(descriptor, size - len(head))
        yield from _items(head, path, target, explicit=explicit)
        return
    reader = reader_of(head, named=explicit)
    if reader is None:
        if explicit:
            yield ReadError(why_not(head), path)
        return
    if reader.from_end:
        from vnicaudit.platforms.qemu.log import lines_before, read_tail

        data = read_tail(descriptor, size)  # its last start is at its end
        content = Content(data, path, target, lines_before(descriptor, size - len(data)))
    elif size > MAX_BYTES and not head.startswith(b"LibvirtQemud"):
        yield ReadError(_too_large(size), path)
        return
    else:
        data = head + _read_up_to(descriptor, MAX_BYTES - len(head))
        content = Content(data, path, target)
    yield from _read_with(reader, content, explicit=explicit)


def _items(data: bytes, path: str, target: str, *, explicit: bool) -> Iterator[Item]:
    reader = reader_of(data, named=explicit)
    if reader is not None:
        yield from _read_with(reader, Content(data, path, target), explicit=explicit)
    elif explicit:
        yield ReadError(why_not(data), path)
    else:
        from vnicaudit.audit.unjudged import alone

        yield from alone(data, path)


def _read_with(reader: Reader, content: Content, *, explicit: bool) -> Iterator[Item]:
    """What was recognised, whatever its size; a file the user named says so if that is nothing."""
    if not reader.is_one(content.data):
        if explicit:
            yield ReadError(why_not(content.data), content.path)
        return
    parts = readings(reader, content)
    empty = True
    lines: set[int] = set()
    for item in read_all(parts):
        empty = False
        if isinstance(item, Domain):
            lines.add(item.location.line or 0)
        elif isinstance(item, ReadError):
            lines.add(item.line or 0)
        yield replace(item, named=explicit) if isinstance(item, PutAside) else item
    for part in not_judged(parts, content, lines):
        empty = False
        yield part
    if empty and explicit and all(reader.looks_for for reader, _part in parts):
        yield ReadError(nothing_in(reader), content.path)


def _too_large(size: int) -> str:
    return f"larger than {MAX_BYTES >> 20} MiB ({size >> 20} MiB): not read"


def _read_up_to(descriptor: int, limit: int) -> bytes:
    parts = []
    while limit > 0 and (part := os.read(descriptor, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _read_pipe(descriptor: int, path: str) -> bytes:
    """A FIFO the user named (``<(virsh dumpxml x)``): read until its writer closes it.

    A FIFO nobody writes to ends at once; one whose writer stays silent is given up.
    """
    parts: list[bytes] = []
    total = 0
    import select  # for pipes only

    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while total <= MAX_BYTES:
        try:
            part = os.read(descriptor, 1 << 16)
        except BlockingIOError:  # there is a writer, and it has not written yet
            if poll.poll(PIPE_PATIENCE * 1000):
                continue
            raise TargetError(
                f"a pipe that stayed silent for {PIPE_PATIENCE:.0f} s", file=path
            ) from None
        if not part:
            return b"".join(parts)
        parts.append(part)
        total += len(part)
    raise TargetError(_too_large(total), file=path)
