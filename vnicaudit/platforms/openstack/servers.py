"""``GET /servers/detail``: every server, page by page, as Nova describes it.

Source of the fields: Nova 34.0.0, ``api/openstack/compute/views/servers.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.model.decoding import json_decoder
from vnicaudit.platforms.openstack.calls import CallError, Calls
from vnicaudit.platforms.openstack.pages import Listing, Page, pages
from vnicaudit.platforms.openstack.versions import Microversions, shown

_PAGE = 200
"""Nova's own limit is 1,000 by default (``[api] max_limit``). A fifth of that answers within a
deadline on a slow cloud, and costs little: see benchmarks/openstack.py."""
_FORBIDDEN = 403

Text = str | int | float | bool | None


class RawImage(msgspec.Struct):
    """``properties`` (2.98): those Nova keeps. None: it does not say."""

    id: str
    properties: dict[str, Text] | None = None


class RawFlavor(msgspec.Struct):
    """Up to 2.46 the id of the flavor, from 2.47 on the flavor as Nova keeps it; ``extra_specs``
    only for those who may see them."""

    id: str | None = None
    original_name: str | None = None
    vcpus: int | None = None
    extra_specs: dict[str, Text] | None = None


class RawAddress(msgspec.Struct):
    """One fixed or floating address; its NIC is told by the MAC alone."""

    mac: str | None = msgspec.field(name="OS-EXT-IPS-MAC:mac_addr", default=None)


class RawVolume(msgspec.Struct):
    """One that is attached."""

    id: str | None = None


class RawServer(msgspec.Struct):
    """One server. What only an admin is shown is None for others."""

    id: str
    name: str | None = None
    status: str = ""
    tenant_id: str | None = None
    created: str | None = None
    image: RawImage | str | None = None
    """``""``: it boots from a volume. Missing where its cell is down."""
    flavor: RawFlavor | None = None
    addresses: dict[str, list[RawAddress]] = {}
    locked: bool | None = None
    locked_reason: str | None = None
    host: str | None = msgspec.field(name="OS-EXT-SRV-ATTR:host", default=None)
    instance_name: str | None = msgspec.field(name="OS-EXT-SRV-ATTR:instance_name", default=None)
    node: str | None = msgspec.field(name="OS-EXT-SRV-ATTR:hypervisor_hostname", default=None)
    zone: str | None = msgspec.field(name="OS-EXT-AZ:availability_zone", default=None)
    launched: str | None = msgspec.field(name="OS-SRV-USG:launched_at", default=None)
    vm_state: str | None = msgspec.field(name="OS-EXT-STS:vm_state", default=None)
    task_state: str | None = msgspec.field(name="OS-EXT-STS:task_state", default=None)
    power_state: int | None = msgspec.field(name="OS-EXT-STS:power_state", default=None)
    volumes: list[RawVolume] = msgspec.field(
        name="os-extended-volumes:volumes_attached", default_factory=list
    )

    @property
    def image_id(self) -> str | None:
        """None: it names none."""
        return self.image.id if isinstance(self.image, RawImage) else None

    @property
    def macs(self) -> list[str]:
        """Those of its addresses, each once, in Nova's order."""
        found = (each.mac for addresses in self.addresses.values() for each in addresses)
        return list(dict.fromkeys(mac.lower() for mac in found if mac))


DECODER = json_decoder(RawServer)


class Servers:
    """The servers that this user may see: those of all projects, where Nova lets him, else his
    project's. ``all_projects`` is None before Nova was asked."""

    def __init__(self, calls: Calls, microversions: Microversions) -> None:
        self.all_projects: bool | None = None
        self._calls = calls
        self._microversion = shown(microversions.servers)

    def pages(self) -> Iterator[Page[RawServer]]:
        """Page by page. Raises TargetError where one cannot be had."""
        try:
            for page in pages(self._calls, self._listing(("all_tenants", "True")), DECODER):
                self.all_projects = True
                yield page
        except CallError as error:
            if self.all_projects or error.status != _FORBIDDEN:
                raise
            self.all_projects = False
            yield from pages(self._calls, self._listing(), DECODER)

    def _listing(self, *query: tuple[str, str]) -> Listing:
        return Listing("compute", "/servers/detail", "servers", _PAGE, query, self._microversion)
