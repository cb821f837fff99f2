"""Current state of the cloud objects that may be changed: the facts that decide whether a change is
allowed."""

from __future__ import annotations

import msgspec

# A host of a cloud that runs its servers.


class ComputeNode(msgspec.Struct, frozen=True):
    """One host by its ``name`` in the cloud; its ``address`` and ``zone`` are empty if they are
    unknown. ``up``: its service answers."""

    name: str
    address: str = ""
    zone: str = ""
    aggregates: tuple[str, ...] = ()
    up: bool = True


class ServerState(msgspec.Struct, frozen=True):
    """The current state of a server. ``stored_properties`` are the image properties that Nova keeps
    for it (reported from microversion 2.98, except for servers that boot from a volume); None: not
    reported."""

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
    """Status of its nova-compute: ``UP``, ``DOWN``, ``UNKNOWN``, ``MAINTENANCE``; empty: not
    reported, since only admins see it (``host_status``, microversion 2.16)."""
    instance_name: str | None = None
    zone: str = ""
    project: str = ""
    stored_properties: dict[str, str] | None = None
    has_image: bool | None = None
    """True: it was created from an image, so shelving it creates a snapshot; False: it boots from a
    volume; None: unknown."""
    fault: str = ""
    """Nova's error message for a server in state ERROR."""


class PortState(msgspec.Struct, frozen=True):
    """The current state of a server's port in Neutron. ``status``: ``ACTIVE``, ``DOWN``,
    ``BUILD``…"""

    id: str
    mac: str
    status: str


class FlavorState(msgspec.Struct, frozen=True):
    """The current state of a flavor, with its extra specs."""

    id: str
    name: str
    properties: dict[str, str] = {}
