"""Cache of NICs in documents with a known shape, by their settings.

NICs with equal settings differ only in identity: MAC address, name on the host, alias, network or
device. Only these are read from the next one.
"""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.combinations import wrong_name
from vnicaudit.platforms.domain_xml.nics import (
    SOURCE_ATTRIBUTES,
    SOURCE_INSIDE,
    SOURCE_SETTINGS,
    interface_nic,
)
from vnicaudit.platforms.domain_xml.reading_memory import ReadingMemory
from vnicaudit.platforms.domain_xml.refusals import AS_WRITTEN
from vnicaudit.platforms.domain_xml.shaped_element import ShapedElement, ShapedNode
from vnicaudit.platforms.domain_xml.xml_element import XmlElement


class _IdentityPlaces(NamedTuple):
    """Positions of the values that identify a NIC; None if it has none."""

    mac: int | None
    target_dev: int | None
    alias: int | None
    source: int | None


class _KnownNic(NamedTuple):
    """A cached NIC, whose settings others share."""

    nic: Nic
    at: _IdentityPlaces


NicMemory = ReadingMemory[_KnownNic]

nic_memory: NicMemory = ReadingMemory()
"""The cache of this process."""


def read_interface(
    element: XmlElement, index: int, location: Location, base: int, memory: NicMemory = nic_memory
) -> Nic:
    """The NIC of an ``<interface>``, as :func:`interface_nic` reads it. ``memory``: cached NICs."""
    if not isinstance(element, ShapedElement):
        return interface_nic(element, index, location, base)
    known = memory.find(element, base)
    values = element.values
    if known is None or not _is_plain(values, known.at):
        nic = interface_nic(element, index, location, base)
        if known is None:
            _remember(element, nic, base, memory)
        return nic
    (mac, target_dev, alias, source), alike = known.at, known.nic
    return Nic(
        index,
        alike.declared,
        location,
        None if mac is None else values[mac],
        None if source is None else values[source],
        None if target_dev is None else values[target_dev],
        None if alias is None else values[alias],
        alike.lines,
        address=alike.address,
    )


def _is_plain(values: list[str], at: _IdentityPlaces) -> bool:
    """True if a MAC address is written as libvirt writes it, and a device can have its name."""
    if at.mac is not None and AS_WRITTEN.fullmatch(values[at.mac]) is None:
        return False
    return at.target_dev is None or wrong_name(values[at.target_dev]) is None


def _remember(element: ShapedElement, nic: Nic, base: int, memory: NicMemory) -> None:
    """Cache a NIC for others with equal settings, unless more in it depends on its identity."""
    kind = element.get("type", "user")
    at = _identity(element.node, kind)
    if nic.places or kind in SOURCE_INSIDE or not _is_plain(element.values, at):
        return

    def reader(noted: ShapedElement) -> _KnownNic:
        return _KnownNic(interface_nic(noted, nic.index, nic.location, base), at)

    sources = _sources(element.node).values()
    memory.read(element, reader, {at.mac, at.target_dev, at.alias, *sources}, base)


def _identity(node: ShapedNode, kind: str) -> _IdentityPlaces:
    mac, target_dev, alias = (
        node.by_name[tag][0].attributes.get(name) if tag in node.by_name else None
        for tag, name in (("mac", "address"), ("target", "dev"), ("alias", "name"))
    )
    sources = _sources(node)
    names = ("network",) if kind == "network" else SOURCE_ATTRIBUTES
    source = next((sources[name] for name in names if name in sources), None)
    return _IdentityPlaces(mac, target_dev, alias, source)


def _sources(node: ShapedNode) -> dict[str, int]:
    """The attributes of ``<source>`` that hold names."""
    source = node.by_name.get("source")
    attributes = {} if source is None else source[0].attributes
    return {name: slot for name, slot in attributes.items() if name not in SOURCE_SETTINGS}
