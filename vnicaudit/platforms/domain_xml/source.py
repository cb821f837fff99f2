"""The bytes of a definition in which tags can be searched, and the text of one NIC in them."""

from __future__ import annotations

import codecs
import html
import re
from functools import lru_cache
from typing import NamedTuple

from vnicaudit.errors import RefusedError
from vnicaudit.platforms.domain_xml.recognise import SAVE_MAGIC, as_utf8, is_foreign
from vnicaudit.text.edits import Edit, applied

_DECLARED = re.compile(rb"<\?xml\s[^<>]*?\bencoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_MARKUP = "<>='\"/-_:. \t\r\nazAZ09"
_STATEFUL = ("iso2022", "utf-7", "hz")
"""In these encodings an ASCII byte may be part of another character."""
NOT_WRITTEN = "its encoding, {}, cannot be written: convert the file to UTF-8"


def check_encoding(data: bytes, start: int, end: int) -> None:
    """Raises RefusedError if a document of a file is in an encoding in which tags cannot be
    recognised by their bytes."""
    if is_foreign(data):
        raise RefusedError(NOT_WRITTEN.format("UTF-16 or UTF-32"))
    declared = _DECLARED.search(data, start, end)
    if declared is None:
        return
    name = declared[1].decode("ascii")
    try:
        codec = codecs.lookup(name).name
        plain = _MARKUP.encode("ascii").decode(codec) == _MARKUP
    except (LookupError, UnicodeError):
        plain = False
    if not plain or codec.startswith(_STATEFUL):
        raise RefusedError(NOT_WRITTEN.format(name[:40]))


def text_of(data: bytes) -> str:
    """The whole file for display: without byte order mark, and with surrogates for bytes that
    cannot be decoded."""
    if is_foreign(data):
        data = as_utf8(data, "")
    declared = _DECLARED.search(data)
    name = "utf-8" if declared is None else declared[1].decode("ascii")
    try:
        text = data.decode(name, "surrogateescape")
    except (LookupError, UnicodeError):
        text = data.decode("utf-8", "surrogateescape")
    return text.removeprefix("\ufeff")


# Find elements and attributes of a document in its bytes.
#
# This is for documents that libxml2 has parsed already: well-formed, without a document type.
# libxml2 records lines but no positions, so the tags are searched again. It works on bytes in every
# encoding that contains ASCII unchanged: there ``<``, ``>``, quotes and ``=`` are never part of
# another character.


_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|</[^<>]*>"
    rb"|<([^\s<>/!?=\"']+)(?=[\s/>])([^<>\"']*(?:(?:\"[^\"<]*\"|'[^'<]*')[^<>\"']*)*)>",
    re.DOTALL,
)
"""Groups 1 and 2: name and attributes of a start tag, or of ``<a/>``. Everything else is matched as
a whole, so that nothing in it is taken for a tag."""
_SLASH = ord("/")
_ATTRIBUTE = re.compile(rb"(?<!\s)(\s+)([^\s=\"'<>/]+)\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_DEFAULT_NAMESPACE = re.compile(rb"\sxmlns\s*=\s*(?:\"[^\"]|'[^'])")

_MOST_ATTRIBUTES = 500
"""Attributes of one element; no element of a domain has thirty. libxml2 takes the square of their
number to read them, in C code that no signal interrupts."""
_SHORTEST = len(b" a=''")

FOREIGN = b"{}"
"""Name of an element in a default namespace, which is not libvirt's."""


class Attribute(NamedTuple):
    """One attribute. ``start`` is before the blanks that precede it, ``end`` behind its closing
    quote; the value is between ``value_start`` and ``value_end``."""

    name: bytes
    start: int
    name_start: int
    value_start: int
    value_end: int
    end: int


class Element:
    """One element: ``start`` to ``end``; its start tag ends at ``open_end``, its end tag begins at
    ``close_start`` (for ``<a/>`` the same as ``open_end``). ``children`` are those on the requested
    path, and all below it."""

    __slots__ = ("children", "close_start", "end", "name", "open_end", "start")

    def __init__(self, name: bytes, start: int, open_end: int) -> None:
        self.name = name
        self.start = start
        self.open_end = self.close_start = self.end = open_end
        self.children: list[Element] = []

    @property
    def is_single(self) -> bool:
        """True for an element that is a single tag, ``<a/>``."""
        return self.end == self.open_end

    def first(self, name: bytes) -> Element | None:
        """The first child of that name, which is the one that libvirt reads."""
        return next((child for child in self.children if child.name == name), None)


def is_crowded(data: bytes) -> bool:
    """True if an element has more attributes than any of a domain."""
    if len(data) <= _MOST_ATTRIBUTES * _SHORTEST:
        return False
    longest = max(map(len, data.split(b"<")))
    return longest > _MOST_ATTRIBUTES * _SHORTEST and any(
        map(_has_many_attributes, _TAG.finditer(data))
    )


def _has_many_attributes(tag: re.Match[bytes]) -> bool:
    inside = tag[2] or b""
    if inside.count(b"=") <= _MOST_ATTRIBUTES:
        return False
    return sum(1 for _each in _ATTRIBUTE.finditer(inside)) > _MOST_ATTRIBUTES


def attributes(data: bytes, element: Element) -> list[Attribute]:
    """The attributes of an element, in order."""
    found = []
    for match in _ATTRIBUTE.finditer(data, element.start, element.open_end):
        group = 3 if match.start(3) >= 0 else 4
        found.append(
            Attribute(
                match[2],
                match.start(),
                match.start(2),
                match.start(group),
                match.end(group),
                match.end(),
            )
        )
    return found


def tree(data: bytes, start: int, path: tuple[bytes, ...]) -> Element | None:
    """The first element at or behind ``start``, with its children along ``path`` (names below it)
    and everything below the last of these. None if there is none, or if it never ends.
    """
    walk = _ElementWalk(path)
    passed = 0  # depth within an ignored element; most of a domain is ignored, so this path is fast
    for match in _TAG.finditer(data, start):
        if match[1] is None:
            if data[match.start() + 1] != _SLASH:
                continue
            if passed:
                passed -= 1
            elif walk.close(match):
                return walk.root
        elif passed or not walk.open(match):
            passed += data[match.end() - 2] != _SLASH
        elif data[match.end() - 2] == _SLASH and walk.leave():
            return walk.root
    return None


class _ElementWalk:
    """Goes over the tags of one element. ``stack`` holds the open elements that are kept."""

    def __init__(self, path: tuple[bytes, ...]) -> None:
        self.root: Element | None = None
        self.stack: list[Element] = []
        self._path = path
        self._foreign: int | None = None
        """Depth of the element whose default namespace applies."""

    def open(self, match: re.Match[bytes]) -> bool:
        """Handle a start tag, or ``<a/>``: keep its element and return True, or return False if it
        is not on the path."""
        depth = len(self.stack)
        foreign = self._foreign is not None
        if not foreign and b"xmlns" in match[2] and _DEFAULT_NAMESPACE.search(match[2]):
            foreign = True
        name = FOREIGN if foreign else match[1]
        if 0 < depth <= len(self._path) and name != self._path[depth - 1]:
            return False
        if foreign and self._foreign is None:
            self._foreign = depth
        element = Element(name, match.start(), match.end())
        if depth:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        return True

    def close(self, match: re.Match[bytes]) -> bool:
        """Handle an end tag; returns True if it is the root's."""
        if self.stack:
            element = self.stack[-1]
            element.close_start, element.end = match.span()
        return self.leave()

    def leave(self) -> bool:
        """End the innermost element; returns True if it is the root."""
        if self.stack:
            self.stack.pop()
            if self._foreign == len(self.stack):
                self._foreign = None
        return not self.stack


# Find a domain's ``<interface>`` elements in its text.


@lru_cache(maxsize=4)
def root_at(data: bytes, start: int) -> Element | None:
    """The first element at or behind ``start``, with the children of its devices. The last results
    are cached: a domain has several NICs, and a NIC several changes."""
    return tree(data, start, (b"devices", b"interface"))


def only_domain(data: bytes) -> Element:
    """The domain of a text that is one definition and nothing else.

    Raises RefusedError for anything else, also if another definition follows it.
    """
    check_encoding(data, 0, len(data))
    root = None if data.startswith(SAVE_MAGIC) else root_at(data, 0)
    if root is None or root.name != b"domain":
        raise RefusedError("it is not a domain definition")
    if tree(data, root.end, ()) is not None:
        raise RefusedError("it holds more than one definition")
    return root


def interfaces(domain: Element) -> list[Element]:
    """The NICs of a domain, as libvirt's XPath ``./devices/interface`` finds them."""
    devices = domain.first(b"devices")
    return [] if devices is None else devices.children


def interface_at(domain: Element, number: int) -> Element:
    """The NIC with that 1-based number. Raises RefusedError if there is none."""
    found = interfaces(domain)
    if not 0 < number <= len(found):
        raise RefusedError("the <interface> is no longer there")
    return found[number - 1]


def interface_from(text: bytes, start: int) -> Element:
    """The NIC that begins at ``start`` and ends with the text. Raises RefusedError for anything
    else."""
    found = tree(text, start, ())
    if found is None or (found.name, found.start, found.end) != (b"interface", start, len(text)):
        raise RefusedError("the replacement is not an <interface>")
    return found


# One ``<interface>`` as a piece of text: extracted from a definition, put back, or made to stand
# alone.


_PREFIX = re.compile(rb"xmlns:(.+)")


def interface_of(data: bytes, number: int) -> bytes:
    """The ``number``-th (1-based) NIC of a definition, running or not, from ``<`` to ``>``.

    Raises RefusedError if there is none, or ``data`` is not one definition.
    """
    found = interface_at(only_domain(data), number)
    return data[found.start : found.end]


def with_interface(data: bytes, number: int, element: bytes) -> bytes:
    """The definition with that NIC's text replaced by ``element``; every other byte stays.

    Raises RefusedError as :func:`interface_of` does, and if ``element`` is not an ``<interface>``.
    """
    interface_from(element, 0)
    found = interface_at(only_domain(data), number)
    return applied(data, [Edit(found.start, found.end, element)])


def interface_number(data: bytes, mac: str) -> int | None:
    """The 1-based number of the NIC with that MAC address, in upper or lower case; None if none has
    it, or more than one. Raises RefusedError if ``data`` is not one definition."""
    wanted = mac.strip().lower()
    found = [
        number
        for number, interface in enumerate(interfaces(only_domain(data)), 1)
        if _mac(data, interface) == wanted
    ]
    return found[0] if len(found) == 1 else None


def _mac(data: bytes, interface: Element) -> str | None:
    element = interface.first(b"mac")
    for found in () if element is None else attributes(data, element):
        if found.name == b"address":
            text = data[found.value_start : found.value_end].decode("ascii", "replace")
            return html.unescape(text).strip().lower()
    return None


def for_attach(data: bytes, number: int) -> bytes:
    """A NIC of libvirt's definition in the form that it attaches and detaches: unchanged, with the
    namespaces that it uses and that are declared around it, because
    ``virDomainAttachDevice`` parses the element alone.

    Raises RefusedError as :func:`interface_of` does.
    """
    domain = only_domain(data)
    interface = interface_at(domain, number)
    own = {found.name for found in attributes(data, interface)}
    text = data[interface.start : interface.end]
    missing = b"".join(
        b" " + declaration
        for name, declaration in _declared(data, domain).items()
        if name not in own and _is_used(name, text)
    )
    place = 1 + len(interface.name)
    return text[:place] + missing + text[place:]


def _declared(data: bytes, domain: Element) -> dict[bytes, bytes]:
    """``xmlns:prefix`` -> its declaration that applies to the devices of a domain."""
    devices = domain.first(b"devices")
    return {
        found.name: data[found.name_start : found.end]
        for element in (domain, *([] if devices is None else [devices]))
        for found in attributes(data, element)
        if _PREFIX.fullmatch(found.name)
    }


def _is_used(name: bytes, element: bytes) -> bool:
    """True if an element uses a namespace prefix, even if only in a value."""
    prefix = re.escape(name.removeprefix(b"xmlns:"))
    return re.search(rb"[</\s\"']" + prefix + rb":", element) is not None
