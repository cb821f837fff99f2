"""Compute nodes of one site, and how one of them differs from most of the others."""

from __future__ import annotations

import msgspec

from vnicaudit.model.location import AcceptingComment, Location
from vnicaudit.model.nova import PciEntry

SITE_OPTIONS = (
    ("keystone_authtoken", "auth_url"), ("keystone_authtoken", "www_authenticate_uri"),
    ("keystone_authtoken", "region_name"), ("neutron", "auth_url"), ("neutron", "region_name"),
    ("placement", "auth_url"), ("placement", "region_name"), ("placement", "os_region_name"),
    ("glance", "region_name"), ("cinder", "os_region_name"),
)  # fmt: skip
"""Options that distinguish one cloud or region from another."""

IDENTITY = (("DEFAULT", "host"), ("DEFAULT", "my_ip"))
"""Options that distinguish a node from others."""


class NodeValue(msgspec.Struct, frozen=True):
    """Value of one option on one node, as Nova reads it; its default if it is not set (``""`` if
    there is none). ``place`` is where it is set; the node's first file if it is not."""

    option: str
    value: str
    place: Location


class SiteNode(msgspec.Struct, frozen=True):
    """One compute node: the ``files`` that its nova-compute reads together.

    ``site`` identifies the cloud to which it belongs, by its configuration; ``host`` is its own
    name, ``""`` if it has none. Options that are not certain are not among its ``values``.
    ``devices`` are all of ``[pci] device_spec``; None if one of them is not certain, or they are
    too long to be kept.
    """

    target: str
    files: tuple[str, ...]
    site: tuple[str, ...]
    host: str
    values: tuple[NodeValue, ...]
    devices: tuple[PciEntry, ...] | None = None
    comments: tuple[AcceptingComment, ...] = ()
    """Comments of its file that accept findings."""


class Difference(msgspec.Struct, frozen=True):
    """One option of one node that differs from most other nodes of its site.

    ``usual`` is their value, ``nodes`` how many have it, of ``total``; ``places`` are some of them.
    ``place`` is where this node sets it.
    """

    option: str
    value: str
    usual: str
    nodes: int
    total: int
    place: Location
    places: tuple[Location, ...]
