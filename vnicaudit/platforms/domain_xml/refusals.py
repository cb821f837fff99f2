"""Values in an ``<interface>`` that libvirt refuses by themselves.

Each row was measured with libvirt 9.0, one definition per value; ``tests/conformance/define.py``
defines random ones. Values that are in the schema of libvirt 11.3 but unknown to 9.0 (``<backend
type='passt'/>``) are not in the table. Queues and rings are judged elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.knowledge.models import is_model, normal_model, stands_for_model
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.host import Version
from vnicaudit.model.nic import MODEL, MULTICAST, DefinitionRefusal, is_multicast, place_of
from vnicaudit.text.beginning import is_only_placeholder, opened

# Combinations in an ``<interface>`` that libvirt refuses although it accepts each value alone, and
# values that it accepts but does not start. Measured with libvirt 9.0 on every interface type.


# Convert attribute text to values as libvirt reads them, so that hostile text yields neither huge
# strings nor numbers that no record can hold.


LONGEST_WORD = 200
"""Maximum number of characters of a word. The longest of libvirt's, QEMU's and osinfo-db's own have
about 60."""

_LARGEST = 2**32 - 1
_COUNT = re.compile(r"\s*\+?0*([0-9]{1,10})", re.ASCII)
_LONG_COUNT = re.compile(r"\s*\+?0*([0-9]{1,20})", re.ASCII)
_ANY_BASE = re.compile(
    r"\s*\+?(?:0[xX]0*([0-9a-fA-F]{1,8})|0+([0-7]{0,11})|([1-9][0-9]{0,9}))", re.ASCII
)


def word(text: str) -> str:
    """The text, cut if it is longer than any word that libvirt knows: it then ends in ``…``."""
    return text if len(text) <= LONGEST_WORD else f"{text[:LONGEST_WORD]}…"


def count(text: str) -> int | None:
    """A decimal number; None if libvirt would refuse it (``virStrToLong_uip``, base 10: 32 bits,
    leading blanks and a plus sign allowed, nothing after the digits)."""
    match = _COUNT.fullmatch(text)
    return None if match is None else _bounded(int(match[1]), _LARGEST)


def long_count(text: str) -> int | None:
    """A decimal number of 64 bits (``virStrToLong_ull``); None for other text."""
    match = _LONG_COUNT.fullmatch(text)
    return None if match is None else _bounded(int(match[1]), 2**64 - 1)


def bus(text: str) -> int | None:
    """The number of a PCI bus, 0 to 255, decimal, octal or hexadecimal as in C; None if libvirt
    would refuse it (``virPCIDeviceAddressParseXML``)."""
    return number(text, 0xFF)


def number(text: str, largest: int = _LARGEST) -> int | None:
    """A number in any base as C writes it (``virStrToLong_uip``, base 0); None for other text and
    beyond ``largest``."""
    match = _ANY_BASE.fullmatch(text)
    if match is None:
        return None
    hexadecimal, octal, decimal = match.groups()
    if hexadecimal is not None:
        return _bounded(int(hexadecimal, 16), largest)
    return _bounded(int(octal or "0", 8) if octal is not None else int(decimal), largest)


def _bounded(value: int, largest: int) -> int | None:
    return value if value <= largest else None


_Attributes = dict[str, str]

_WITH_TRANSIENT = frozenset({"hostdev", "network"})
"""``network``: for a pool of devices."""
_WITH_ROUTE = frozenset({"vdpa"})
_WITH_FLOOR = frozenset({"network"})
_NO_FLOOR_AT_ALL = Version(11, 3)
"""The first libvirt that is known to refuse floor='0' as well: 11.3 does, 9.0 does not."""
_WITH_VLAN = frozenset({"network", "hostdev"})
_TWICE = Version(9, 1)
"""libvirt 9.0 refuses an element of ``<bandwidth>`` that appears twice, and 11.3 takes it."""
_WITH_TAP = frozenset({"bridge", "ethernet", "network", "hostdev"})
_VLAN_ON_BRIDGES = Version(11)
"""The first libvirt with VLANs on a plain Linux bridge (NEWS 11.0.0)."""
TAPS = frozenset({"bridge", "ethernet"})
_LEAST_MTU, _MOST_MTU = 68, 65521
"""Of a tap: ``ETH_MIN_MTU``, and 65535 without the Ethernet header (drivers/net/tun.c)."""
_MOST_BOOT_ORDER = 2**31 - 1
TOO_LONG, INVALID = "too long", "invalid"
"""Why a device on the host cannot have the name in ``<target dev>``."""
_MOST_BYTES = 15
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{0,15}", re.ASCII)
_CHOSEN = ("vnet", "vif", "macvtap", "macvlan")


def combined(kind: str, parts: dict[str, list[_Attributes]]) -> Iterator[DefinitionRefusal]:
    """Every such refusal. ``parts``: path of an element -> the attributes of each such element."""
    rom = _first_child(parts, "rom")
    if rom.get("enabled") == "no" and ("file" in rom or rom.get("bar") in ("on", "off")):
        yield DefinitionRefusal("rom", "<rom enabled='no'> takes no bar and no file")
    for way in ("inbound", "outbound"):
        yield from _bandwidth(kind, way, parts.get(f"bandwidth/{way}", []))
    yield from _vlan(_first_child(parts, "vlan"), parts.get("vlan/tag", []))
    if kind not in _WITH_TRANSIENT and _first_child(parts, "teaming").get("type") == "transient":
        yield DefinitionRefusal("teaming", f"type='{kind}' takes no <teaming type='transient'>")
    passt = _first_child(parts, "backend").get("type") == "passt"
    if "route" in parts and kind not in _WITH_ROUTE and not passt:
        yield DefinitionRefusal("route", f"type='{kind}' takes no <route>")
    if any("address" not in given for given in parts.get("ip", [])):
        yield DefinitionRefusal("ip", "<ip> has no address")
    if kind == "hostdev" and "source" in parts and "source/address" not in parts:
        yield DefinitionRefusal("source", "<source> of type='hostdev' has no <address>")
    yield from _at_start(kind, parts)


def _at_start(kind: str, parts: dict[str, list[_Attributes]]) -> Iterator[DefinitionRefusal]:
    yield from _misplaced_vlan(kind, parts)
    if kind not in _WITH_TAP and _first_child(parts, "backend").get("tap"):
        why = f"type='{kind}' takes no <backend tap>"
        yield DefinitionRefusal("backend/@tap", why, at_start=True)
    if "filterref" in parts and _first_child(parts, "virtualport").get("type") == "openvswitch":
        why = "<filterref> is not for <virtualport type='openvswitch'>"
        yield DefinitionRefusal("filterref", why, at_start=True)
    size = count(_first_child(parts, "mtu").get("size", "0"))
    if kind in TAPS and size and not _LEAST_MTU <= size <= _MOST_MTU:
        why = f"an MTU of {size} is not between {_LEAST_MTU} and {_MOST_MTU}"
        yield DefinitionRefusal("mtu/@size", why, at_start=True)
    order = count(_first_child(parts, "boot").get("order", "0"))
    if order is not None and order > _MOST_BOOT_ORDER:
        why = f"a boot order of {order} is above {_MOST_BOOT_ORDER}"
        yield DefinitionRefusal("boot/@order", why, at_start=True)
    wrong = _first_child(parts, WRONG_NAME).get("dev")
    if wrong == TOO_LONG and kind in (*TAPS, "direct"):
        why = "the name of its device on the host has more than 15 bytes"
        yield DefinitionRefusal("target/@dev", why, at_start=True)
    elif wrong == INVALID and kind in TAPS:
        why = "the name of its device on the host has a blank, a slash or a colon"
        yield DefinitionRefusal("target/@dev", why, at_start=True)


def _misplaced_vlan(kind: str, parts: dict[str, list[_Attributes]]) -> Iterator[DefinitionRefusal]:
    if "vlan/tag" not in parts or kind in _WITH_VLAN:
        return
    mode = _first_child(parts, "source").get("mode")
    port = _first_child(parts, "virtualport").get("type")
    if kind == "direct" and mode != "passthrough":
        yield _refused_vlan("type='direct' takes no <vlan>, except with mode='passthrough'")
    elif kind == "bridge" and port is None:
        why = "a Linux bridge takes no <vlan> before libvirt 11.0"
        yield _refused_vlan(why, until=_VLAN_ON_BRIDGES)
    elif kind not in ("direct", "bridge"):
        yield _refused_vlan(f"type='{kind}' takes no <vlan>")


def _refused_vlan(reason: str, until: Version | None = None) -> DefinitionRefusal:
    return DefinitionRefusal("vlan", reason, at_start=True, until=until)


def wrong_name(device: str) -> str | None:
    """Why no device on the host can have this name (``dev_valid_name`` of Linux): ``TOO_LONG`` or
    ``INVALID``; None if one can, and for names that are chosen later."""
    if _PLAIN_NAME.fullmatch(device) is not None or is_chosen(device):
        return None
    if len(device.encode()) > _MOST_BYTES:
        return TOO_LONG
    return INVALID if device in (".", "..") or re.search(r"[\s/:]", device) else None


def is_chosen(device: str) -> bool:
    """True if the name of a device on the host is chosen later: by libvirt, by Linux or by a
    template."""
    if device.startswith(_CHOSEN) or "%" in device:
        return True
    return is_only_placeholder(device) or opened(device)


def _first_child(parts: dict[str, list[_Attributes]], path: str) -> _Attributes:
    return next(iter(parts.get(path, [])), {})


def _bandwidth(kind: str, way: str, found: list[_Attributes]) -> Iterator[DefinitionRefusal]:
    shown = f"<{way}> (in <bandwidth>)"
    if len(found) > 1:
        yield DefinitionRefusal("bandwidth", f"{shown} appears twice", until=_TWICE)
    for given in found[:1]:
        floor = long_count(given.get("floor", "0")) != 0  # to libvirt 0 means none
        if floor and way == "outbound":
            yield DefinitionRefusal("bandwidth", f"{shown} takes no floor")
        elif "floor" in given and kind not in _WITH_FLOOR:
            why = f"{shown} takes no floor with type='{kind}'"
            yield DefinitionRefusal("bandwidth", why, since=None if floor else _NO_FLOOR_AT_ALL)
        elif "floor" not in given and "average" not in given:
            yield DefinitionRefusal("bandwidth", f"{shown} has no average")


def _vlan(vlan: _Attributes, tags: list[_Attributes]) -> Iterator[DefinitionRefusal]:
    native = sum("nativeMode" in tag for tag in tags)
    if any("id" not in tag for tag in tags):
        yield DefinitionRefusal("vlan", "<tag> (in <vlan>) has no id")
    if native > 1:
        yield DefinitionRefusal("vlan", "<vlan> has more than one nativeMode")
    if vlan.get("trunk", "").lower() == "no" and (native or len(tags) > 1):
        yield DefinitionRefusal(
            "vlan", "<vlan trunk='no'> takes only one <tag>, without nativeMode"
        )


Part = tuple[str, tuple[tuple[str, str], ...]]
"""A child element (or ``child/grandchild``) and its attributes."""

TYPES = frozenset({
    "user", "ethernet", "vhostuser", "server", "client", "mcast", "network", "bridge", "internal",
    "direct", "hostdev", "udp", "vdpa", "null", "vds",
})  # fmt: skip
"""``virDomainNetType`` of libvirt 11.3."""

WRONG_MAC, WRONG_NAME = "mac/wrong", "target/wrong"
"""Parts that hold, in place of an address and a name, why nothing can have it."""

_ON_OFF = ("on", "off")
_YES_NO = ("yes", "no")
_ENDLESS = 2**64 - 1
_ADDRESSES = (
    "pci", "drive", "virtio-serial", "ccid", "usb", "spapr-vio", "ccw", "virtio-mmio", "isa",
    "dimm",
)  # fmt: skip
"""``virDomainDeviceAddress`` of libvirt 11.3 without ``none``, ``unassigned`` and ``virtio-s390``,
which no NIC accepts."""


class _Word(NamedTuple):
    """An attribute with a list of values. ``empty``: ``""`` is the same as no attribute.
    ``virtio``: it is read only if the model is written as virtio. ``types``: only on interfaces of
    these types. ``folded``: case does not matter."""

    values: tuple[str, ...]
    empty: bool = False
    virtio: bool = False
    types: frozenset[str] = TYPES
    folded: bool = False


class _Number(NamedTuple):
    """An attribute with a number, from ``least`` to ``most``; ``based``: in any base, as in C."""

    least: int = 0
    most: int = 2**32 - 1
    empty: bool = False
    based: bool = False


_NOT_ASSIGNED = TYPES - {"hostdev"}
_VIRTIO_ON_OFF = _Word(_ON_OFF, virtio=True, types=_NOT_ASSIGNED)

_ROWS: dict[tuple[str, str], tuple[_Word | _Number, ...]] = {
    ("", "trustGuestRxFilters"): (_Word(_YES_NO),),
    ("mac", "type"): (_Word(("generated", "static")),),
    ("mac", "check"): (_Word(_YES_NO),),
    ("link", "state"): (_Word(("up", "down"), empty=True),),
    ("port", "isolated"): (_Word(_YES_NO),),
    ("target", "managed"): (_Word(_YES_NO),),
    ("rom", "bar"): (_Word(_ON_OFF),),
    ("rom", "enabled"): (_Word(_YES_NO),),
    ("teaming", "type"): (_Word(("persistent", "transient"), empty=True),),
    ("virtualport", "type"): (_Word(("openvswitch", "802.1Qbg", "802.1Qbh", "midonet")),),
    ("source", "mode"): (
        _Word(("vepa", "private", "bridge", "passthrough"), types=frozenset({"direct"})),
        _Word(("server", "client"), types=frozenset({"vhostuser"})),
    ),
    ("source/reconnect", "enabled"): (_Word(_YES_NO, types=frozenset({"vhostuser"})),),
    ("source", "type"): (_Word(("unix",), types=frozenset({"vhostuser"})),),
    ("driver", "name"): (
        _Word(("qemu", "vhost"), virtio=True, types=_NOT_ASSIGNED),
        _Word(("kvm", "vfio", "xen"), types=frozenset({"hostdev"})),
    ),
    ("driver", "txmode"): (_Word(("iothread", "timer"), virtio=True, types=_NOT_ASSIGNED),),
    **{
        ("driver", name): (_Word(_ON_OFF, virtio=True, types=_NOT_ASSIGNED),)
        for name in ("ioeventfd", "event_idx", "rss", "rss_hash_report")
    },
    **{("driver", name): (_Word(_ON_OFF),) for name in ("iommu", "ats", "packed", "page_per_vq")},
    **{
        ("driver/host", name): (_VIRTIO_ON_OFF,)
        for name in ("csum", "gso", "tso4", "tso6", "ecn", "ufo", "mrg_rxbuf")
    },
    **{
        ("driver/guest", name): (_VIRTIO_ON_OFF,)
        for name in ("csum", "tso4", "tso6", "ecn", "ufo")
    },
    ("mtu", "size"): (_Number(empty=True),),
    ("boot", "order"): (_Number(least=1),),
    ("address", "type"): (_Word(_ADDRESSES),),
    ("address/pci", "slot"): (_Number(most=0x1F, based=True),),
    ("address/pci", "function"): (_Number(most=7, based=True),),
    ("address/pci", "bus"): (_Number(most=0xFF, based=True),),
    ("address/pci", "multifunction"): (_Word(_ON_OFF),),
    ("acpi", "index"): (_Number(least=1),),
    ("coalesce/rx/frames", "max"): (_Number(empty=True),),
    ("vlan", "trunk"): (_Word(_YES_NO, empty=True, folded=True),),
    ("vlan/tag", "id"): (_Number(most=4095),),
    ("vlan/tag", "nativeMode"): (_Word(("tagged", "untagged")),),
    **{
        (f"bandwidth/{way}", name): (_Number(most=_ENDLESS),)
        for way in ("inbound", "outbound")
        for name in ("average", "peak", "burst")
    },
}  # fmt: skip
"""Child and attribute -> the values that libvirt accepts."""

_REQUIRED = {
    "bridge": ("bridge",), "network": ("network",), "direct": ("dev",), "vdpa": ("dev",),
    "server": ("port",), "client": ("address", "port"), "mcast": ("address", "port"),
    "udp": ("address", "port"), "internal": ("name",), "vhostuser": ("type", "path", "mode"),
    "hostdev": (),
}  # fmt: skip
"""Type -> attributes that ``<source>`` must have."""

_WITH_MTU = frozenset({"network", "bridge", "ethernet", "vhostuser"})
_ON_BRIDGES = frozenset({"network", "bridge"})
_WITH_IP = frozenset({"user", "vdpa"})
_WITH_PORT = frozenset({"network", "bridge", "direct", "hostdev"})

_MALFORMED = DefinitionRefusal("mac/@address", "its MAC address is malformed")
_MODEL = re.compile(r"[a-zA-Z0-9_-]*")
"""``NET_MODEL_CHARS`` of libvirt."""
_MANY = 6
"""Maximum number of values listed in a message."""

_MAC = re.compile(r"(?:[0-9a-fA-F]{1,2}:){5}[0-9a-fA-F]{1,2}\s*", re.ASCII)
AS_WRITTEN = re.compile(r"[0-9a-f][02468ace](?::[0-9a-f]{2}){5}", re.ASCII)
"""A unicast address as libvirt, and nearly everybody, writes it."""


def refusals(kind: str, parts: tuple[Part, ...]) -> tuple[DefinitionRefusal, ...]:
    """Every refusal of an interface of type ``kind``, in the order of its children. Values that a
    template fills in are ignored."""
    if kind not in TYPES:
        none = DefinitionRefusal("@type", f"there is no type={_quoted(kind)}")
        return () if _unfilled("", "type", kind) else (none,)
    given = {path: dict(attributes) for path, attributes in reversed(parts)}
    model = given.get("model", {}).get("type", "")
    found = [refusal for part in parts for refusal in _of_part(kind, model, part)]
    found += _incomplete(kind, given)
    found += _elsewhere(kind, given)
    every: dict[str, list[dict[str, str]]] = {}
    for path, attributes in parts:
        every.setdefault(path, []).append(dict(attributes))
    found += combined(kind, every)
    if _MODEL.fullmatch(model) is None and not _unfilled("model", "type", model):
        found.append(DefinitionRefusal(MODEL, f"the model {_quoted(model)} has invalid characters"))
    return tuple(dict.fromkeys(found))


def wrong_mac(address: str) -> str | None:
    """Why libvirt refuses a MAC address (``virMacAddrParse``, and its check for a unicast
    address): ``malformed`` or ``multicast``; None if it accepts it, or the address is still to
    be filled in."""
    if AS_WRITTEN.fullmatch(address) is not None:
        return None
    if _MAC.fullmatch(address) is None:
        return None if _unfilled("mac", "address", address) else "malformed"
    return "multicast" if is_multicast(address) else None


def _of_part(kind: str, model: str, part: Part) -> Iterator[DefinitionRefusal]:
    path, attributes = part
    for name, text in attributes:
        if path == WRONG_MAC:
            yield MULTICAST if text == "multicast" else _MALFORMED
        for row in _ROWS.get((path, name), ()):
            if isinstance(row, _Number):
                yield from _number(row, path, name, text)
            elif kind in row.types and (not row.virtio or normal_model(model) in VIRTIO):
                yield from _word(row, path, name, text)


def _word(row: _Word, path: str, name: str, text: str) -> Iterator[DefinitionRefusal]:
    known = text.lower() in row.values
    if text in row.values or (row.empty and not text) or (known and row.folded):
        return
    if not known and _unfilled(path, name, text):
        return
    yield DefinitionRefusal(
        place_of(path, name), f"{_shown_at(path, name, text)} is not {_alternatives(row.values)}"
    )


def _number(row: _Number, path: str, name: str, text: str) -> Iterator[DefinitionRefusal]:
    if (row.empty and not text) or _unfilled(path, name, text):
        return
    value = _number_of(row, text)
    shown, place = _shown_at(path, name, text), place_of(path, name)
    if value is None:
        yield DefinitionRefusal(place, f"{shown} is not a number")
    elif not row.least <= value <= row.most:
        yield DefinitionRefusal(place, f"{shown} is not between {row.least} and {row.most}")


def _number_of(row: _Number, text: str) -> int | None:
    if row.based:
        return number(text)
    return long_count(text) if row.most == _ENDLESS else count(text)


def _alternatives(values: tuple[str, ...]) -> str:
    if len(values) > _MANY:
        return "a type that libvirt accepts"
    *others, last = values
    return f"{', '.join(others)} or {last}" if others else last


def _incomplete(kind: str, given: dict[str, dict[str, str]]) -> Iterator[DefinitionRefusal]:
    """Refusals of an interface that lacks a required element or attribute."""
    needed = _REQUIRED.get(kind)
    source = given.get("source")
    passt = given.get("backend", {}).get("type") == "passt"
    if needed is not None and not passt:
        if source is None:
            yield DefinitionRefusal("source", f"type='{kind}' has no <source>")
        elif missing := [name for name in needed if name not in source]:
            yield DefinitionRefusal(
                "source", f"<source> of type='{kind}' has no {' and no '.join(missing)}"
            )
        elif kind == "udp" and "source/local" not in given:
            yield DefinitionRefusal("source", "<source> of type='udp' has no <local>")
    if "boot" in given and "order" not in given["boot"]:
        yield DefinitionRefusal("boot", "<boot> has no order")
    if "vlan" in given and "vlan/tag" not in given:
        yield DefinitionRefusal("vlan", "<vlan> has no <tag>")
    if "address" in given and "type" not in given["address"]:
        yield DefinitionRefusal("address", "<address> has no type")
    teaming = given.get("teaming", {})
    if teaming.get("type") == "transient" and not teaming.get("persistent"):
        yield DefinitionRefusal("teaming", "<teaming type='transient'> has no persistent=")
    port = given.get("virtualport")
    if port is not None and kind != "network" and "type" not in port:
        yield DefinitionRefusal("virtualport", "<virtualport> has no type")


def _elsewhere(kind: str, given: dict[str, dict[str, str]]) -> Iterator[DefinitionRefusal]:
    """Refusals of settings that libvirt accepts only on interfaces of another type, model or
    mode."""
    passt = given.get("backend", {}).get("type") == "passt"
    if kind not in _WITH_MTU and not passt and (count(given.get("mtu", {}).get("size", "")) or 0):
        yield DefinitionRefusal("mtu/@size", f"type='{kind}' takes no <mtu>")
    if kind not in _ON_BRIDGES and given.get("port", {}).get("isolated") == "yes":
        yield DefinitionRefusal("port/@isolated", f"type='{kind}' takes no <port isolated>")
    if kind not in _ON_BRIDGES and given.get("coalesce/rx/frames", {}).get("max"):
        yield DefinitionRefusal("coalesce", f"type='{kind}' takes no <coalesce>")
    if kind != "ethernet" and given.get("target", {}).get("managed") == "no":
        yield DefinitionRefusal("target/@managed", f"type='{kind}' takes no <target managed='no'>")
    if kind not in _WITH_PORT and "virtualport" in given:
        yield DefinitionRefusal("virtualport", f"type='{kind}' takes no <virtualport>")
    if kind not in _WITH_IP and not passt and "ip" in given:
        yield DefinitionRefusal(
            "ip", f"type='{kind}' takes no <ip>, the guest sets its own address"
        )
    model = given.get("model", {}).get("type", "").lower()
    half = given.get("teaming", {}).get("type")
    # without a model, the default decides: see knowledge/refused_nics.py
    if half == "persistent" and kind != "hostdev" and model not in (*VIRTIO, "", "unknown"):
        yield DefinitionRefusal("teaming", "<teaming type='persistent'> is for virtio")
    reconnect = given.get("source/reconnect", {}).get("enabled")
    if reconnect == "yes" and given.get("source", {}).get("mode") == "server":
        yield DefinitionRefusal("source", "<reconnect> is for mode='client'")


def _unfilled(path: str, name: str, text: str) -> bool:
    return is_only_placeholder(text) or opened(text) or _names_itself(path, name, text)


_WORD = re.compile(r"[A-Z][A-Z0-9_]{1,60}")
_SHORTEST = 3
"""Minimum letters in the name of an element; an attribute's needs one more. A shorter name (``rx``,
``bar``, ``max``) is the end of too many words."""


def is_bare(text: str) -> bool:
    """True for a word in capitals that is not a NIC model and so may be a placeholder."""
    text = text.strip()
    return _WORD.fullmatch(text) is not None and not is_model(text)


def _names_itself(path: str, name: str, text: str) -> bool:
    """True if the value of the attribute ``name`` of the child ``path`` is a placeholder by its
    wording: ``CHANGEME``, or the name of its element or attribute (``MACADDR``, ``VLAN_ID``,
    ``DRIVERNAME``). ``MAYBE`` and ``DISABLED`` count as (wrong) values."""
    text = text.strip()
    if not is_bare(text):
        return False
    names = {step.upper() for step in path.split("/") if len(step) >= _SHORTEST}
    names |= {name.upper()} if len(name) > _SHORTEST else set()
    return stands_for_model(text) or any(
        text.startswith(own) or text.endswith(own) or own in text.split("_") for own in names
    )


def _shown_at(path: str, name: str, text: str) -> str:
    """The attribute as written, with the element that it belongs to."""
    outer, *inner = path.split("/")
    if outer == "address":
        inner = []  # the second step is the value of its type=
    element = f"<{inner[-1]}> (in <{outer}>) " if inner else f"<{outer}> " if outer else ""
    return f"{element}{name}={_quoted(text)}"


def _quoted(text: str) -> str:
    return repr(text[:40])
