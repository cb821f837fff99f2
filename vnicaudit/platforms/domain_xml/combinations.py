"""Combinations in an ``<interface>`` that libvirt refuses although it accepts each value alone, and
values that it accepts but does not start. Measured with libvirt 9.0 on every interface type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.model.host import Version
from vnicaudit.model.nic import DefinitionRefusal
from vnicaudit.text.beginning import is_only_placeholder, opened

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
    wrong = _first_child(parts, "target").get("dev")
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
