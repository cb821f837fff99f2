"""Find the XML documents in a blob and parse each one, hardened.

Nothing is fetched and no entity is expanded: a document that declares entities or an external
DTD is refused (libvirt's own files never do), and libxml2's limits on depth, text size and
amplification stay on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lxml import etree

from vnicaudit.errors import TargetError

ROOTS = ("domain", "domstatus", "domainsnapshot", "domainbackup", "domaincheckpoint")
"""Roots that contain a domain definition."""

OTHER_ROOTS = (
    "network", "networkport", "pool", "volume", "secret", "filter", "capabilities", "nodedevice",
    "domainCapabilities", "interface", "filterbinding", "cpu",
)  # fmt: skip
"""Other libvirt documents: known, and of no interest when found in a directory."""

_SAVE_MAGIC = (b"LibvirtQemudSave", b"LibvirtQemudPart")
_SAVE_HEADER = 16 + 5 * 4 + 14 * 4
"""struct _virQEMUSaveHeader, libvirt 11.3 src/qemu/qemu_saveimage.h."""

_OPEN = re.compile(rb"<(%s)(?=[\s>/])" % "|".join(ROOTS).encode())
_HEAD = re.compile(rb"<([A-Za-z_][\w.-]*)(?=[\s>/])")
_DECLARATION = re.compile(rb"<\?xml\s[^>]*\?>")
_DOCTYPE = re.compile(rb"<!DOCTYPE\b")

_PARSER = etree.XMLParser(
    resolve_entities=False,
    no_network=True,
    load_dtd=False,
    dtd_validation=False,
    huge_tree=False,
    remove_comments=True,
    remove_pis=True,
    collect_ids=False,
)


class Document(NamedTuple):
    """One parsed document: its root element, the number of lines before it in the file, and its
    1-based place among the documents of the file (0: it is the only one)."""

    root: etree._Element
    line_base: int
    ordinal: int


def looks_like_xml(head: bytes) -> bool:
    """Whether a file that begins with ``head`` (some kilobytes) may hold domain XML: a libvirt
    root element, in any encoding lxml reads, perhaps after a log line."""
    return _OPEN.search(_ascii(head)) is not None or head.startswith(_SAVE_MAGIC)


def root_name(head: bytes) -> str | None:
    """The name of the first element in ``head``, None when there is none."""
    match = _HEAD.search(_ascii(head))
    return None if match is None else match.group(1).decode()


def documents(data: bytes, file: str) -> Iterator[Document]:
    """Parse every document in ``data``.

    Raises TargetError with file and line at the first one that is not well-formed; documents
    before it have been yielded by then.
    """
    if data.startswith(_SAVE_MAGIC):
        data = _save_image_xml(data, file)
    if b"<!DOCTYPE" not in data and b"<!ENTITY" not in data:
        root = _try_parse(data)
        if root is not None:
            yield Document(root, 0, 0)
            return
    yield from _split(data, file)


def _try_parse(data: bytes) -> etree._Element | None:
    try:
        root = etree.fromstring(data, _PARSER)
    except (etree.XMLSyntaxError, ValueError):
        return None
    info = root.getroottree().docinfo
    return None if info.internalDTD is not None or info.externalDTD is not None else root


def _split(data: bytes, file: str) -> Iterator[Document]:
    """The slow path: several documents, text around them, other encodings, errors."""
    if _wide(data):
        yield Document(_parse(data, file, 0), 0, 0)
        return
    spans = list(_spans(data))
    if not spans:
        yield Document(_parse(data, file, 0), 0, 0)
        return
    for ordinal, (start, end) in enumerate(spans, 1):
        base = data.count(b"\n", 0, start)
        root = _parse(data[start:end], file, base)
        yield Document(root, base, ordinal if len(spans) > 1 else 0)


def _spans(data: bytes) -> Iterator[tuple[int, int]]:
    """Byte ranges of documents: from the XML declaration (or the root) to the root's end tag."""
    position = 0
    while (match := _OPEN.search(data, position)) is not None:
        end = _end_of(data, match)
        prologs = list(_DECLARATION.finditer(data, position, match.start()))
        prolog = prologs[-1] if prologs else _DOCTYPE.search(data, position, match.start())
        yield (match.start() if prolog is None else prolog.start()), end
        position = end


def _end_of(data: bytes, opening: re.Match[bytes]) -> int:
    """Where the element opened by ``opening`` ends, counting elements of the same name inside;
    the end of the data when it never does."""
    name = re.escape(opening.group(1))
    depth = 0
    for tag in re.finditer(rb"<(/?)%s(?=[\s>/])[^<>]*?(/?)>" % name, data[opening.start() :]):
        if tag.group(1):
            depth -= 1
        elif not tag.group(2):
            depth += 1
        if depth <= 0:
            return opening.start() + tag.end()
    return len(data)


def _parse(data: bytes, file: str, line_base: int) -> etree._Element:
    if (doctype := _DOCTYPE.search(data)) is not None or b"<!ENTITY" in data:
        line = line_base + data.count(b"\n", 0, doctype.start() if doctype else 0) + 1
        raise TargetError(
            "has a document type declaration (entities or an external DTD): not read, "
            "libvirt never writes one",
            file=file,
            line=line,
        )
    try:
        root = etree.fromstring(data, _PARSER)
    except etree.XMLSyntaxError as error:
        line, _column = error.position
        reason = (error.msg or "not XML").rsplit(", line ", 1)[0]
        raise TargetError(
            f"not well-formed XML: {reason}", file=file, line=line_base + max(line or 1, 1)
        ) from None
    except ValueError as error:
        raise TargetError(f"not readable as XML: {error}", file=file) from None
    info = root.getroottree().docinfo
    if info.internalDTD is not None or info.externalDTD is not None:
        raise TargetError(
            "has a document type declaration (entities or an external DTD): not read", file=file
        )
    return root


def _save_image_xml(data: bytes, file: str) -> bytes:
    """The definition at the start of a libvirt save image (``virsh save``, managed save)."""
    for order in ("little", "big"):
        version = int.from_bytes(data[16:20], order)
        length = int.from_bytes(data[20:24], order)
        if 0 < version < 16 and 0 < length <= len(data) - _SAVE_HEADER:
            # the XML and then, from version 2 on, a cookie; both end with a NUL
            return data[_SAVE_HEADER : _SAVE_HEADER + length].split(b"\0", 1)[0]
    raise TargetError("a libvirt save image that is truncated or of an unknown version", file=file)


def _wide(data: bytes) -> bool:
    """UTF-16 or UTF-32, by byte order mark or by zero bytes around the first ``<``."""
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]


def _ascii(head: bytes) -> bytes:
    """``head`` with the zero bytes of UTF-16 and UTF-32 taken out, good enough to look at."""
    return head.replace(b"\0", b"") if _wide(head) else head
