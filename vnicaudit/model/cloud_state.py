"""Current state of cloud objects that may be changed, as far as it decides whether a change is
allowed."""

from __future__ import annotations

import msgspec


class ServerState(msgspec.Struct, frozen=True):
    """A server as it is now. ``stored_properties`` are the image properties Nova keeps for it,
    where it reports them (microversion 2.98, except for servers that boot from a volume); None: it
    does not."""

    id: str
    name: str
    status: str
    vm_state: str = ""
    task_state: str | None = None
    power_state: int | None = None
    locked: bool | None = None
    locked_reason: str = ""
    host: str | None = None
    host_status: str = ""
    """Of its nova-compute: ``UP``, ``DOWN``, ``UNKNOWN``, ``MAINTENANCE``; empty: not said, as to
    all but admins (``host_status``, microversion 2.16)."""
    instance_name: str | None = None
    zone: str = ""
    project: str = ""
    stored_properties: dict[str, str] | None = None
    has_image: bool | None = None
    """It was created from an image, so shelving creates a snapshot; False: it boots from a volume;
    None: unknown."""
    fault: str = ""
    """Nova's error message for a server in state ERROR."""


class PortState(msgspec.Struct, frozen=True):
    """A port of a server, as Neutron has it now. ``status``: ``ACTIVE``, ``DOWN``, ``BUILD``…"""

    id: str
    mac: str
    status: str


class FlavorState(msgspec.Struct, frozen=True):
    """A flavor as it is now, with its extra specs."""

    id: str
    name: str
    properties: dict[str, str] = {}
