"""Hosts as a source names them, and the inventory that all sources make together."""

from __future__ import annotations

import msgspec

from vnicaudit.model.fleet import HostOptions, InventoryHost

DEFAULT_URI = "qemu+ssh://{host}/system"
"""Of a host that has no URI of its own."""


class SourceHost(msgspec.Struct, frozen=True):
    """One host as one source names it. ``uri`` empty: it has none of its own, and is reached at
    ``address`` (empty: its name). ``derived``: its URI is made of what is said of its ssh, and
    gives way to a template that the user names. ``uri_source``: how its URI came about."""

    name: str
    source: str
    uri: str = ""
    address: str = ""
    site: str = ""
    groups: tuple[str, ...] = ()
    options: HostOptions = HostOptions()
    uri_source: str = ""
    derived: bool = False


class SourceHosts(msgspec.Struct, frozen=True):
    """All hosts of one source in its order; ``groups``: the names of its groups, those without
    hosts included; ``notes``: what else is to be known of it."""

    hosts: tuple[SourceHost, ...]
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Inventory(msgspec.Struct, frozen=True):
    """All hosts of a fleet, each once, in order. ``uri_sources``: host name -> how the URI of
    that host came about."""

    hosts: tuple[InventoryHost, ...]
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    uri_sources: dict[str, str] = {}
