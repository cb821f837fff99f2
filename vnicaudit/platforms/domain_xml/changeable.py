"""Fields of an ``<interface>`` that can be changed: where each is written, and which values it
takes.

The rows of ``fields.py``, by which reading goes, and those of what is identity and no setting: what
a NIC is connected to. Which children there are is libvirt 11.3's ``virDomainNetDefFormat``.
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
"""An empty path: the ``<interface>`` itself."""

ATTRIBUTES: dict[str, Field] = {
    row.name: row for row in (*FIELDS, *_MORE) if row.path != "address"
}  # fmt: skip
"""Field -> the attribute it is written in. Half an address is none: it goes as a whole."""

REQUIRED = frozenset({"type"})
"""Fields that are set and never removed."""

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
"""Field -> the children that go with it when it is removed: the first must be there, the others
are refused by libvirt without it (``rom`` and ``acpi`` where the address is not PCI's)."""

ENTAILED: dict[str, tuple[str, ...]] = {
    "type": ("actual_type", "device", "ovs_socket", "reconnect"),
    "source": ("actual_type", "source_mode", "device", "ovs_socket", "reconnect"),
    "source_path": ("ovs_socket",),
    "backend": ("backend_type", "backend_vhost"),
    "address": ("address_type", "address_bus"),
    "address_type": ("address_bus", "rom", "acpi"),
    "rom": ("acpi",),
    "rom_file": ("rom",),
}
"""Field -> facts of :class:`~vnicaudit.model.nic.NicConfig` that change with it."""

_PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+")
_NUMBER = re.compile(r"[0-9]{1,10}")
_DEVICE = re.compile(r"/[A-Za-z0-9_./:\\-]+")
"""An absolute ``deviceName`` of libvirt's schema (``basictypes.rng``)."""
_PATH = re.compile("/[\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")
"""An ``absFilePath`` of the schema, without control characters and what XML has no word for."""

_ESCAPES = {
    ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord("'"): "&apos;", ord('"'): "&quot;",
}  # fmt: skip


def attribute_value(field: str, value: str) -> bytes:
    """The value as it stands between quotes of either kind, in any encoding: ASCII, what XML has
    another use for and all other characters as references.

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
