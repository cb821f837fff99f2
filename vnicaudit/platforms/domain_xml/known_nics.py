"""NICs of documents whose shape is known, remembered by their settings.

NICs set alike differ in who they are: MAC address, name on the host, alias, what they are connected
to. Where the shape is known, so is where these values stand, and nothing else is read of the next
one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import NamedTuple

from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.nics import (
    READERS,
    SOURCE_ATTRIBUTES,
    SOURCE_SETTINGS,
    interface_nic,
)
from vnicaudit.platforms.domain_xml.refusals import AS_WRITTEN
from vnicaudit.platforms.domain_xml.shaped_element import ShapedElement, ShapedNode
from vnicaudit.platforms.domain_xml.xml_element import XmlElement

MOST = 4096
"""NICs that are remembered, and shapes of interfaces."""
_LONG = 2048
"""Characters. A NIC that says more is somebody's joke, and not remembered."""
_BY_SOURCE = ("vdpa", "vhostuser")
"""Types of which the name of the source is a setting, too."""


class _KnownNic(NamedTuple):
    """A NIC with these settings. ``source``: where the value stands that its source is."""

    nic: Nic
    source: int | None


class _Layout(NamedTuple):
    """Where the values of an interface of a known shape stand: its identity, each None where it has
    none, and its ``settings``, all the rest that is read."""

    kind: int | None
    mac: int | None
    target_dev: int | None
    alias: int | None
    sources: dict[str, int]
    settings: Callable[[list[str]], object]


_layouts: dict[ShapedNode, _Layout] = {}
_known: dict[tuple[ShapedNode, int, object], _KnownNic] = {}


def read_interface(element: XmlElement, index: int, location: Location, base: int) -> Nic:
    """The NIC of an ``<interface>``, as :func:`interface_nic` reads it."""
    if not isinstance(element, ShapedElement):
        return interface_nic(element, index, location, base)
    node, values = element.node, element.values
    layout = _layouts.get(node) or _new_layout(node)
    mac = None if layout.mac is None else values[layout.mac]
    if mac is not None and AS_WRITTEN.fullmatch(mac) is None:
        return interface_nic(element, index, location, base)
    key = (node, base, layout.settings(values))
    known = _known.get(key)
    if known is None:
        return _remembered(key, layout, interface_nic(element, index, location, base), values)
    alike = known.nic
    return Nic(
        index,
        alike.declared,
        location,
        mac,
        None if known.source is None else values[known.source],
        None if layout.target_dev is None else values[layout.target_dev],
        None if layout.alias is None else values[layout.alias],
        alike.lines,
        address=alike.address,
    )


def _remembered(
    key: tuple[ShapedNode, int, object], layout: _Layout, nic: Nic, values: list[str]
) -> Nic:
    """The NIC, noted for those that are set alike, where nothing in it depends on who it is."""
    kind = "user" if layout.kind is None else values[layout.kind]
    if nic.places or kind in _BY_SOURCE or len(str(key[2])) >= _LONG:
        return nic
    names = ("network",) if kind == "network" else SOURCE_ATTRIBUTES
    source = next((layout.sources[name] for name in names if name in layout.sources), None)
    if len(_known) >= MOST:
        _known.clear()  # bounded; refilled as needed
    _known[key] = _KnownNic(nic, source)
    return nic


def _new_layout(node: ShapedNode) -> _Layout:
    first = {tag: nodes[0] for tag, nodes in node.by_name.items()}
    source = first["source"].attributes if "source" in first else {}
    sources = {name: slot for name, slot in source.items() if name not in SOURCE_SETTINGS}
    mac, target_dev, alias = (
        first[tag].attributes.get(name) if tag in first else None
        for tag, name in (("mac", "address"), ("target", "dev"), ("alias", "name"))
    )
    identity = {mac, target_dev, alias, *sources.values()}
    settings = [slot for slot in _slots_read(node, first) if slot not in identity]
    if len(_layouts) >= MOST:
        _layouts.clear()  # bounded; refilled as needed
    layout = _layouts[node] = _Layout(
        node.attributes.get("type"), mac, target_dev, alias, sources, _getter(settings)
    )
    return layout


def _slots_read(node: ShapedNode, first: dict[str, ShapedNode]) -> Iterator[int]:
    """Where the attributes stand that are read of an interface, and some that are not. Those inside
    of ``<virtualport>`` are the port's name."""
    yield from node.attributes.values()
    for tag, child in first.items():
        if tag == "virtualport":
            yield from child.attributes.values()
        elif tag in READERS:
            yield from _slots(child)


def _slots(node: ShapedNode) -> Iterator[int]:
    """Where all attributes stand, of an element and of all that is inside of it."""
    yield from node.attributes.values()
    for child in node.children:
        yield from _slots(child)


def _getter(slots: list[int]) -> Callable[[list[str]], object]:
    return itemgetter(*slots) if slots else lambda _values: ()
