"""Read NIC elements into :class:`~vnicaudit.model.nic.Nic`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal

import msgspec
from lxml import etree
from msgspec.structs import replace

from vnicaudit.knowledge.backends import is_ovs_socket
from vnicaudit.knowledge.models import normal_model
from vnicaudit.model.decoding import converted
from vnicaudit.model.finding import Location
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.platforms.domain_xml.refusals import (
    WRONG_MAC,
    WRONG_NAME,
    Part,
    bus,
    count,
    number,
    refusals,
    word,
    wrong_mac,
    wrong_name,
)

# The table of NIC attributes: one row per fact, used for reading and for writing.
#
# A row maps a field of :class:`~vnicaudit.model.nic.NicConfig` to an attribute of a child of
# ``<interface>``, and says how its text is read. Names and types follow libvirt 11.3
# ``virDomainNetDefParseXML``. As in libvirt, the first of several equal children wins.


Kind = Literal["model", "path", "word", "count", "bus"]
"""``path``: unchanged; ``word``: an enumeration value; ``model``: a device's name (both cut at a
length that no valid name has); ``count``: a decimal number of 32 bits (``virXMLPropUInt``, base
10); ``bus``: the number of a PCI bus, in any base."""


class Field(msgspec.Struct, frozen=True):
    """One row: ``name`` in the record, ``path`` (the child), ``attribute``, ``kind``."""

    name: str
    path: str
    attribute: str
    kind: Kind

    @property
    def xpath(self) -> str:
        """The place relative to ``<interface>``, e.g. ``driver/@queues``."""
        return f"{self.path}/@{self.attribute}"


FIELDS: tuple[Field, ...] = (
    Field("model", "model", "type", "model"),
    Field("source_mode", "source", "mode", "word"),
    Field("backend_type", "backend", "type", "word"),
    Field("backend_vhost", "backend", "vhost", "path"),
    Field("driver_name", "driver", "name", "word"),
    Field("queues", "driver", "queues", "count"),
    Field("rx_queue_size", "driver", "rx_queue_size", "count"),
    Field("tx_queue_size", "driver", "tx_queue_size", "count"),
    Field("txmode", "driver", "txmode", "word"),
    Field("ioeventfd", "driver", "ioeventfd", "word"),
    Field("event_idx", "driver", "event_idx", "word"),
    Field("rss", "driver", "rss", "word"),
    Field("rss_hash_report", "driver", "rss_hash_report", "word"),
    Field("iommu", "driver", "iommu", "word"),
    Field("ats", "driver", "ats", "word"),
    Field("packed", "driver", "packed", "word"),
    Field("page_per_vq", "driver", "page_per_vq", "word"),
    Field("mtu", "mtu", "size", "count"),
    Field("link_state", "link", "state", "word"),
    Field("address_type", "address", "type", "word"),
    Field("address_bus", "address", "bus", "bus"),
    Field("multifunction", "address", "multifunction", "word"),
    Field("rom_bar", "rom", "bar", "word"),
    Field("rom_file", "rom", "file", "path"),
    Field("acpi", "acpi", "index", "word"),
    Field("teaming", "teaming", "type", "word"),
    Field("network_filter", "filterref", "filter", "word"),
    Field("boot_order", "boot", "order", "count"),
)

XPATH: dict[str, str] = {field.name: field.xpath for field in FIELDS} | {
    "type": "@type",
    "mac": "mac/@address",
    "trust_guest_rx_filters": "@trustGuestRxFilters",
    "source": "source",
    "device": "source/@dev",
    "rom": "rom",
    "host_off": "driver/host",
    "guest_off": "driver/guest",
}
"""Every field that a finding may name -> its place relative to ``<interface>``."""

CHILDREN: dict[str, tuple[Field, ...]] = {
    path: tuple(field for field in FIELDS if field.path == path)
    for path in dict.fromkeys(field.path for field in FIELDS)
}
"""Child element -> its rows."""


# Build a :class:`~vnicaudit.model.nic.NicConfig` from the raw text of an ``<interface>``'s
# settings.


_REMEMBERED = 4096
_LONG = 2048
"""Characters; a NIC with more is unusual, and not cached."""

_configs: dict[tuple[str, str | None, tuple[Part, ...]], NicConfig] = {}
"""Cache: NICs with equal settings share one record, since a fleet has many NICs but few kinds of
them."""


def config_of(kind: str, device: str | None, raw: tuple[Part, ...]) -> NicConfig:
    """The record of an interface of type ``kind``; ``device`` is a vDPA NIC's device file."""
    key = (kind, device, raw)
    config = _configs.get(key)
    if config is None:
        config = _config(kind, device, raw)
        length = sum(len(text) for _path, given in raw for pair in given for text in pair)
        if len(kind) + len(device or "") + length < _LONG:
            if len(_configs) >= _REMEMBERED:
                _configs.clear()  # bounded; refilled as needed
            _configs[key] = config
    return config


def _config(kind: str, device: str | None, raw: tuple[Part, ...]) -> NicConfig:
    kind = word(kind)
    actual = None if kind == "network" else kind
    values: dict[str, object] = {"type": kind, "device": device, "actual_type": actual}
    invalid: list[tuple[str, str]] = []
    for path, attributes in raw:
        given = dict(attributes)
        special = _SPECIAL.get(path)
        if special is not None:
            values.update(special(given))
        for field in CHILDREN.get(path, ()):
            values.update(_values(field, given, invalid))
    if refused := refusals(kind, raw):
        values["refused"] = refused
    if invalid:
        values["invalid"] = tuple(invalid)
    return converted(values, NicConfig)


def _off(given: dict[str, str]) -> tuple[str, ...]:
    return tuple(name for name, text in given.items() if text == "off")


def _actual(given: dict[str, str]) -> dict[str, object]:
    """``<actual>`` of a live status, where ``network`` means a bridge of libvirt's own."""
    kind = given.get("type", "network")
    return {"actual_type": "bridge" if kind == "network" else word(kind)}


def _rom(given: dict[str, str]) -> dict[str, object]:
    """The three attributes of ``<rom>`` that libvirt reads (``virDomainDeviceInfoParseXML``)."""
    found = (word(given[name]) for name in ("enabled", "bar", "file") if given.get(name))
    return {"rom": next(found, None)}


_SPECIAL: dict[str, Callable[[dict[str, str]], dict[str, object]]] = {
    "": lambda given: {"trust_guest_rx_filters": word(given["trustGuestRxFilters"])},
    "rom": _rom,
    "driver/host": lambda given: {"host_off": _off(given)},
    "driver/guest": lambda given: {"guest_off": _off(given)},
    "actual": _actual,
    "source/ovs": lambda _given: {"ovs_socket": True},
    "source/reconnect": lambda given: {"reconnect": word(given.get("enabled", ""))},
}
"""Parts whose attributes do not map to one field each."""


def _values(
    field: Field, given: dict[str, str], invalid: list[tuple[str, str]]
) -> Iterator[tuple[str, object]]:
    text = given.get(field.attribute)
    if text is None:
        return
    value = _CONVERT[field.kind](text)
    if value is None:
        invalid.append((field.name, word(text)))
    elif field.kind != "model" or str(value).lower() not in ("", "unknown"):
        # libvirt's virXPathString returns nothing for "", and "unknown" is not in its list of
        # models: both are the same as no model
        yield field.name, value


_CONVERT: dict[Kind, Callable[[str], str | int | None]] = {
    "model": lambda text: word(normal_model(text)),
    "path": str,
    "word": word,
    "count": count,
    "bus": bus,
}


_SOURCES = ("bridge", "network", "dev", "path", "name", "address")

_NEEDED_INSIDE = {"udp": "local", "hostdev": "address"}
_SOCKETS = ("client", "mcast", "server", "udp")
"""Types whose source is the address and port of a socket."""

_MOST_INSIDE = 64
"""Maximum number of elements read inside one child."""

_PCI = (("domain", "bus", "slot", "function"), "0x0", "{:04x}:{:02x}:{:02x}.{:x}")
_CCW = (("cssid", "ssid", "devno"), "", "{:02x}.{:x}.{:04x}")
"""The parts of an address, what a missing one is, and the form of its name."""
_NO_PCI_ADDRESS = "0000:00:00.0"
"""libvirt treats the all-zero address as none (``virPCIDeviceAddressIsEmpty``), and chooses one."""

_ON_BRIDGE: Part = ("actual", (("type", "network"),))
"""Meaning of ``<source bridge=…>`` on ``type='network'``: libvirt adds it while the guest runs, if
the network has a bridge of libvirt's own. A live status has ``<actual type=…>`` instead."""


def interface_nic(element: etree._Element, index: int, location: Location, base: int) -> Nic:
    """Read one ``<interface>``. ``base`` is the number of lines before the document."""
    walk = _InterfaceWalk(element.get("type", "user"))
    lines: dict[str, int] = {}
    for child in element:
        tag: object = child.tag  # not a string for an entity, which is not expanded
        if tag in lines or not isinstance(tag, str):
            continue  # libvirt reads only the first
        lines[tag] = base + (child.sourceline or 0)
        if tag in _CHILDREN:
            walk.raw.append(_part(tag, child))
        reader = _READERS.get(tag)
        if reader is not None:
            reader(walk, child)
    trust = element.get("trustGuestRxFilters")
    if trust is not None:
        walk.raw.append(("", (("trustGuestRxFilters", trust),)))
    return Nic(
        index=index,
        declared=config_of(walk.kind, walk.device, tuple(walk.raw)),
        location=location,
        mac=walk.mac,
        source=walk.source,
        target_dev=walk.target_dev,
        alias=walk.alias,
        address=walk.address,
        lines=tuple(lines.items()),
        places=tuple(walk.places(location, base)) if walk.inner else (),
    )


class _InterfaceWalk(msgspec.Struct):
    """Facts gathered from an interface's children: its identity, and its settings as raw text.
    ``inner`` holds the elements, inside children, that have fields."""

    kind: str
    raw: list[Part] = []
    inner: tuple[tuple[str, etree._Element], ...] = ()
    mac: str | None = None
    source: str | None = None
    device: str | None = None
    target_dev: str | None = None
    alias: str | None = None
    address: str | None = None

    def places(self, nic: Location, base: int) -> Iterator[tuple[str, Location]]:
        """The places of the fields inside of children; ``nic`` is the interface's place."""
        for field, element in self.inner:
            line = base + (element.sourceline or 0) if nic.file else None
            yield field, Location(nic.target, nic.file, line, f"{nic.xpath}/{XPATH[field]}")


def _part(tag: str, element: etree._Element) -> Part:
    """A child as raw text. Values that are identity are left out: only their presence matters."""
    settings = _SETTINGS.get(tag)
    if settings is None:
        return tag, tuple(element.items())
    return tag, tuple([(name, text if name in settings else "") for name, text in element.items()])


_SETTINGS: dict[str, tuple[str, ...]] = {
    "mac": ("type", "check"),
    "source": ("mode", "type"),
    "target": ("managed",),
    "port": ("isolated",),
    "virtualport": ("type",),
    "ip": (),
    "route": (),
}
"""Children with names and addresses -> their attributes that are settings."""


def _read_mac(walk: _InterfaceWalk, element: etree._Element) -> None:
    address = element.get("address")
    walk.mac = None if address is None else address.strip().lower()
    if address is not None and (wrong := wrong_mac(address)) is not None:
        walk.raw.append((WRONG_MAC, (("address", wrong),)))


def _read_source(walk: _InterfaceWalk, element: etree._Element) -> None:
    given = dict(element.items())
    walk.source = next((given[name] for name in _SOURCES if name in given), None)
    needed = _NEEDED_INSIDE.get(walk.kind)
    if needed is not None and element.find(needed) is not None:
        walk.raw.append((f"source/{needed}", ()))
    if walk.kind == "network":
        walk.source = given.get("network")
        if "bridge" in given:
            walk.raw.append(_ON_BRIDGE)
    elif walk.kind in _SOCKETS:
        # 230.0.0.1:5558, [fd00::1]:5558; :5558 if a server listens on all addresses
        host, port = given.get("address", ""), given.get("port", "")
        host = f"[{host}]" if ":" in host else host
        walk.source = (f"{host}:{port}" if port else host) or None
    elif walk.kind == "hostdev":
        walk.source = _assigned_device(element.find("address"))
    elif walk.kind == "vdpa":
        walk.device = walk.source
    elif walk.kind == "vhostuser":
        walk.raw.extend(_vhostuser(element, walk.source))


def _read_target(walk: _InterfaceWalk, element: etree._Element) -> None:
    walk.target_dev = element.get("dev")
    if walk.target_dev and (wrong := wrong_name(walk.target_dev)) is not None:
        walk.raw.append((WRONG_NAME, (("dev", wrong),)))


def _read_inner(walk: _InterfaceWalk, element: etree._Element) -> None:
    """Read all elements inside of a child: ``vlan/tag``…"""
    name = str(element.tag)
    walk.raw += islice(_inside(element, name, name), _MOST_INSIDE)


def _inside(element: etree._Element, top: str, path: str) -> Iterator[Part]:
    """The elements inside of one, in document order, each with its path from the nearest element
    called ``top``."""
    for part in element.iterchildren("*"):
        there = top if part.tag == top else f"{path}/{part.tag!s}"
        yield there, tuple(part.items())
        yield from _inside(part, top, there)


def _read_alias(walk: _InterfaceWalk, element: etree._Element) -> None:
    walk.alias = element.get("name")


def _read_address(walk: _InterfaceWalk, element: etree._Element) -> None:
    kind = element.get("type")
    if kind == "pci":
        walk.raw.append(("address/pci", tuple(element.items())))
        found = _address_name(element, *_PCI)
        walk.address = None if found == _NO_PCI_ADDRESS else found
    elif kind == "ccw":
        walk.address = _address_name(element, *_CCW)


def _read_driver(walk: _InterfaceWalk, element: etree._Element) -> None:
    for name in ("host", "guest"):
        part = next(element.iterchildren(name), None)
        if part is not None:
            walk.raw.append((f"driver/{name}", tuple(part.items())))
            walk.inner += ((f"{name}_off", part),)


_READERS: dict[str, Callable[[_InterfaceWalk, etree._Element], None]] = {
    "mac": _read_mac,
    "source": _read_source,
    "target": _read_target,
    "alias": _read_alias,
    "driver": _read_driver,
    "address": _read_address,
    "vlan": _read_inner,
    "bandwidth": _read_inner,
    "coalesce": _read_inner,
}
"""Children that have more to tell than their attributes."""
_CHILDREN = CHILDREN.keys() | _SETTINGS.keys() | {"actual", "vlan", "bandwidth", "coalesce"}
"""Children of which the attributes are read: those of the table, and more."""


def _vhostuser(source: etree._Element, path: str | None) -> tuple[Part, ...]:
    """The settings of a vhost-user ``<source>`` besides its mode. The path is identity and left
    out; that it is a socket of Open vSwitch is recorded as a fact."""
    found: list[Part] = []
    if path is not None and is_ovs_socket(path):
        found.append(("source/ovs", ()))
    reconnect = source.find("reconnect")
    if reconnect is not None:
        said = reconnect.get("enabled")
        found.append(("source/reconnect", () if said is None else (("enabled", said),)))
    return tuple(found)


_HOSTDEV = NicConfig(type="hostdev", origin="hostdev", actual_type="hostdev")
_HOSTDEV_TEAMED = replace(_HOSTDEV, teaming="transient")


def hostdev_nic(element: etree._Element, index: int, location: Location) -> Nic:
    """Read one PCI ``<hostdev>``. The definition does not say whether it is a network adapter,
    except by its part in teaming; either way it has no model, rings or vhost of its own."""
    return Nic(
        index=index,
        declared=_HOSTDEV_TEAMED if element.find("teaming") is not None else _HOSTDEV,
        location=location,
        source=_assigned_device(element.find("source/address")),
    )


def _assigned_device(address: etree._Element | None) -> str | None:
    """``0000:03:00.1``; None if it is not a PCI device. USB devices have a bus as well."""
    if address is None or address.get("type", "pci") != "pci":
        return None
    if address.get("bus") is None and address.get("slot") is None:
        return None
    return _address_name(address, *_PCI)


def _address_name(
    address: etree._Element, parts: tuple[str, ...], missing: str, form: str
) -> str | None:
    """The name of an address, from its numbers; None if one is no number, or missing."""
    texts = (address.get(part, missing) for part in parts)
    numbers = [value for text in texts if (value := number(text)) is not None]
    return form.format(*numbers) if len(numbers) == len(parts) else None
