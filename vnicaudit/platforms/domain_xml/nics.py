"""NIC elements -> :class:`~vnicaudit.model.nic.Nic`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lxml import etree

from vnicaudit.model.location import Location
from vnicaudit.model.models import normal_model
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.platforms.domain_xml.fields import CHILDREN, Field

_TAP_TYPES = frozenset({"bridge", "ethernet", "direct"})
_SOURCE_ATTRIBUTES = ("bridge", "network", "dev", "path", "name", "address")
_ENUMERATED = 4096

_Raw = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]

_ON_BRIDGE: _Raw = (("actual", (("type", "network"),)),)
"""What ``<source bridge=…>`` on ``type='network'`` says: libvirt adds it while the guest runs,
when the network has a bridge of libvirt's own. A live status has ``<actual type=…>`` instead."""

_configs: dict[tuple[str, str | None, _Raw], NicConfig] = {}
"""NICs set alike share one record: a fleet has few kinds of NICs and many NICs."""


def interface_nic(element: etree._Element, index: int, location: Location, base: int) -> Nic:
    """Read one ``<interface>``. ``base`` is the number of lines before the document."""
    raw: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    lines: list[tuple[str, int]] = []
    mac = target_dev = alias = source = device = None
    seen: set[str] = set()
    kind = element.get("type", "user")
    for child in element.iterchildren("*"):
        tag: Any = child.tag  # str: only elements are iterated over
        if tag in seen:
            continue  # libvirt reads the first
        seen.add(tag)
        lines.append((tag, base + (child.sourceline or 0)))
        if tag == "mac":
            mac = child.get("address")
        elif tag == "source":
            attributes = dict(child.items())
            source = next((attributes[a] for a in _SOURCE_ATTRIBUTES if a in attributes), None)
            if kind == "network":
                source = attributes.get("network")
                raw.extend(_ON_BRIDGE if "bridge" in attributes else ())
            if kind == "vdpa":
                device = source
            if (mode := attributes.get("mode")) is not None:
                raw.append(("source", (("mode", mode),)))
            if kind == "vhostuser":
                raw.extend(_vhostuser(child, source))
        elif tag == "actual":
            raw.append(("actual", (("type", child.get("type", "network")),)))
        elif tag == "target":
            target_dev = child.get("dev")
        elif tag == "alias":
            alias = child.get("name")
        elif tag in CHILDREN:
            raw.append((tag, tuple(child.items())))
            if tag == "driver" and len(child):
                raw.extend(
                    (f"driver/{part.tag!s}", tuple(part.items()))
                    for part in child.iterchildren("host", "guest")
                )
    trust = element.get("trustGuestRxFilters")
    if trust is not None:
        raw.append(("", (("trustGuestRxFilters", trust),)))
    key = (kind, device, tuple(raw))
    config = _configs.get(key)
    if config is None:
        config = _remember(key, _config(kind, device, key[2]))
    return Nic(
        index=index,
        declared=config,
        location=location,
        mac=None if mac is None else mac.strip().lower(),
        source=source,
        target_dev=target_dev,
        alias=alias,
        lines=tuple(lines),
    )


_OVS_FOLDERS = ("/run/openvswitch/", "/var/run/openvswitch/", "/usr/local/var/run/openvswitch/")
"""Where Open vSwitch keeps its sockets (its ``--prefix`` /usr or /usr/local), and Neutron's
``vhostuser_socket_dir`` by default."""


def _vhostuser(source: etree._Element, path: str | None) -> _Raw:
    """What a vhost-user ``<source>`` says beside its mode. The path is identity, and stays out;
    that it is Open vSwitch's is a fact. Neutron names sockets ``vhu`` and 11 characters of the
    port's UUID."""
    found: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    if path is not None:
        name = path.rpartition("/")[2]
        neutron = len(name) == 14 and name.startswith("vhu")
        if neutron or path.startswith(_OVS_FOLDERS):
            found.append(("source/ovs", ()))
    reconnect = source.find("reconnect")
    if reconnect is not None:
        found.append(("source/reconnect", (("enabled", reconnect.get("enabled", "")),)))
    return tuple(found)


_HOSTDEV = NicConfig(type="hostdev", origin="hostdev", actual_type="hostdev")
_HOSTDEV_TEAMED = NicConfig(
    type="hostdev", origin="hostdev", actual_type="hostdev", teaming="transient"
)


def hostdev_nic(element: etree._Element, index: int, location: Location) -> Nic:
    """One PCI ``<hostdev>``. Whether it is a network adapter the definition does not say, unless
    it takes part in teaming; it has no model, rings or vhost of its own either way."""
    address = element.find("source/address")
    source = None
    if address is not None:
        parts = [address.get(name, "0x0") for name in ("domain", "bus", "slot", "function")]
        source = _pci_name(parts)
    return Nic(
        index=index,
        declared=_HOSTDEV_TEAMED if element.find("teaming") is not None else _HOSTDEV,
        location=location,
        source=source,
    )


def _pci_name(parts: list[str]) -> str | None:
    try:
        domain, bus, slot, function = (int(part, 0) for part in parts)
    except ValueError:
        return None
    return f"{domain:04x}:{bus:02x}:{slot:02x}.{function:x}"


def _remember(key: tuple[str, str | None, _Raw], config: NicConfig) -> NicConfig:
    if len(_configs) >= _ENUMERATED:
        _configs.clear()  # bounded; refilled as needed
    _configs[key] = config
    return config


def _config(kind: str, device: str | None, raw: _Raw) -> NicConfig:
    values: dict[str, Any] = {"type": kind, "device": device, "actual_type": _actual_type(kind)}
    invalid: list[tuple[str, str]] = []
    for path, attributes in raw:
        given = dict(attributes)
        if path == "":
            values["trust_guest_rx_filters"] = given["trustGuestRxFilters"]
        elif path in ("driver/host", "driver/guest"):
            off = tuple(name for name, text in attributes if text == "off")
            values[f"{path[7:]}_off"] = off
        elif path == "actual":
            values["actual_type"] = {"network": "bridge"}.get(given["type"], given["type"])
        elif path == "source/ovs":
            values["ovs_socket"] = True
        elif path == "source/reconnect":
            values["reconnect"] = given.get("enabled")
        for field in CHILDREN.get(path, ()):
            for name, value in _values(field, given, invalid):
                values[name] = value
    if invalid:
        values["invalid"] = tuple(invalid)
    return NicConfig(**values)


def _values(
    field: Field, given: dict[str, str], invalid: list[tuple[str, str]]
) -> Iterator[tuple[str, Any]]:
    if field.attribute is None:
        yield field.name, True
        return
    text = given.get(field.attribute)
    if text is None:
        return
    value = _CONVERT[field.kind](text)
    if value is None:
        invalid.append((field.name, text))
    elif field.name != "model":
        yield field.name, value
    elif value.lower() not in ("", "unknown"):
        # libvirt's virXPathString gives nothing for "", and "unknown" is no model of its list:
        # either is as if none had been written
        yield field.name, normal_model(value)


def _count(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 else None


def _hex(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


_CONVERT: dict[str, Callable[[str], Any]] = {
    "text": str,
    "word": str,
    "count": _count,
    "hex": _hex,
}


def _actual_type(kind: str) -> str | None:
    return None if kind == "network" else kind
