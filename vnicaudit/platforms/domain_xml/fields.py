"""The table of NIC attributes: one row per fact, used for reading and for writing.

A row maps a field of :class:`~vnicaudit.model.nic.NicConfig` to an attribute of a child of
``<interface>``, and says how its text is read. Names and types follow libvirt 11.3
``virDomainNetDefParseXML``. As in libvirt, the first of several equal children wins.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["model", "path", "word", "count", "bus"]
"""``path``: unchanged; ``word``: an enumeration value; ``model``: a device's name (both cut at a
length that no valid name has); ``count``: a decimal number of 32 bits (``virXMLPropUInt``, base
10); ``bus``: the number of a PCI bus, in any base."""


class Field(msgspec.Struct, frozen=True):
    """One row: ``name`` in the record, ``path`` (the child), ``attribute``, ``kind``."""

    name: str
    path: str
    attribute: str
    kind: Kind

    @property
    def xpath(self) -> str:
        """The place relative to ``<interface>``, e.g. ``driver/@queues``."""
        return f"{self.path}/@{self.attribute}"


FIELDS: tuple[Field, ...] = (
    Field("model", "model", "type", "model"),
    Field("source_mode", "source", "mode", "word"),
    Field("backend_type", "backend", "type", "word"),
    Field("backend_vhost", "backend", "vhost", "path"),
    Field("driver_name", "driver", "name", "word"),
    Field("queues", "driver", "queues", "count"),
    Field("rx_queue_size", "driver", "rx_queue_size", "count"),
    Field("tx_queue_size", "driver", "tx_queue_size", "count"),
    Field("txmode", "driver", "txmode", "word"),
    Field("ioeventfd", "driver", "ioeventfd", "word"),
    Field("event_idx", "driver", "event_idx", "word"),
    Field("rss", "driver", "rss", "word"),
    Field("rss_hash_report", "driver", "rss_hash_report", "word"),
    Field("iommu", "driver", "iommu", "word"),
    Field("ats", "driver", "ats", "word"),
    Field("packed", "driver", "packed", "word"),
    Field("page_per_vq", "driver", "page_per_vq", "word"),
    Field("mtu", "mtu", "size", "count"),
    Field("link_state", "link", "state", "word"),
    Field("address_type", "address", "type", "word"),
    Field("address_bus", "address", "bus", "bus"),
    Field("multifunction", "address", "multifunction", "word"),
    Field("rom_bar", "rom", "bar", "word"),
    Field("rom_file", "rom", "file", "path"),
    Field("acpi", "acpi", "index", "word"),
    Field("teaming", "teaming", "type", "word"),
    Field("network_filter", "filterref", "filter", "word"),
    Field("boot_order", "boot", "order", "count"),
)

XPATH: dict[str, str] = {field.name: field.xpath for field in FIELDS} | {
    "type": "@type",
    "mac": "mac/@address",
    "trust_guest_rx_filters": "@trustGuestRxFilters",
    "source": "source",
    "device": "source/@dev",
    "rom": "rom",
    "host_off": "driver/host",
    "guest_off": "driver/guest",
}
"""Every field that a finding may name -> its place relative to ``<interface>``."""

CHILDREN: dict[str, tuple[Field, ...]] = {
    path: tuple(field for field in FIELDS if field.path == path)
    for path in dict.fromkeys(field.path for field in FIELDS)
}
"""Child element -> its rows."""
