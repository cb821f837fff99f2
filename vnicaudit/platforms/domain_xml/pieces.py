"""One ``<interface>`` as a piece of text: extracted from a definition, put back, or made to stand
alone.

This works on the text of one definition. A piece is in the definition's encoding, or in UTF-8 if
that encoding does not contain ASCII unchanged (UTF-16).
"""

from __future__ import annotations

import codecs
import html
import re

from vnicaudit.errors import RefusedError
from vnicaudit.platforms.domain_xml.elements import (
    interface_at,
    interface_from,
    interfaces,
    only_domain,
)
from vnicaudit.platforms.domain_xml.recognise import is_foreign
from vnicaudit.platforms.domain_xml.source import source_of
from vnicaudit.platforms.domain_xml.tags import Element, attributes
from vnicaudit.text.edits import Edit, applied

_ENCODING = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml\s[^>]*?\bencoding\s*=\s*[\"']([^\"']*)[\"']")
_PREFIX = re.compile(rb"xmlns:(.+)")
_OF_ONE = (b"address", b"alias", b"boot", b"target", b"acpi")
"""Children that must differ between two devices of a domain, or that libvirt chooses for each."""


def interface_of(data: bytes, number: int) -> bytes:
    """The ``number``-th (1-based) NIC of a definition, running or not, from ``<`` to ``>``.

    Raises RefusedError if there is none, or ``data`` is not one definition.
    """
    source = source_of(data)
    found = interface_at(only_domain(source), number)
    return source.data[found.start : found.end]


def with_interface(data: bytes, number: int, element: bytes) -> bytes:
    """The definition with that NIC's text replaced by ``element``; every other byte stays.

    Raises RefusedError as :func:`interface_of` does, and if ``element`` is not an ``<interface>``
    or cannot be written in the definition's encoding.
    """
    interface_from(element, 0)
    source = source_of(data)
    found = interface_at(only_domain(source), number)
    try:
        return applied(data, source.carried([Edit(found.start, found.end, element)]))
    except UnicodeError:
        raise RefusedError("the <interface> cannot be written in the file's encoding") from None


def interface_number(data: bytes, mac: str) -> int | None:
    """The 1-based number of the NIC with that MAC address, in upper or lower case; None if none has
    it, or more than one. Raises RefusedError if ``data`` is not one definition."""
    source = source_of(data)
    wanted = mac.strip().lower()
    found = [
        number
        for number, interface in enumerate(interfaces(only_domain(source)), 1)
        if _mac(source.data, interface) == wanted
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
    """A NIC of a definition in the form that libvirt attaches and detaches: unchanged, in UTF-8,
    with the namespaces that it uses and that are declared around it, because
    ``virDomainAttachDevice`` parses the element alone.

    Raises RefusedError as :func:`interface_of` does.
    """
    source = source_of(data)
    domain = only_domain(source)
    interface = interface_at(domain, number)
    own = {found.name for found in attributes(source.data, interface)}
    text = source.data[interface.start : interface.end]
    missing = b"".join(
        b" " + declaration
        for name, declaration in _declared(source.data, domain).items()
        if name not in own and _is_used(name, text)
    )
    place = 1 + len(interface.name)
    return _utf8(text[:place] + missing + text[place:], data)


def beside(data: bytes, number: int, mac: str) -> bytes:
    """A NIC of a definition for attaching a second one beside it: like :func:`for_attach`, but with
    another MAC address, and without parts that only one device of a domain may have. libvirt gives
    it its own port of its network (``portid``).

    Raises RefusedError as :func:`interface_of` does.
    """
    text = for_attach(data, number)
    interface = interface_from(text, 0)
    own = f"<mac address='{mac}'/>".encode("ascii")
    if interface.is_single:
        slash = text.rindex(b"/", interface.start, interface.end)
        return text[:slash] + b">" + own + b"</interface>"
    edits = [Edit(interface.open_end, interface.open_end, own)]
    for child in interface.children:
        if child.name in (*_OF_ONE, b"mac"):
            edits.append(Edit(child.start, child.end, b""))
        elif child.name == b"source":
            ports = (one for one in attributes(text, child) if one.name == b"portid")
            edits += [Edit(one.start, one.end, b"") for one in ports]
    return applied(text, edits)


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


def _utf8(text: bytes, definition: bytes) -> bytes:
    declared = None if is_foreign(definition) else _ENCODING.match(definition)
    if declared is None:
        return text
    try:
        return text.decode(codecs.lookup(declared[1].decode("ascii")).name).encode("utf-8")
    except (LookupError, UnicodeError):
        raise RefusedError("the definition is not in the encoding that it declares") from None
