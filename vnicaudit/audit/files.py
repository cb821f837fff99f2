"""One file, or standard input -> what it describes, recognised by content."""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.model.description import Description
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.domain_xml.recognise import OTHER_ROOTS, looks_like_xml, root_name

HEAD = 64 * 1024
"""Bytes looked at to recognise a file; most definitions are smaller."""

MAX_BYTES = 64 * 1024 * 1024
"""Larger files are not read (QEMU logs are read from their end)."""

PIPE_PATIENCE = 60.0
"""Seconds to wait for a pipe's writer to say something."""

Item = Domain | Description | ReadError
Reader = Callable[[bytes, str, str], Iterator[Item]]
"""Content, path and target -> items."""

_NOT_RECOGNISED = (
    "not recognised: no libvirt domain XML, no QEMU command line, log or ps output, no nova.conf, "
    "no KubeVirt manifest"
)


def read_file(path: str, target: str, *, explicit: bool) -> Iterator[Item]:
    """What one file describes, or why it could not be read.

    ``explicit``: the user named this very file, so content that is not recognised is an error;
    in a folder it is passed over.
    """
    name, path = path, shown_path(path)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        yield ReadError(error.strerror or str(error), path)
        return
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
    except OSError as error:
        yield ReadError(error.strerror or str(error), path)
    except TargetError as error:
        yield ReadError(error.message, error.file or path, error.line)
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
    try:
        yield from _items(data, target, target, explicit=True)
    except TargetError as error:
        yield ReadError(error.message, error.file or target, error.line)


def _large(
    descriptor: int, head: bytes, size: int, path: str, target: str, *, explicit: bool
) -> Iterator[Item]:
    reader = _reader_of(head)
    if reader is None:
        if explicit:
            yield ReadError(_NOT_RECOGNISED, path)
        return
    if reader is _read_log:
        from vnicaudit.platforms.qemu.log import lines_before, read_tail

        data = read_tail(descriptor, size)  # its last start is at its end
        before = lines_before(descriptor, size - len(data))
        reader = partial(_read_log, before=before)
    elif size > MAX_BYTES and not head.startswith(b"LibvirtQemud"):
        yield ReadError(_too_large(size), path)
        return
    else:
        data = head + _read_up_to(descriptor, MAX_BYTES - len(head))
    yield from _read_with(reader, data, path, target, explicit=explicit)


def _items(data: bytes, path: str, target: str, *, explicit: bool) -> Iterator[Item]:
    reader = _reader_of(data)
    if reader is not None:
        yield from _read_with(reader, data, path, target, explicit=explicit)
    elif explicit:
        yield ReadError(_why_not(data), path)


def _read_with(
    reader: Reader, data: bytes, path: str, target: str, *, explicit: bool
) -> Iterator[Item]:
    """What was recognised, whatever its size; a file the user named says so if that is nothing."""
    empty = True
    for item in reader(data, path, target):
        empty = False
        yield item
    if empty and explicit and reader is not _read_kubevirt:  # attachments are no domains, and right
        yield ReadError("recognised, but there is no domain in it", path)


def _reader_of(head: bytes) -> Reader | None:
    if looks_like_xml(head):
        return _read_xml
    from vnicaudit.platforms.nova_conf.recognise import looks_like as looks_like_nova

    if looks_like_nova(head):
        return _read_nova
    from vnicaudit.platforms.qemu.read import looks_like as looks_like_qemu

    kind = looks_like_qemu(head)
    if kind is not None:
        return _read_log if kind == "log" else _read_qemu
    from vnicaudit.platforms.kubevirt.recognise import looks_like as looks_like_kubevirt

    if looks_like_kubevirt(head):
        return _read_kubevirt
    from vnicaudit.platforms.infra_code.recognise import looks_like as looks_like_infra_code

    return _read_infra_code if looks_like_infra_code(head) else None


def _read_kubevirt(data: bytes, path: str, target: str) -> Iterator[Item]:
    from vnicaudit.platforms.kubevirt.read import read_bytes

    yield from read_bytes(data, target=target, file=path)


def _read_infra_code(data: bytes, path: str, target: str) -> Iterator[Item]:
    from vnicaudit.platforms.infra_code.recognise import read

    yield from read(data, target=target, file=path)


def _read_xml(data: bytes, path: str, target: str) -> Iterator[Item]:
    # each reader is imported when there is something for it: a lint of one nova.conf needs no lxml
    from vnicaudit.platforms.domain_xml.read import read_bytes

    for domain in read_bytes(data, target=target, file=path):
        yield domain
        yield from domain.unread


def _read_qemu(data: bytes, path: str, target: str, before: int | None = 0) -> Iterator[Item]:
    """``before``: how many lines of the file stand before ``data``; None: nobody counted."""
    from vnicaudit.platforms.qemu.domain import domain_of
    from vnicaudit.platforms.qemu.read import read_text

    found = read_text(data, target=target, file=path, before=before)
    for number, qemu in enumerate(found, 1):
        mark = f"#{number}" if qemu.name is None else qemu.name
        yield replace(domain_of(qemu, target), mark=mark)


def _read_log(data: bytes, path: str, target: str, before: int | None = 0) -> Iterator[Item]:
    yield from _read_qemu(data, path, target, before)


def _read_nova(data: bytes, path: str, target: str) -> Iterator[Item]:
    from vnicaudit.platforms.nova_conf.siblings import read_with_siblings

    yield read_with_siblings(data, target=target, file=path)


def _why_not(data: bytes) -> str:
    if not data.strip():
        return "empty: nothing to read"
    name = root_name(data[:HEAD]) if data.lstrip().startswith(b"<") else None
    if name in OTHER_ROOTS:
        return f"a libvirt <{name}> document: it describes no NIC"
    if name is not None:
        return f"XML with the root <{name}>: not a libvirt domain"
    return _NOT_RECOGNISED


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
