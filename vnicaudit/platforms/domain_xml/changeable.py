"""Fields of an ``<interface>`` that can be changed: where each is written, and the values it
accepts.

They are the rows of ``fields.py``, with which reading works, and those that are identity rather
than settings: the network or device of a NIC. The list of children is that of libvirt 11.3's
``virDomainNetDefFormat``.
"""

from __future__ import annotations

import re

from vnicaudit.errors import RefusedError
from vnicaudit.platforms.domain_xml.fields import FIELDS, Field

_MORE = (
    Field("type", "", "type", "word"),
    Field("trust_guest_rx_filters", "", "trustGuestRxFilters", "word"),
    Field("device", "source", "dev", "path"),
    Field("source_type", "source", "type", "word"),
    Field("source_path", "source", "path", "path"),
)
"""An empty path is the ``<interface>`` itself."""

ATTRIBUTES: dict[str, Field] = {
    row.name: row for row in (*FIELDS, *_MORE) if row.path != "address"
}  # fmt: skip
"""Field -> the attribute that holds it. Parts of an address are left out: it is changed as a
whole."""

REQUIRED = frozenset({"type"})
"""Fields that can be set but not removed."""

_CHILDREN = (
    "source", "virtualport", "bandwidth", "vlan", "port", "ip", "route", "script", "downscript",
    "target", "backend", "filterref", "tune", "teaming", "mtu", "coalesce", "acpi", "address",
)  # fmt: skip

WHOLE: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in _CHILDREN},
    "port_forward": ("portForward",),
    "address_type": ("address", "rom", "acpi"),
    "rom": ("rom", "acpi"),
}
"""Field -> the children to remove with it: the first must be there, and libvirt refuses the others
without it (``rom`` and ``acpi`` if the address is not PCI's)."""

ENTAILED: dict[str, tuple[str, ...]] = {
    "type": ("actual_type", "device", "ovs_socket", "reconnect"),
    "source": ("actual_type", "source_mode", "device", "ovs_socket", "reconnect"),
    "source_path": ("ovs_socket",),
    "backend": ("backend_type", "backend_vhost"),
    "address": ("address_type", "address_bus", "multifunction"),
    "address_type": ("address_bus", "multifunction", "rom", "rom_bar", "acpi"),
    "filterref": ("network_filter",),
    "rom": ("rom_bar", "acpi"),
    "rom_file": ("rom",),
}
"""Field -> facts of :class:`~vnicaudit.model.nic.NicConfig` that change with it."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+")
_NUMBER = re.compile(r"[0-9]{1,10}")
_DEVICE = re.compile(r"/[A-Za-z0-9_./:\\-]+")
"""An absolute ``deviceName`` in libvirt's schema (``basictypes.rng``)."""
_PATH = re.compile("/[\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")
"""An ``absFilePath`` in the schema, without control characters and characters that XML cannot
hold."""

_ESCAPES = {
    ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("'"): "&apos;", ord('"'): "&quot;",
}  # fmt: skip


def attribute_value(field: str, value: str) -> bytes:
    """The value as written between quotes of either kind, in any encoding: ASCII, with references
    for XML's special characters and all other characters.

    Raises RefusedError for a value that the field cannot have.
    """
    row = ATTRIBUTES[field]
    if _pattern(row).fullmatch(value) is None:
        raise RefusedError(f"{field} cannot be set to {value[:40]!r}")
    return value.translate(_ESCAPES).encode("ascii", "xmlcharrefreplace")


def _pattern(row: Field) -> re.Pattern[str]:
    if row.name == "device":
        return _DEVICE
    return {"path": _PATH, "count": _NUMBER}.get(row.kind, _PLAIN)
