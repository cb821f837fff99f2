"""Nova's lists of PCI devices (``[pci] device_spec``), checked like Nova checks them at its start.

Source: nova/pci/whitelist.py and nova/pci/devspec.py, the same from Ocata (15.0) to 34.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_ANY = "*"
_IDS = (("vendor_id", 0xFFFF), ("product_id", 0xFFFF))
_PARTS = (("domain", 0xFFFF), ("bus", 0xFF), ("slot", 0x1F), ("function", 0x7))
_TRUTH = frozenset({"1", "t", "true", "on", "y", "yes", "0", "f", "false", "off", "n", "no"})
"""oslo.utils ``strutils.bool_from_string``, strict."""
_STRICT_TAGS = (("managed", 31), ("live_migratable", 31), ("one_time_use", 32))
"""Tags that must be true or false, and the release since which Nova requires it."""
_MAX_PATTERN = 200
"""Longer patterns are not compiled."""


def devices_in(text: str) -> list[object] | None:
    """The entries of one value; None if it is not JSON."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, list) else [found]


def refusal_reasons(text: str, release: int) -> Iterator[str]:
    """Reasons why nova-compute does not start with this value."""
    devices = devices_in(text)
    if devices is None:
        yield "it is not JSON"
        return
    for device in devices:
        if not isinstance(device, dict):
            yield "an entry is not an object ({...})"
        else:
            yield from _of_device(device, release)


def by_name(text: str) -> Iterator[str]:
    """The names of network devices (``devname``) that the value contains."""
    for device in devices_in(text) or []:
        if isinstance(device, dict) and device.get("devname"):
            yield str(device["devname"])


def _of_device(device: dict[str, object], release: int) -> Iterator[str]:
    for name, highest in _IDS:
        yield from _hexadecimal(name, device.get(name, _ANY), highest)
    address = device.get("address")
    if device.get("devname"):
        if address:
            yield "address and devname exclude each other"
    elif isinstance(address, str):
        yield from _glob(address)
    elif isinstance(address, dict):
        yield from _patterns(address)
    elif address:
        yield "address is neither text nor an object"
    for tag, since in _STRICT_TAGS:
        value = device.get(tag)
        if release >= since and value is not None and str(value).strip().lower() not in _TRUTH:
            yield f"{tag} is neither true nor false"


def _hexadecimal(name: str, value: object, highest: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{name} is not text"
        return
    if (value if name == "product_id" else value.strip()) == _ANY:  # Nova strips all but this
        return
    try:
        number = int(value[:_MAX_PATTERN], 16)
    except ValueError:
        yield f"{name} {value[:20]!r} is not a hexadecimal number"
        return
    if number > highest:
        yield f"{name} {value[:20]!r} is above {highest:X}"


def _glob(address: str) -> Iterator[str]:
    """Problems of an address ``domain:bus:slot.function``; parts missing on the left match
    anything."""
    before, _, function = address.partition(".")
    fields = before.split(":") if before else []
    if len(fields) > 3:
        yield f"address {address[:40]!r} has more than domain:bus:slot.function"
        return
    texts = [_ANY] * (3 - len(fields)) + [field.strip() or _ANY for field in fields]
    texts.append(function.strip() if function else _ANY)
    for (name, highest), text in zip(_PARTS, texts, strict=True):
        yield from _hexadecimal(f"{name} of the address", text, highest)


def _patterns(address: dict[str, object]) -> Iterator[str]:
    for name, _ in _PARTS:
        pattern = address.get(name, "")
        if not isinstance(pattern, str):
            yield f"{name} of the address is not text"
        elif len(pattern) <= _MAX_PATTERN and not _compiles(pattern):
            yield f"{name} of the address is not a valid regular expression"


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True
