"""What an ``<interface>`` sets, as raw text -> :class:`~vnicaudit.model.nic.NicConfig`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from vnicaudit.model.models import normal_model
from vnicaudit.model.nic import NicConfig
from vnicaudit.platforms.domain_xml.fields import CHILDREN, Field

Part = tuple[str, tuple[tuple[str, str], ...]]
"""A child element (or ``child/grandchild``) and its attributes."""

_REMEMBERED = 4096
_LONG = 2048
"""Characters of attributes. A NIC that says more is somebody's joke, and not remembered."""

_configs: dict[tuple[str, str | None, tuple[Part, ...]], NicConfig] = {}
"""NICs set alike share one record: a fleet has few kinds of NICs and many NICs."""


def config_of(kind: str, device: str | None, raw: tuple[Part, ...]) -> NicConfig:
    """The record of an interface of type ``kind``; ``device`` is a vDPA NIC's device file."""
    key = (kind, device, raw)
    config = _configs.get(key)
    if config is None:
        config = _config(kind, device, raw)
        if sum(len(text) for _, given in raw for pair in given for text in pair) < _LONG:
            if len(_configs) >= _REMEMBERED:
                _configs.clear()  # bounded; refilled as needed
            _configs[key] = config
    return config


def _config(kind: str, device: str | None, raw: tuple[Part, ...]) -> NicConfig:
    actual = None if kind == "network" else kind
    values: dict[str, Any] = {"type": kind, "device": device, "actual_type": actual}
    invalid: list[tuple[str, str]] = []
    for path, attributes in raw:
        given = dict(attributes)
        special = _SPECIAL.get(path)
        if special is not None:
            values.update(special(given))
        for field in CHILDREN.get(path, ()):
            values.update(_values(field, given, invalid))
    if invalid:
        values["invalid"] = tuple(invalid)
    return NicConfig(**values)


def _off(given: dict[str, str]) -> tuple[str, ...]:
    return tuple(name for name, text in given.items() if text == "off")


def _actual(given: dict[str, str]) -> dict[str, Any]:
    """``<actual>`` of a live status; ``network`` there means a bridge of libvirt's own."""
    return {"actual_type": "bridge" if given["type"] == "network" else given["type"]}


_SPECIAL: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "": lambda given: {"trust_guest_rx_filters": given["trustGuestRxFilters"]},
    "driver/host": lambda given: {"host_off": _off(given)},
    "driver/guest": lambda given: {"guest_off": _off(given)},
    "actual": _actual,
    "source/ovs": lambda _given: {"ovs_socket": True},
    "source/reconnect": lambda given: {"reconnect": given.get("enabled")},
}
"""Parts that are more than one attribute each."""


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
