"""Nova's lists of PCI devices (``[pci] device_spec``), checked like Nova checks them at its start.

Source: nova/pci/whitelist.py and nova/pci/devspec.py, the same from Ocata (15.0) to 34.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.model.nova import PciEntry

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


# Networks to whose ports Nova gives the devices of ``[pci] device_spec``.
#
# Source: Nova 34.0.0, ``network/neutron.py`` ``create_resource_requests`` (a port requests the
# physical network of its network, None if that has none, and ``remote_managed`` "False");
# ``pci/utils.py`` ``pci_device_prop_match``, executed (text is compared case-insensitively,
# anything else as it is); ``pci/stats.py`` ``_ensure_remote_managed_tag`` (the default is "false");
# ``pci/whitelist.py`` ``get_devspec`` and ``pci/devspec.py`` (a device belongs to the first entry
# that it matches).


_ANY_PCI_OFFERS = "*"
_PARTS_PCI_OFFERS, _ANY_TEXT = ("domain", "bus", "slot", "function"), ".*"
"""Parts of an address given as regular expressions, and the expression for a missing part."""
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
"""oslo.utils ``strutils.bool_from_string``, not strict."""

_Match = tuple[str, str, str]
"""Vendor, product and location by which an entry matches devices; :data:`_ANY` matches all."""


class PciOffer(msgspec.Struct, frozen=True):
    """The devices of one entry, for ports on one physical network; None: for networks without one
    (tunnels), if the entry says null or nothing.

    ``behind`` is the place of an earlier entry that matches all of its devices, so that none are
    left for it; empty if the text does not show one."""

    network: str | None
    place: str
    behind: str = ""

    def is_for(self, network: str) -> bool:
        """True if ports on this physical network (empty: ports on none) can get the offered
        devices."""
        return (self.network or "").lower() == network.lower()


def offers(entries: Iterable[PciEntry]) -> Iterator[PciOffer]:
    """Offers of the entries, in Nova's order. An entry offers nothing if its
    ``physical_network`` is not text or null, or is empty, or if its ``remote_managed`` is
    anything but "false" as text."""
    before: dict[_Match, str] = {}
    for entry in entries:
        for device in devices_in(entry.value) or []:
            if not isinstance(device, dict):
                continue
            match = _match(device)
            network = device.get("physical_network")
            if _is_local(device) and (network is None or (isinstance(network, str) and network)):
                yield PciOffer(network, entry.place, _shadowing_entry(match, before))
            # with remote_managed, a device must also have a serial number
            if match is not None and not _is_true(device.get("remote_managed")):
                before.setdefault(match, entry.place)


def _is_local(device: dict[str, object]) -> bool:
    managed = device.get("remote_managed")
    return managed is None or (isinstance(managed, str) and managed.lower() == "false")


def _is_true(value: object) -> bool:
    return str(value).strip().lower() in _TRUE


def _shadowing_entry(match: _Match | None, before: dict[_Match, str]) -> str:
    """The place of an earlier entry that has the same value, or any, for each part."""
    if match is None:
        return ""
    vendor, product_id, where = match
    wider = (
        (one, two, three)
        for one in (vendor, _ANY_PCI_OFFERS)
        for two in (product_id, _ANY_PCI_OFFERS)
        for three in (where, _ANY_PCI_OFFERS)
    )
    return next((before[one] for one in wider if one in before), "")


def _match(device: dict[str, object]) -> _Match | None:
    """The match of an entry; None if Nova does not accept it. Addresses are compared as text: which
    functions of a card an address means depends on the card."""
    vendor, product_id = (
        device.get("vendor_id", _ANY_PCI_OFFERS),
        device.get("product_id", _ANY_PCI_OFFERS),
    )
    if not isinstance(vendor, str) or not isinstance(product_id, str):
        return None
    return _number(vendor.strip()), _number(product_id), _location(device)


def _number(text: str) -> str:
    try:
        return text if text == _ANY_PCI_OFFERS else f"{int(text, 16):04x}"
    except ValueError:
        return text


def _location(device: dict[str, object]) -> str:
    name, address = device.get("devname"), device.get("address")
    if name:
        return f"devname {name}"
    if isinstance(address, str):
        fields = address.replace(".", ":").split(":")
        return (
            _ANY_PCI_OFFERS
            if all(field.strip() in ("", _ANY_PCI_OFFERS) for field in fields)
            else address
        )
    if not isinstance(address, dict):
        return _ANY_PCI_OFFERS
    patterns = [str(address.get(part, _ANY_TEXT)) for part in _PARTS_PCI_OFFERS]
    return _ANY_PCI_OFFERS if set(patterns) == {_ANY_TEXT} else f"patterns {patterns}"
