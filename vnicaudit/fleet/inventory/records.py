"""Hosts as listed by one source, and the inventory merged from all sources."""

from __future__ import annotations

import msgspec

from vnicaudit.model.fleet import HostOptions, InventoryHost

DEFAULT_URI = "qemu+ssh://{host}/system"
"""URI of a host that has none of its own."""


class SourceHost(msgspec.Struct, frozen=True):
    """A host as listed by one source. ``uri`` empty: it has none of its own and is reached at
    ``address`` (empty: its name). ``derived``: its URI was built from ssh settings, so a template
    set by the user takes precedence. ``uri_source``: where its URI comes from."""

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
    """All hosts of one source, in its order. ``groups``: names of its groups, including empty ones.
    ``notes``: other remarks."""

    hosts: tuple[SourceHost, ...]
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Inventory(msgspec.Struct, frozen=True):
    """All hosts of a fleet, each once, in order. ``uri_sources``: host name -> where its URI comes
    from."""

    hosts: tuple[InventoryHost, ...]
    groups: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    uri_sources: dict[str, str] = {}
