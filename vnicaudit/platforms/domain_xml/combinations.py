"""Combinations in an ``<interface>`` that libvirt refuses although it accepts each value alone.
Measured with libvirt 9.0 on every interface type."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.definition_refusal import DefinitionRefusal
from vnicaudit.platforms.domain_xml.values import long_count

_Attributes = dict[str, str]

_WITH_TRANSIENT = frozenset({"hostdev", "network"})
"""``network``: for a pool of devices."""
_WITH_ROUTE = frozenset({"vdpa"})
_WITH_FLOOR = frozenset({"network"})


def combined(kind: str, parts: dict[str, list[_Attributes]]) -> Iterator[DefinitionRefusal]:
    """Every such refusal. ``parts``: path of an element -> the attributes of each such element."""
    yield from _rom(_first_child(parts, "rom"))
    for way in ("inbound", "outbound"):
        yield from _bandwidth(kind, way, parts.get(f"bandwidth/{way}", []))
    yield from _vlan(_first_child(parts, "vlan"), parts.get("vlan/tag", []))
    if kind not in _WITH_TRANSIENT and _first_child(parts, "teaming").get("type") == "transient":
        yield DefinitionRefusal("teaming", f"type='{kind}' takes no <teaming type='transient'>")
    passt = _first_child(parts, "backend").get("type") == "passt"
    if "route" in parts and kind not in _WITH_ROUTE and not passt:
        yield DefinitionRefusal("route", f"type='{kind}' takes no <route>")


def _first_child(parts: dict[str, list[_Attributes]], path: str) -> _Attributes:
    return next(iter(parts.get(path, [])), {})


def _rom(rom: _Attributes) -> Iterator[DefinitionRefusal]:
    if rom.get("enabled") == "no" and ("file" in rom or rom.get("bar") in ("on", "off")):
        yield DefinitionRefusal("rom", "<rom enabled='no'> takes no bar and no file")


def _bandwidth(kind: str, way: str, found: list[_Attributes]) -> Iterator[DefinitionRefusal]:
    shown = f"<{way}> (in <bandwidth>)"
    if len(found) > 1:
        yield DefinitionRefusal("bandwidth", f"{shown} appears twice")
    for given in found[:1]:
        floor = long_count(given.get("floor", "0")) != 0  # to libvirt 0 means none
        if floor and way == "outbound":
            yield DefinitionRefusal("bandwidth", f"{shown} takes no floor")
        elif floor and kind not in _WITH_FLOOR:
            yield DefinitionRefusal("bandwidth", f"{shown} takes no floor with type='{kind}'")
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
