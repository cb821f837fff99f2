"""Cache of facts of domains with a known shape, by the values from which they are read.

A host or a template produces many domains that differ only in name, UUID and NICs.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.platforms.domain_xml.commandline import TAG as COMMANDLINE
from vnicaudit.platforms.domain_xml.facts import DomainFacts, gathered
from vnicaudit.platforms.domain_xml.override import TAG as OVERRIDE
from vnicaudit.platforms.domain_xml.reading_memory import ReadingMemory
from vnicaudit.platforms.domain_xml.shaped_element import ShapedElement, ShapedNode
from vnicaudit.platforms.domain_xml.xml_element import XmlElement

FactsMemory = ReadingMemory[DomainFacts]
"""Facts without name, UUID and devices."""

facts_memory: FactsMemory = ReadingMemory()
"""The cache of this process."""


def read_facts(domain: XmlElement, memory: FactsMemory = facts_memory) -> DomainFacts:
    """The facts of a ``<domain>``, as :func:`gathered` reads them. ``memory``: cached facts of
    earlier domains."""
    if not isinstance(domain, ShapedElement) or _keeps_elements(domain.node):
        return gathered(domain)
    known = memory.find(domain)
    if known is None:
        memory.read(domain, _anonymous_facts, set(_identity(domain.node)))
        return gathered(domain)
    name, uuid = domain.first("name"), domain.first("uuid")
    return replace(
        known,
        name=None if name is None else name.text,
        uuid=None if uuid is None else uuid.text,
        devices=domain.first("devices"),
    )


def _keeps_elements(node: ShapedNode) -> bool:
    """True if facts hold elements that are read later."""
    return COMMANDLINE in node.by_name or OVERRIDE in node.by_name


def _anonymous_facts(domain: ShapedElement) -> DomainFacts:
    return replace(gathered(domain), name=None, uuid=None, devices=None)


def _identity(node: ShapedNode) -> Iterator[int]:
    for tag in ("name", "uuid"):
        for child in node.by_name.get(tag, ())[:1]:
            if isinstance(child.text, int):
                yield child.text
