"""``GET /servers/detail`` and ``GET /flavors/detail``: every server, page by page, as Nova
describes it; the flavors available for servers, and the one that a server was created with.

Source of the fields: Nova 34.0.0, ``api/openstack/compute/views/servers.py`` (``_get_flavor_dict``)
and ``views/flavors.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Flavor, Property
from vnicaudit.platforms.openstack.client import CallError, Client
from vnicaudit.platforms.openstack.listing import Collection, Listing, ListPage, pages
from vnicaudit.platforms.openstack.versions import Microversions

_NETWORK_NAME = 255
"""Maximum number of characters of a network's name (neutron-lib, ``NAME_FIELD_SIZE``)."""
_PAGE = 200
"""Nova's own limit is 1,000 by default (``[api] max_limit``). A fifth of that answers within a
deadline on a slow cloud, and costs little: see benchmarks/openstack.py."""
_FORBIDDEN = 403

Text = str | int | float | bool | None


class RawImage(msgspec.Struct):
    """``properties`` (2.98): those that Nova keeps. None: not reported."""

    id: str
    properties: dict[str, Text] | None = None


class RawFlavor(msgspec.Struct):
    """Up to 2.46 the id of the flavor, from 2.47 on the flavor as Nova keeps it; ``extra_specs``
    only for users who may see them."""

    id: str | None = None
    original_name: str | None = None
    vcpus: int | None = None
    extra_specs: dict[str, Text] | None = None


class RawAddress(msgspec.Struct):
    """One fixed or floating address; its NIC is identified only by the MAC."""

    mac: str | None = msgspec.field(name="OS-EXT-IPS-MAC:mac_addr", default=None)


class RawVolume(msgspec.Struct):
    """One attached volume."""

    id: str | None = None


class RawServer(msgspec.Struct):
    """One server. Fields that only admins see are None for others."""

    id: str
    name: str | None = None
    status: str = ""
    tenant_id: str | None = None
    created: str | None = None
    image: RawImage | str | None = None
    """``""``: it boots from a volume. Missing if its cell is down."""
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
        """The id of its image; None if it names none."""
        return self.image.id if isinstance(self.image, RawImage) else None

    @property
    def networks(self) -> dict[str, str]:
        """MAC -> name of the network in which it has an address."""
        return {
            each.mac.lower(): sys.intern(name[:_NETWORK_NAME])
            for name, addresses in self.addresses.items()
            for each in addresses
            if each.mac
        }

    @property
    def macs(self) -> list[str]:
        """MACs of its addresses, each once, in Nova's order."""
        found = (each.mac for addresses in self.addresses.values() for each in addresses)
        return list(dict.fromkeys(mac.lower() for mac in found if mac))


SERVERS = Listing("compute", "/servers/detail", "servers", json_decoder(RawServer), _PAGE)


def text_of(value: Text) -> str:
    """A value as Nova and Glance would write it; they only have texts."""
    return value if isinstance(value, str) else "" if value is None else str(value)


class VisibleServers:
    """The servers that this user may see: those of all projects if Nova allows it, otherwise those
    of his project. ``all_projects`` is None before the first request."""

    def __init__(self, client: Client, microversions: Microversions) -> None:
        self.all_projects: bool | None = None
        self._client = client
        self._listing = SERVERS.at(microversions.servers)

    def pages(self) -> Iterator[ListPage[RawServer]]:
        """Page by page. Raises TargetError if one cannot be read."""
        everybodys = replace(self._listing, query=(("all_tenants", "True"),))
        try:
            for page in pages(self._client, everybodys):
                self.all_projects = True
                yield page
        except CallError as error:
            if self.all_projects or error.status != _FORBIDDEN:
                raise
            self.all_projects = False
            yield from pages(self._client, self._listing)


_FLAVORS_OF_PAGE = 1000
_MOST_VCPUS = 65_536
"""A larger number of vCPUs is an error in the answer."""


class _RawListedFlavor(msgspec.Struct):
    """A flavor in the list; ``extra_specs`` from 2.61 on, for users who may see them."""

    id: str
    name: str
    vcpus: int | None = None
    extra_specs: dict[str, Text] | None = None


FLAVORS = Listing(
    "compute",
    "/flavors/detail",
    "flavors",
    json_decoder(_RawListedFlavor),
    _FLAVORS_OF_PAGE,
    (("is_public", "None"),),
)
"""The list of flavors, including those that are not public."""


class Flavors(Collection[_RawListedFlavor]):
    """The current flavors of a cloud that this user may see, by id and by name."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.by_id: dict[str, Flavor] = {}
        self._by_name: dict[str, Flavor] = {}
        self._target = target

    def add(self, raw: _RawListedFlavor) -> None:
        """Add a flavor of the list."""
        self.keep(_flavor(raw, self._target, raw.name, raw.id))

    def keep(self, flavor: Flavor) -> None:
        """Add a flavor that is already a record."""
        self.by_id[flavor.id or ""] = flavor
        self._by_name[flavor.name] = flavor

    def of(self, raw: RawFlavor | None) -> Flavor | None:
        """The current flavor for that of a server; None if it is no longer listed."""
        if raw is None:
            return None
        if raw.id is not None:
            return self.by_id.get(raw.id)
        return self._by_name.get(raw.original_name or "")


def embedded(raw: RawFlavor | None, now: Flavor | None, target: str) -> Flavor | None:
    """The flavor as Nova keeps it for a server; None if Nova only names it. ``now`` is the current
    flavor of that name: the same, unless it was deleted and created again with other vCPUs."""
    if raw is None or raw.original_name is None:
        return None
    known = now is not None and now.vcpus == _vcpus(raw.vcpus)
    return _flavor(raw, target, raw.original_name, now.id if now is not None and known else None)


def _flavor(
    raw: RawFlavor | _RawListedFlavor, target: str, name: str, flavor_id: str | None
) -> Flavor:
    """The record of a flavor; ``flavor_id`` None: it is no longer listed."""
    where = Location(target, xpath=f"flavors/{flavor_id or name}")
    return Flavor(
        target,
        name,
        where,
        _properties(raw.extra_specs, where),
        complete=raw.extra_specs is not None,
        vcpus=_vcpus(raw.vcpus),
        id=flavor_id,
    )


def _properties(specs: Mapping[str, Text] | None, where: Location) -> tuple[Property, ...]:
    found = sorted((specs or {}).items(), key=lambda item: item[0])
    return tuple(Property(name, text_of(value), where) for name, value in found)


def _vcpus(count: int | None) -> int | None:
    return count if count is not None and 0 < count <= _MOST_VCPUS else None
