"""Merges hosts of several sources into one inventory, each host once."""

from __future__ import annotations

from collections.abc import Container, Iterable
from urllib.parse import urlsplit

import msgspec

from vnicaudit.audit.reading.files import shown_path
from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.checks import fault_of_uri
from vnicaudit.fleet.inventory.ranges import MOST_HOSTS
from vnicaudit.fleet.inventory.records import DEFAULT_URI, Inventory, SourceHost, SourceHosts
from vnicaudit.model.fleet import HostOptions, InventoryHost
from vnicaudit.text.libvirt_uri import starting_parts

_NAMED = 20
"""Duplicates that are listed one by one."""


def merged(
    sources: Iterable[SourceHosts], template: str, trusted: Container[str] = ()
) -> Inventory:
    """One inventory. ``template``: the URI of hosts without one. ``trusted``: URIs that the user
    named, which may start programs. A host named by two sources is
    merged: it is in the groups of both, and other facts come from the first. Raises UsageError if
    two sources give the same name different URIs, for another URI that may start a program, and for
    more than MOST_HOSTS hosts."""
    table = _Table(template, trusted)
    groups: dict[str, None] = {}
    notes: list[str] = []
    for source in sources:
        groups.update(dict.fromkeys(source.groups))
        notes += source.notes
        for host in source.hosts:
            table.add(host)
            if len(table.hosts) > MOST_HOSTS:
                raise UsageError(f"{host.source}: the inventory names over {MOST_HOSTS:,} hosts")
    if len(table.notes) > _NAMED:
        table.notes[_NAMED:] = [f"… and {len(table.notes) - _NAMED:,} more hosts named twice"]
    uri_sources = {name: host.uri_source for name, host in table.hosts.items()}
    found = tuple(_finished(host) for host in table.hosts.values())
    return Inventory(found, tuple(groups), (*notes, *table.notes), uri_sources)


class _Table:
    """All hosts so far, by name."""

    def __init__(self, template: str, trusted: Container[str]) -> None:
        self.hosts: dict[str, SourceHost] = {}
        self.notes: list[str] = []
        self._template = template
        self._trusted = trusted
        self._by_uri: dict[str, str] = {}

    def add(self, host: SourceHost) -> None:
        host = self._with_uri(host)
        known = self.hosts.get(host.name)
        if known is None:
            known = self.hosts.get(self._by_uri.get(host.uri, ""))
        if known is None:
            self.hosts[host.name] = host
            self._by_uri[host.uri] = host.name
            return
        self._check_same(known, host)
        also = "" if known.name == host.name else f" as {known.name}"
        self.notes.append(
            f"{host.name} ({host.source}) is already named{also} in {known.source}: read once"
        )
        groups = tuple(dict.fromkeys((*known.groups, *host.groups)))
        options = HostOptions(
            known.options.deadline if known.options.deadline is not None else host.options.deadline,
            known.options.agent if known.options.agent is not None else host.options.agent,
        )
        site = known.site or host.site
        self.hosts[known.name] = msgspec.structs.replace(
            known, groups=groups, options=options, site=site
        )

    def _with_uri(self, host: SourceHost) -> SourceHost:
        if host.uri and not (host.derived and self._template != DEFAULT_URI):
            self._check_own(host)
            return host
        address = host.address or host.name
        if ":" in address and not address.startswith("["):
            address = f"[{address}]"
        uri = self._template.replace("{host}", address).replace("{name}", host.name)
        if fault := fault_of_uri(uri):
            raise UsageError(f"{host.source}: {host.name}: {fault}")
        return msgspec.structs.replace(
            host, uri=uri, uri_source=f"from the template {self._template}"
        )

    def _check_own(self, host: SourceHost) -> None:
        """Anybody who may write to an inventory decides on the URIs in it, but not on programs."""
        parts = () if host.uri in self._trusted else starting_parts(host.uri)
        if parts:
            raise UsageError(
                f"{host.source}: {host.name}: {', '.join(parts)} in its URI may start a program "
                "here; if it is your own, pass the same URI with --trust-uri"
            )

    @staticmethod
    def _check_same(known: SourceHost, host: SourceHost) -> None:
        if known.uri == host.uri:
            return
        raise UsageError(
            f"{host.name} has two URIs: {_bare(known.uri)} ({known.source}) and {_bare(host.uri)} "
            f"({host.source}); rename one of them, or leave one out"
        )


def _bare(uri: str) -> str:
    return urlsplit(uri)._replace(query="").geturl()


def _finished(host: SourceHost) -> InventoryHost:
    return InventoryHost(
        host.name, host.uri, host.site, host.groups, host.options, shown_path(host.source)
    )
