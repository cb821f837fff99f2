"""Which networks' ports Nova gives the devices of ``[pci] device_spec`` to.

Source: Nova 34.0.0, ``network/neutron.py`` ``create_resource_requests`` (a port asks for the
physical network of its network, None where that has none, and for ``remote_managed`` "False");
``pci/utils.py`` ``pci_device_prop_match``, executed (text is compared without its case, anything
else as it is); ``pci/stats.py`` ``_ensure_remote_managed_tag`` (nothing said is "false");
``pci/whitelist.py`` ``get_devspec`` and ``pci/devspec.py`` (a device is of the first entry that it
matches).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.knowledge.pci_spec import devices_in
from vnicaudit.model.nova import PciEntry

_ANY = "*"
_PARTS, _ANY_TEXT = ("domain", "bus", "slot", "function"), ".*"
"""Of an address in regular expressions, and what one is that is not said."""
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
"""oslo.utils ``strutils.bool_from_string``, not strict."""

_Match = tuple[str, str, str]
"""Vendor, product and where: what an entry matches devices by; :data:`_ANY` is any."""


class PciOffer(msgspec.Struct, frozen=True):
    """The devices of one entry, for ports on one physical network; None: on networks that have
    none (tunnels), where the entry says null or nothing.

    ``behind`` is the place of an entry before it that matches all of its devices, so that it has
    none left; empty where the text does not tell of such a one."""

    network: str | None
    place: str
    behind: str = ""

    def is_for(self, network: str) -> bool:
        """True where ports on this physical network can get the offered devices; empty: a port on
        none."""
        return (self.network or "").lower() == network.lower()


def offers(entries: Iterable[PciEntry]) -> Iterator[PciOffer]:
    """Offers of the entries, in Nova's order. An entry is for nobody whose ``physical_network`` is
    not text or null, or is empty, or whose ``remote_managed`` is anything but "false" as text."""
    before: dict[_Match, str] = {}
    for entry in entries:
        for device in devices_in(entry.value) or []:
            if not isinstance(device, dict):
                continue
            match = _match(device)
            network = device.get("physical_network")
            if _is_local(device) and (network is None or (isinstance(network, str) and network)):
                yield PciOffer(network, entry.place, _shadowing_entry(match, before))
            # of a remote_managed entry a device must have a serial number as well
            if match is not None and not _is_true(device.get("remote_managed")):
                before.setdefault(match, entry.place)


def _is_local(device: dict[str, object]) -> bool:
    managed = device.get("remote_managed")
    return managed is None or (isinstance(managed, str) and managed.lower() == "false")


def _is_true(value: object) -> bool:
    return str(value).strip().lower() in _TRUE


def _shadowing_entry(match: _Match | None, before: dict[_Match, str]) -> str:
    """The place of an entry before that says the same, or any, of each."""
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
    """None: not what Nova takes. Addresses are the same where their text is: which functions of a
    card an address stands for, the card decides."""
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
