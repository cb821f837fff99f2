"""Find the XML documents in a blob and parse each one safely.

Nothing is fetched and no entity is expanded: a document that declares entities or an external DTD
is refused (libvirt's own files never do), and libxml2's limits on depth, text size and
amplification stay on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from lxml import etree

from vnicaudit.errors import TargetError
from vnicaudit.platforms.domain_xml.recognise import (
    DOCTYPE,
    OPENING,
    ROOTS,
    SAVE_MAGIC,
    Span,
    as_utf8,
    is_foreign,
    spans,
)
from vnicaudit.platforms.domain_xml.source import is_crowded
from vnicaudit.text.beginning import (
    NO_BREAK_SPACE,
    TYPOGRAPHIC_QUOTES,
    blanked,
    placeholder_text,
)
from vnicaudit.text.secrets import STARS
from vnicaudit.text.template_walk import CLOSE, tags

# Template tags (Jinja, Go, ERB, Terraform) in domain XML, and their effect on elements.
#
# Nothing is rendered. Tags are made harmless to an XML parser, keeping every position; ERB's tags
# become Jinja's.


_BEGINNINGS = (b"{", b"$", b"@", b"%", b"((", b"[[", b"&lt;", b"__")
_UNFIT = re.compile(rb"[<>&\"']")


def may_be_template(data: bytes) -> bool:
    """Quick test: True if the data contains anything with which a placeholder can begin."""
    return any(begin in data for begin in _BEGINNINGS)


def harmless(data: bytes) -> bytes:
    """A template converted to XML that can probably be parsed: of the same length, with the same
    line breaks."""
    parts, position = [], 0
    for tag in tags(data.decode("latin-1"), erb=True):
        parts += [data[position : tag.start], _inert(data[tag.start : tag.end], tag.opener)]
        position = tag.end
    return b"".join([*parts, data[position:]]) if parts else data


def _inert(text: bytes, opener: str) -> bytes:
    if opener == "{#":
        return blanked(text)
    if opener == "%{":
        return _UNFIT.sub(b"_", text)
    inner = _UNFIT.sub(b"_", text[2:-2])
    if opener == "<%":
        opener = "{{" if inner.startswith((b"=", b"-=")) else "{%"
    return opener.encode() + inner + CLOSE[opener].encode()


class TagEffect(NamedTuple):
    """The effect of the tags in a text between elements. ``depth``: number of conditions or loops
    open behind it. ``inserts``: the tag that inserts unknown content; empty if none does."""

    depth: int
    inserts: str = ""


def effect(text: str | None, depth: int) -> TagEffect:
    """The effect of the tags in a text between elements, before which ``depth`` conditions or loops
    are open."""
    if not text or "{" not in text:
        return TagEffect(depth)
    inserts = ""
    for tag in tags(text, erb=True):
        turn = tag.turn
        if turn == "begins":
            depth += 1
        elif turn == "ends":
            depth = max(0, depth - 1)
        elif turn == "inserts":
            inserts = inserts or tag.text
    return TagEffect(depth, inserts)


def has_tag(text: str | None) -> bool:
    """True if a text between elements contains a template tag."""
    return bool(text) and any(opener in (text or "") for opener in ("{{", "{%", "%{"))


@lru_cache(maxsize=2)
def document_spans(data: bytes) -> tuple[Span, ...]:
    """The spans of the documents in a file. Cached for the last files: each of their domains, and
    each NIC, needs them."""
    return tuple(spans(harmless(data) if may_be_template(data) else data))


MAX_DOCUMENT = 8 * 1024 * 1024
"""Bytes of one document; 10,000 NICs are about 4 MB."""
MAX_TAGS = 1_000_000
"""Start and end tags of one document: an element takes a hundred times the memory of ``<a/>``."""
MAX_NICS = 20_000
"""NICs of one document: each is a record of 2.5 KB, plus its findings."""

_MOST_DOCTYPES = 64
_FOREIGN = re.compile(rb"\s+([A-Za-z_][\w.-]{0,100})(?=[\s>\[])")
_ELEMENT = re.compile(rb"<([A-Za-z_][\w.-]{0,100})(?=[\s>/])")
_NAME = re.compile(rb"<name>([^<>&\x00-\x1f]{1,200})</name>")
_HIDDEN_NAME = re.compile(rb"<name>([^<]{1,200})</name>")
_CONTROLS = re.compile(r"[\x00-\x1f\ufffe\uffff]")

_SAVE_HEADER = 16 + 5 * 4 + 14 * 4
"""struct _virQEMUSaveHeader, libvirt 11.3 src/qemu/qemu_saveimage.h."""

_TYPED = (
    (tuple(one.encode() for one in TYPOGRAPHIC_QUOTES), "typographic quotes"),
    ((NO_BREAK_SPACE.encode(),), "no-break spaces"),
)

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


class XmlDocument(NamedTuple):
    """One parsed document: its root element, the number of lines before it in the file, and its
    1-based number among the documents of the file (0: it is the only one). ``template``: something
    in it may be filled in; ``tag``: the template tag because of which it is not valid XML yet, so
    that its root is empty."""

    root: etree._Element
    line_base: int
    ordinal: int
    template: bool = False
    tag: str = ""


def documents(data: bytes, file: str) -> Iterator[XmlDocument]:
    """Parse every document in ``data``.

    Raises TargetError, with file and line, after all readable documents: for the first one that is
    not readable, with the number of the others.
    """
    wrapped = False
    if data.startswith(SAVE_MAGIC):
        data = _save_image_xml(data, file)
    elif is_foreign(data):
        data = as_utf8(data, file)
    declares = b"<!DOCTYPE" in data or b"<!ENTITY" in data
    if len(data) <= MAX_DOCUMENT and not declares and not _too_much(data):
        root = parsed(data)
        # not a document of another program (a collection, a report) that contains definitions
        if root is not None and (
            root.tag in ROOTS or not any(map(_has_devices, root.iter("domain")))
        ):
            yield XmlDocument(root, 0, 0, may_be_template(data))
            return
        wrapped = root is not None
    yield from _split(data, file, wrapped=wrapped)


def _has_devices(domain: etree._Element) -> bool:
    """True for a domain with devices; the ``<domain>`` of a name server or of libvirt's
    capabilities has none."""
    return domain.find("devices") is not None


def _without_foreign(data: bytes) -> bytes:
    """The file with foreign documents blanked: those whose document type and root have another name
    (AutoYaST's profile), so that their ``<domain>`` means something else. They are not parsed."""
    position = 0
    for _ in range(_MOST_DOCTYPES):
        found = DOCTYPE.search(data, position)
        if found is None:
            break
        position = found.end()
        named = _FOREIGN.match(data, position)
        if named is None or named[1].decode() in ROOTS:
            continue
        root = _ELEMENT.search(data, _behind_doctype(data, named.end()))
        closing = data.rfind(b"</" + named[1] + b">", position)
        if root is None or root[1] != named[1] or closing < 0:
            continue
        end = closing + len(named[1]) + 3
        start = data.rfind(b"<?xml", 0, found.start())
        start = found.start() if start < 0 else start
        data = data[:start] + blanked(data[start:end]) + data[end:]
        position = end
    return data


def _behind_doctype(data: bytes, position: int) -> int:
    """The position behind the ``>`` that ends a document type, including its declarations."""
    end, subset = data.find(b">", position), data.find(b"[", position)
    if 0 <= subset < end:
        end = data.find(b">", max(subset, data.find(b"]", subset)))
    return len(data) if end < 0 else end


def _too_much(data: bytes) -> bool:
    """True if a document has more NICs or tags than any domain; most are too small to be
    counted."""
    if len(data) <= MAX_NICS * len(b"<hostdev"):
        return False
    nics = data.count(b"<interface") + data.count(b"<hostdev")
    return nics > MAX_NICS or data.count(b"<") > MAX_TAGS


def parsed(data: bytes) -> etree._Element | None:
    """The root of one document; None for one that is not well-formed, has a document type, or an
    element with too many attributes."""
    if is_crowded(data):
        return None
    try:
        root = etree.fromstring(data, _PARSER)
    except (etree.XMLSyntaxError, ValueError):
        return None
    info = root.getroottree().docinfo
    return None if info.internalDTD is not None or info.externalDTD is not None else root


def _split(data: bytes, file: str, *, wrapped: bool) -> Iterator[XmlDocument]:
    """The slow path: several documents, text around them, errors. An unreadable document does not
    affect the others. ``wrapped``: they are inside a document of another kind, in which
    ``<domain>`` may mean something else."""
    data = _without_foreign(data)
    template = may_be_template(data)
    hidden = harmless(data) if template else data
    found = list(spans(hidden))
    if not found and data.strip() and OPENING.search(hidden) is None:
        found = [Span(0, len(data), 0)]  # to get the parser's message
    first: TargetError | None = None
    unreadable = 0
    for ordinal, span in enumerate(found, 1):
        try:
            part = slice(span.start, span.end)
            root, tag = _parse(data[part], hidden[part], file, span.lines)
        except TargetError as error:
            unreadable += 1
            first = first or TargetError(error.message, line=error.line)
        else:
            if not wrapped or _has_devices(root) or root.tag != "domain":
                yield XmlDocument(root, span.lines, ordinal if len(found) > 1 else 0, template, tag)
    if first is not None:
        more = f" (and {unreadable - 1} more documents)" if unreadable > 1 else ""
        raise TargetError(f"{first.message}{more}", file=file, line=first.line)


def _parse(data: bytes, hidden: bytes, file: str, lines: int) -> tuple[etree._Element, str]:
    """The root of one document; for a template that is not valid XML, an empty root and one of its
    tags. ``hidden``: the document with template tags made harmless."""
    if (doctype := DOCTYPE.search(data)) is not None or b"<!ENTITY" in data:
        line = lines + data.count(b"\n", 0, doctype.start() if doctype else 0) + 1
        raise TargetError(
            "has a document type declaration (entities or an external DTD): not read, "
            "libvirt never writes one",
            file=file,
            line=line,
        )
    if len(data) > MAX_DOCUMENT or _too_much(data):
        raise TargetError(
            f"a document of {len(data) >> 20} MiB and {data.count(b'<'):,} tags: not read, "
            "no domain is that large",
            file=file,
            line=lines + 1,
        )
    if is_crowded(data):
        raise TargetError(
            "an element with hundreds of attributes: not read, no element of a domain has so many",
            file=file,
            line=lines + 1,
        )
    root, tag = _well_formed(data, hidden, file, lines)
    info = root.getroottree().docinfo
    if info.internalDTD is not None or info.externalDTD is not None:
        raise TargetError(
            "has a document type declaration (entities or an external DTD): not read", file=file
        )
    return root, tag


def _well_formed(data: bytes, hidden: bytes, file: str, lines: int) -> tuple[etree._Element, str]:
    try:
        return etree.fromstring(data, _PARSER), ""
    except etree.XMLSyntaxError as error:
        if hidden != data or b"{%" in data or b"{{" in data or b"%{" in data:
            if (root := parsed(hidden)) is not None:
                return _with_template_name(root, data, hidden), ""
            if (tag := _condition(data, hidden)) is not None:
                root = etree.Element("domain")  # of which only the name is known, if it is there
                if (name := _NAME.search(hidden)) is not None:
                    etree.SubElement(root, "name").text = name[1].decode("utf-8", "replace")
                return root, placeholder_text(tag)
        line, _column = error.position
        reason = complaint((error.msg or "not XML").rsplit(", line ", 1)[0].strip(), data)
        at = max(line or 1, 1)
        wrong = b"".join(data.split(b"\n", at)[at - 1 : at])
        for characters, typed in _TYPED:
            if any(one in wrong for one in characters):
                reason = f"{typed}, as chats and word processors write them: {reason}"
                break
        raise TargetError(f"not well-formed XML: {reason}", file=file, line=lines + at) from None
    except ValueError as error:
        raise TargetError(f"not readable as XML: {error}", file=file) from None


def _with_template_name(root: etree._Element, data: bytes, hidden: bytes) -> etree._Element:
    """The domain with the name as its template writes it, instead of the harmless form for the
    parser."""
    element, said = root.find("name"), _HIDDEN_NAME.search(hidden)
    if (
        element is not None
        and said is not None
        and element.text == said[1].decode("utf-8", "replace")
    ):
        name = data[said.start(1) : said.end(1)].decode("utf-8", "replace")
        element.text = _CONTROLS.sub(" ", name)
    return root


def _condition(data: bytes, hidden: bytes) -> str | None:
    """A condition or loop of a template, which may be why it is not valid XML; None if there is
    none: an expression alone cannot break the XML around it."""
    for tag in tags(data.decode("latin-1"), erb=True):
        # a statement of a Go template: a condition, a loop, ``template`` or ``include``
        decides = tag.turn in ("begins", "between", "ends") or tag.word in ("template", "include")
        if hidden.startswith((b"{%", b"%{"), tag.start) or (tag.opener == "{{" and decides):
            return data[tag.start : tag.end].decode("utf-8", "replace")
    return None


def _save_image_xml(data: bytes, file: str) -> bytes:
    """The definition at the start of a libvirt save image (``virsh save``, managed save)."""
    for order in ("little", "big"):
        version = int.from_bytes(data[16:20], order)
        length = int.from_bytes(data[20:24], order)
        if 0 < version < 16 and 0 < length <= len(data) - _SAVE_HEADER:
            # XML and then, from version 2 on, a cookie; both end with a NUL
            return data[_SAVE_HEADER : _SAVE_HEADER + length].split(b"\0", 1)[0]
    raise TargetError("a libvirt save image that is truncated or of an unknown version", file=file)


# Messages of libxml2 about broken XML, without the secrets that they may quote.
#
# The messages name elements, attributes and entities. If quotes or brackets are broken, such a name
# may be a piece of a password (``p&ssword;``). So a name is shown only if it is that of a tag or an
# attribute in the text with its secrets masked.


_QUOTING = re.compile(
    r"(?P<before>ending tag mismatch: |of Start Tag |of data in tag |Entity '|Namespace prefix "
    r"|for attribute |Attribute )(?P<one>[^\s']+)"
    r"(?P<middle>(?: line \d+ and | on | for )(?P<two>\S+))?"
)
_ENTITY = "Entity '"


def complaint(message: str, data: bytes) -> str:
    """The parser's message about ``data``."""
    found = _QUOTING.search(message)
    if found is None:
        return message
    text = data.decode("latin-1")
    names = [name for name in (found["one"], found["two"]) if name]
    if found["before"] == _ENTITY:
        text = ""
    for name in names:
        if not _stands_in(name, text):
            message = message.replace(name, STARS)
    return message


def _stands_in(name: str, text: str) -> bool:
    """True if ``name`` is a tag or an attribute in the text, and no word with digits, which may be
    part of a secret."""
    return (
        name.isalpha()
        and re.search(rf"<{re.escape(name)}[\s/>]|\b{re.escape(name)}\s*=", text) is not None
    )
