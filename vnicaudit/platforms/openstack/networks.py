"""``GET /v2.0/networks``: what networks may send, and what they are made of.

Neutron tells admins alone what they are made of, and leaves these fields out for everybody else
(Neutron 29.0.0, ``conf/policies/network.py`` ``get_network:provider:…``). A network with several
segments has them in ``segments`` (``plugins/ml2/managers.py``
``extend_network_with_provider_segments``).
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.decoding import json_decoder
from vnicaudit.model.report import ReadError
from vnicaudit.model.server import ProviderNetwork
from vnicaudit.platforms.openstack.calls import Calls
from vnicaudit.platforms.openstack.pages import Listing, pages, read_error

_PAGE = 1000
_FIELDS = ("id", "mtu", "provider:network_type", "provider:physical_network", "segments")
_LISTING = Listing(
    "network", "/networks", "networks", _PAGE, tuple(("fields", field) for field in _FIELDS)
)
_LONGEST = 64
"""Characters of a physical network (neutron-lib, ``PHYSICAL_NETWORK_MAX_LEN``)."""
_LONGEST_KIND = 32
"""Characters of a network's type (``NETWORK_TYPE_MAX_LEN``)."""


class RawSegment(msgspec.Struct):
    physical: str | None = msgspec.field(name="provider:physical_network", default=None)


class RawNetwork(msgspec.Struct):
    """One network as Neutron says it. ``physical`` None: it has none; left out: that is not
    told."""

    id: str
    mtu: int | None = None
    kind: str | None = msgspec.field(name="provider:network_type", default=None)
    physical: str | msgspec.UnsetType | None = msgspec.field(
        name="provider:physical_network", default=msgspec.UNSET
    )
    segments: list[RawSegment] | None = None


class Networks(NamedTuple):
    """Networks by their id: the MTU of each, and what each is made of, as far as it is told."""

    mtus: dict[str, int]
    made_of: dict[str, ProviderNetwork]
    errors: list[ReadError]


def read_networks(calls: Calls) -> Networks:
    """Those that this user may see. Where Neutron fails half-way, those it gave by then."""
    found = Networks({}, {}, [])
    shared: dict[ProviderNetwork, ProviderNetwork] = {}
    try:
        for page in pages(calls, _LISTING, json_decoder(RawNetwork)):
            found.errors.extend(page.errors)
            found.mtus.update((each.id, each.mtu) for each in page.items if each.mtu)
            for each in page.items:
                if (made := made_of(each)) is not None:
                    found.made_of[sys.intern(each.id)] = shared.setdefault(made, made)
    except TargetError as error:
        found.errors.append(read_error(error))
    return found


def made_of(raw: RawNetwork) -> ProviderNetwork | None:
    """What a network is made of, as Nova reads it (34.0.0, ``network/neutron.py``
    ``_get_physnet_tunneled_info``); None: it is not told, or by a name that none can have."""
    if raw.segments:
        physical = next((one.physical for one in raw.segments if one.physical), "")
        made = ProviderNetwork(physical, segmented=True)
    elif raw.physical is msgspec.UNSET:
        return None
    else:
        made = ProviderNetwork(raw.physical or "", (raw.kind or "")[:_LONGEST_KIND])
    return made if len(made.physical) <= _LONGEST else None
