"""Find a domain's ``<interface>`` elements in its text."""

from __future__ import annotations

from functools import lru_cache

from vnicaudit.errors import RefusedError
from vnicaudit.platforms.domain_xml.recognise import SAVE_MAGIC
from vnicaudit.platforms.domain_xml.source import XmlSource
from vnicaudit.platforms.domain_xml.tags import Element, tree


@lru_cache(maxsize=4)
def root_at(source: XmlSource, start: int) -> Element | None:
    """The first element at or behind ``start``, with the children of its devices. The last results
    are cached: a domain has several NICs, and a NIC several changes."""
    return tree(source.data, start, (b"devices", b"interface"))


def only_domain(source: XmlSource) -> Element:
    """The domain of a text that is one definition and nothing else.

    Raises RefusedError for anything else, also if another definition follows it.
    """
    root = None if source.data.startswith(SAVE_MAGIC) else root_at(source, 0)
    if root is None or root.name != b"domain":
        raise RefusedError("it is not a domain definition")
    if tree(source.data, root.end, ()) is not None:
        raise RefusedError("it holds more than one definition")
    source.check_declared(0, root.end)
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
