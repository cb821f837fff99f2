"""Networks to whose ports Nova gives the devices of ``[pci] device_spec``.

Source: Nova 34.0.0, ``network/neutron.py`` ``create_resource_requests`` (a port requests the
physical network of its network, None if that has none, and ``remote_managed`` "False");
``pci/utils.py`` ``pci_device_prop_match``, executed (text is compared case-insensitively, anything
else as it is); ``pci/stats.py`` ``_ensure_remote_managed_tag`` (the default is "false");
``pci/whitelist.py`` ``get_devspec`` and ``pci/devspec.py`` (a device belongs to the first entry
that it matches).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.knowledge.pci_spec import devices_in
from vnicaudit.model.nova import PciEntry

_ANY = "*"
_PARTS, _ANY_TEXT = ("domain", "bus", "slot", "function"), ".*"
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
        for one in (vendor, _ANY)
        for two in (product_id, _ANY)
        for three in (where, _ANY)
    )
    return next((before[one] for one in wider if one in before), "")


def _match(device: dict[str, object]) -> _Match | None:
    """The match of an entry; None if Nova does not accept it. Addresses are compared as text: which
    functions of a card an address means depends on the card."""
    vendor, product_id = device.get("vendor_id", _ANY), device.get("product_id", _ANY)
    if not isinstance(vendor, str) or not isinstance(product_id, str):
        return None
    return _number(vendor.strip()), _number(product_id), _location(device)


def _number(text: str) -> str:
    try:
        return text if text == _ANY else f"{int(text, 16):04x}"
    except ValueError:
        return text


def _location(device: dict[str, object]) -> str:
    name, address = device.get("devname"), device.get("address")
    if name:
        return f"devname {name}"
    if isinstance(address, str):
        fields = address.replace(".", ":").split(":")
        return _ANY if all(field.strip() in ("", _ANY) for field in fields) else address
    if not isinstance(address, dict):
        return _ANY
    patterns = [str(address.get(part, _ANY_TEXT)) for part in _PARTS]
    return _ANY if set(patterns) == {_ANY_TEXT} else f"patterns {patterns}"
