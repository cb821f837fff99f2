"""``GET /flavors/detail``: the flavors servers can be made with, and the one a server was made
with.

Source of the fields: Nova 34.0.0, ``api/openstack/compute/views/flavors.py`` and
``views/servers.py`` (``_get_flavor_dict``).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Flavor, Property
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.calls import Calls
from vnicaudit.platforms.openstack.pages import Listing, pages, read_error
from vnicaudit.platforms.openstack.servers import RawFlavor, Text
from vnicaudit.platforms.openstack.versions import Microversions, shown

_PAGE = 1000
_MOST_VCPUS = 65_536
"""More is no number of vCPUs but a fault of the answer."""


class _Listed(msgspec.Struct):
    """A flavor in the list; ``extra_specs`` from 2.61 on, for those who may see them."""

    id: str
    name: str
    vcpus: int | None = None
    extra_specs: dict[str, Text] | None = None


class Flavors:
    """Flavors as they are now, by id and by name. ``errors``: what of them could not be read."""

    def __init__(self) -> None:
        self.errors: list[ReadError] = []
        self.by_id: dict[str, Flavor] = {}
        self._by_name: dict[str, Flavor] = {}

    def add(self, flavor: Flavor) -> None:
        """Keep one."""
        self.by_id[flavor.id or ""] = flavor
        self._by_name[flavor.name] = flavor

    def of(self, raw: RawFlavor | None) -> Flavor | None:
        """The flavor that a server has, as it is now; None where it is not listed any more."""
        if raw is None:
            return None
        if raw.id is not None:
            return self.by_id.get(raw.id)
        return self._by_name.get(raw.original_name or "")


def read_flavors(calls: Calls, microversions: Microversions) -> Flavors:
    """All flavors this user may see, those that are not public among them."""
    found = Flavors()
    query = (("is_public", "None"),)
    listing = Listing(
        "compute", "/flavors/detail", "flavors", _PAGE, query, shown(microversions.flavors)
    )
    try:
        for page in pages(calls, listing, json_decoder(_Listed)):
            found.errors += page.errors
            for raw in page.items:
                found.add(_flavor(raw, calls.cloud.target))
    except TargetError as error:
        found.errors.append(read_error(error))
    return found


def embedded(raw: RawFlavor | None, now: Flavor | None, target: str) -> Flavor | None:
    """The flavor as Nova keeps it for a server; None where Nova names it only. ``now`` is the one
    of that name: the same, unless it was deleted and made anew with other vCPUs."""
    if raw is None or raw.original_name is None:
        return None
    vcpus = _vcpus(raw.vcpus)
    known = now is not None and now.vcpus == vcpus
    where = Location(target, xpath=f"flavors/{now.id if now and known else raw.original_name}")
    return Flavor(
        target,
        raw.original_name,
        where,
        _properties(raw.extra_specs, where),
        complete=raw.extra_specs is not None,
        vcpus=vcpus,
        id=now.id if now is not None and known else None,
    )


def text_of(value: Text) -> str:
    """A value as Nova and Glance would write it; they have texts only."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def _flavor(raw: _Listed, target: str) -> Flavor:
    where = Location(target, xpath=f"flavors/{raw.id}")
    return Flavor(
        target,
        raw.name,
        where,
        _properties(raw.extra_specs, where),
        complete=raw.extra_specs is not None,
        vcpus=_vcpus(raw.vcpus),
        id=raw.id,
    )


def _properties(specs: Mapping[str, Text] | None, where: Location) -> tuple[Property, ...]:
    found = sorted((specs or {}).items(), key=lambda item: item[0])
    return tuple(Property(name, text_of(value), where) for name, value in found)


def _vcpus(count: int | None) -> int | None:
    return count if count is not None and 0 < count <= _MOST_VCPUS else None
