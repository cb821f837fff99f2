"""``GET /servers/detail`` and ``GET /flavors/detail``: every server, page by page, as Nova
describes it; the flavors available for servers, and the one that a server was created with.

Source of the fields: Nova 34.0.0, ``api/openstack/compute/views/servers.py`` (``_get_flavor_dict``)
and ``views/flavors.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import plain
from vnicaudit.errors import ActionError
from vnicaudit.model.decoding import json_as, json_decoder
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Flavor, Property
from vnicaudit.model.runs import PortState, ServerState
from vnicaudit.platforms.openstack.client import CallError, Client
from vnicaudit.platforms.openstack.listing import (
    Collection,
    Listing,
    ListPage,
    Microversions,
    pages,
)

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
            each.mac.lower(): sys.intern(name)
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
    specs = sorted((raw.extra_specs or {}).items(), key=lambda item: item[0])
    return Flavor(
        target,
        name,
        where,
        tuple(Property(key, text_of(value), where) for key, value in specs),
        complete=raw.extra_specs is not None,
        vcpus=_vcpus(raw.vcpus),
        id=flavor_id,
    )


def _vcpus(count: int | None) -> int | None:
    return count if count is not None and count > 0 else None


# The current state of a server, its ports and its last error, decoded from answers of services.
#
# Source of the fields: Nova 34.0.0, ``api/openstack/compute/views/servers.py``,
# ``views/server_diagnostics.py`` and ``instance_actions.py``; Neutron 29.0.0; Cinder's API
# reference (``GET /v3/{project}/volumes/{id}``).


T = TypeVar("T")

_LONGEST = 300


class _Fault(msgspec.Struct):
    message: str = ""


class _RawServerState(RawServer):
    """A server as ``GET /servers/{id}`` gives it: the fields that the list lacks."""

    locked_reason: str | None = None
    host_status: str | None = None
    fault: _Fault | None = None


class _ServerBody(msgspec.Struct):
    server: _RawServerState


class _Port(msgspec.Struct):
    id: str
    mac: str = msgspec.field(name="mac_address", default="")
    status: str = ""


class _Ports(msgspec.Struct):
    ports: list[_Port]


class _NicCounters(msgspec.Struct):
    mac: str | None = msgspec.field(name="mac_address", default=None)
    sent: int | None = msgspec.field(name="tx_packets", default=None)


class _Diagnostics(msgspec.Struct):
    nics: list[_NicCounters] = msgspec.field(name="nic_details", default_factory=list)


class _Action(msgspec.Struct):
    request: str = msgspec.field(name="request_id", default="")
    message: str | None = None


class _Actions(msgspec.Struct):
    actions: list[_Action] = msgspec.field(name="instanceActions", default_factory=list)


class _ActionEvent(msgspec.Struct):
    result: str | None = None
    details: str | None = None


class _Events(msgspec.Struct):
    events: list[_ActionEvent] = []


class _ActionBody(msgspec.Struct):
    action: _Events = msgspec.field(name="instanceAction")


class _Attachment(msgspec.Struct):
    server: str = msgspec.field(name="server_id", default="")


class _Volume(msgspec.Struct):
    attachments: list[_Attachment] = []


class _VolumeBody(msgspec.Struct):
    volume: _Volume


def server_of(body: bytes) -> ServerState:
    """The state of a server. Raises ActionError if the answer is not a server."""
    raw = _decoded(body, _ServerBody, "a server").server
    kept = None
    if isinstance(raw.image, RawImage) and raw.image.properties is not None:
        kept = {name: text_of(value) for name, value in raw.image.properties.items()}
    return ServerState(
        id=raw.id,
        name=plain(raw.name or raw.id),
        status=plain(raw.status),
        vm_state=raw.vm_state or "",
        task_state=None if raw.task_state is None else plain(raw.task_state),
        power_state=raw.power_state,
        locked=raw.locked,
        locked_reason=plain(raw.locked_reason or ""),
        host=raw.host,
        host_status=plain(raw.host_status or ""),
        instance_name=raw.instance_name,
        zone=raw.zone or "",
        project=raw.tenant_id or "",
        stored_properties=kept,
        has_image=None if raw.image is None else raw.image != "",
        fault=plain(raw.fault.message) if raw.fault else "",
    )


def volumes_of(body: bytes) -> tuple[str, ...]:
    """Ids of the volumes of a server. Raises ActionError."""
    raw = _decoded(body, _ServerBody, "a server").server
    return tuple(volume.id for volume in raw.volumes if volume.id)


def ports_of(body: bytes) -> tuple[PortState, ...]:
    """The ports in a list. Raises ActionError."""
    found = _decoded(body, _Ports, "a list of ports").ports
    return tuple(PortState(port.id, port.mac.lower(), plain(port.status)) for port in found)


def sent_of(body: bytes) -> dict[str, int]:
    """MAC -> packets that its guest has sent: ``tx_packets`` is libvirt's, counted on the tap with
    the direction reversed (``get_instance_diagnostics`` in nova/virt/libvirt/driver.py). Raises
    ActionError."""
    nics = _decoded(body, _Diagnostics, "diagnostics").nics
    return {nic.mac.lower(): nic.sent for nic in nics if nic.mac and nic.sent is not None}


def failed_request(body: bytes) -> str:
    """Id of the last request for a server, if it failed; otherwise empty. Raises ActionError."""
    actions = _decoded(body, _Actions, "actions").actions
    return actions[0].request if actions and actions[0].message == "Error" else ""


def details_of(body: bytes) -> str:
    """The error of a failed request, if Nova reports it (microversion 2.84), otherwise empty.
    Raises ActionError."""
    events = _decoded(body, _ActionBody, "an action").action.events
    said = (event.details for event in events if event.result == "Error" and event.details)
    return plain(next(said, ""))[:_LONGEST]


def attached_to(body: bytes) -> frozenset[str]:
    """Ids of the servers that have a volume. Raises ActionError."""
    volume = _decoded(body, _VolumeBody, "a volume").volume
    return frozenset(attachment.server for attachment in volume.attachments)


def decoded(body: bytes, kind: type[T], complaint: str) -> T:
    """The record in an answer. Raises ActionError, which begins with ``complaint``, if it is not
    such a record."""
    try:
        return json_as(body, kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        reason = plain(str(error)) or type(error).__name__
        raise ActionError(f"{complaint}: {reason}") from None


def _decoded(body: bytes, kind: type[T], what: str) -> T:
    return decoded(body, kind, f"the cloud's answer is not {what}")
