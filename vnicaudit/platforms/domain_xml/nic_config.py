"""Build a :class:`~vnicaudit.model.nic.NicConfig` from the raw text of an ``<interface>``'s
settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vnicaudit.knowledge.models import normal_model
from vnicaudit.model.decoding import converted
from vnicaudit.model.nic import NicConfig
from vnicaudit.platforms.domain_xml.fields import CHILDREN, Field, Kind
from vnicaudit.platforms.domain_xml.refusals import Part, refusals
from vnicaudit.platforms.domain_xml.values import bus, count, word

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
        if _length(key) < _LONG:
            if len(_configs) >= _REMEMBERED:
                _configs.clear()  # bounded; refilled as needed
            _configs[key] = config
    return config


def _length(key: tuple[str, str | None, tuple[Part, ...]]) -> int:
    kind, device, raw = key
    texts = (text for _, given in raw for pair in given for text in pair)
    return len(kind) + len(device or "") + sum(len(text) for text in texts)


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
    return {"actual_type": "bridge" if given["type"] == "network" else word(given["type"])}


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
    elif field.kind != "model":
        yield field.name, value
    elif str(value).lower() not in ("", "unknown"):
        # libvirt's virXPathString returns nothing for "", and "unknown" is not in its list of
        # models: both are the same as no model
        yield field.name, value


def _model(text: str) -> str:
    return word(normal_model(text))


_CONVERT: dict[Kind, Callable[[str], str | int | None]] = {
    "model": _model,
    "path": str,
    "word": word,
    "count": count,
    "bus": bus,
}
