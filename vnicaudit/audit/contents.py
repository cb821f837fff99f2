"""What stands in one file, kind by kind: a play may make an image and define a guest, a file of
manifests may hold domain XML. Each reader is given what it is to read; what is seen and not
judged is said."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from msgspec.structs import replace

from vnicaudit.audit import readers
from vnicaudit.audit.readers import (
    COMMANDS,
    DOMAIN_XML,
    KUBEVIRT,
    NOVA_CONF,
    QEMU_LOG,
    Content,
    Item,
    Reader,
)
from vnicaudit.errors import TargetError
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.domain_xml.recognise import (
    OPENING,
    SAVE_MAGIC,
    holds_document,
    is_foreign,
)

_MAY_HOLD_COMMANDS = (b"qemu-system-", b"-device", b"-netdev", b"-nic")
_REMARKS = re.compile(rb"^[ \t]*(?:#|//)[^\n]*", re.MULTILINE)


def readings(first: Reader, content: Content) -> list[tuple[Reader, Content]]:
    """Everything to be read in a file that the first reader recognised: who reads what, in the
    order of the kinds."""
    data = content.data
    if first is DOMAIN_XML and _is_all_xml(data):
        return [(first, content)]
    xml = first is DOMAIN_XML or holds_document(data)
    found = [(DOMAIN_XML, content)] if xml else []
    rest = replace(content, data=_without_documents(data)) if xml else content
    if xml and not rest.data.strip():
        return found
    for reader in readers.READERS:
        if reader is first and reader is not DOMAIN_XML:
            found.append((reader, rest))
        elif reader is not DOMAIN_XML and _may_stand_beside(reader, first, rest.data):
            part = rest
            if reader is COMMANDS:
                part = replace(rest, data=_REMARKS.sub(_blank, rest.data))
            if reader.looks_like(part.data) and reader.is_one(part.data):
                found.append((reader, part))
    return found


def read_all(parts: list[tuple[Reader, Content]]) -> Iterator[Item]:
    """What all parts say. One that cannot be read costs itself, and what two of them cannot read
    for the same reason is said once. Raises TargetError for a file of one part."""
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
    parts: list[tuple[Reader, Content]], content: Content, read: Collection[int]
) -> Iterator[NotJudged]:
    """What a file holds beside what its readers read (at the lines ``read``)."""
    readers_of = [reader for reader, _part in parts]
    if QEMU_LOG in readers_of or NOVA_CONF in readers_of or _is_one_domain(content.data, parts):
        return
    from vnicaudit.audit.unjudged import beside

    manifest, listing = KUBEVIRT in readers_of, readers_of == [COMMANDS]
    yield from beside(content.data, content.path, read, manifest=manifest, listing=listing)


def _is_one_domain(data: bytes, parts: list[tuple[Reader, Content]]) -> bool:
    """A quick look: one definition, and nothing but tags and remarks before and behind it."""
    if len(parts) > 1 or parts[0][0] is not DOMAIN_XML:
        return False
    if is_foreign(data) or data.startswith(SAVE_MAGIC):
        return True
    first, last = OPENING.search(data), data.rfind(b"</domain>")
    if first is None or data.count(b"</domain>") > 1:
        return False
    before, behind = data[: first.start()].strip(), data[last + len(b"</domain>") :].strip()
    if b"<interface" in before or b"<interface" in behind:
        return False
    return all(text[:1] in (b"", b"<") and text[-1:] in (b"", b">") for text in (before, behind))


def _is_new(error: ReadError, said: set[tuple[str, int | None]]) -> bool:
    key = (error.message, error.line)
    known = key in said
    said.add(key)
    return not known


def _is_all_xml(data: bytes) -> bool:
    """A quick look: one document from the first byte to the last, or nothing that is text."""
    if is_foreign(data) or data.startswith(b"LibvirtQemud"):
        return True
    text = data.strip()
    if not text.startswith(b"<"):
        return False
    return text.endswith(b">") and text.count(b"</domain>") <= 1


def _without_documents(data: bytes) -> bytes:
    """The file with the documents that begin their line blanked, every position kept. Those that
    are indented are the text of something, and stay."""
    from vnicaudit.platforms.domain_xml.spans import spans

    parts, position = [], 0
    for span in spans(data):
        if span.start == 0 or data[span.start - 1 : span.start] == b"\n":
            parts += [data[position : span.start], _blanked(data[span.start : span.end])]
            position = span.end
    return b"".join([*parts, data[position:]])


def _may_stand_beside(reader: Reader, first: Reader, data: bytes) -> bool:
    """Whether to look for a kind beside another at all: most cannot be, and a lint of one
    nova.conf is to load nothing else."""
    if QEMU_LOG in (reader, first):
        return False
    if reader is COMMANDS:
        return any(word in data for word in _MAY_HOLD_COMMANDS)
    if NOVA_CONF in (reader, first):
        return first in (DOMAIN_XML, COMMANDS) and reader is NOVA_CONF
    return True


def _blanked(data: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", data)


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match.group())
