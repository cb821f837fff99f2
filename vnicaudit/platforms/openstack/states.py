"""The current state of a server, its ports and its last error, decoded from answers of services.

Source of the fields: Nova 34.0.0, ``api/openstack/compute/views/servers.py``,
``views/server_diagnostics.py`` and ``instance_actions.py``; Neutron 29.0.0; Cinder's API reference
(``GET /v3/{project}/volumes/{id}``).
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from vnicaudit.errors import ActionError
from vnicaudit.model.cloud_state import PortState, ServerState
from vnicaudit.model.decoding import json_as
from vnicaudit.platforms.openstack.failures import plain
from vnicaudit.platforms.openstack.servers import RawImage, RawServer, text_of

T = TypeVar("T")

_MOST_NICS = 64
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
    found = _decoded(body, _Ports, "a list of ports").ports[:_MOST_NICS]
    return tuple(PortState(port.id, port.mac.lower(), plain(port.status)) for port in found)


def sent_of(body: bytes) -> dict[str, int]:
    """MAC -> packets that its guest has sent: ``tx_packets`` is libvirt's, counted on the tap with
    the direction reversed (``get_instance_diagnostics`` in nova/virt/libvirt/driver.py). Raises
    ActionError."""
    nics = _decoded(body, _Diagnostics, "diagnostics").nics[:_MOST_NICS]
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
