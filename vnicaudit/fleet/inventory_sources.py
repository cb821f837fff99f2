"""Sources of an inventory: each ``--inventory`` -> its hosts.

A file is recognised by its suffix, otherwise by its content: ``.toml`` and ``.yaml`` files are ours
or (YAML) Ansible's; JSON may be the output of ``ansible-inventory --list``; a file with nothing but
a URI or a name in each line is a list of hosts; others, and folders, are Ansible's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import BinaryIO
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.reading.files import shown_path
from vnicaudit.base.opening import as_usage_error, own_text, read_regular
from vnicaudit.errors import UsageError
from vnicaudit.fleet.ansible import LISTING_MAX, PROGRAM, ask_ansible, listed_hosts
from vnicaudit.fleet.host_names import (
    MOST_HOSTS,
    NamedHosts,
    RangeError,
    fault_of_name,
    fault_of_uri,
)
from vnicaudit.fleet.inventory_tree import MAX_BYTES, toml_tree, yaml_tree
from vnicaudit.fleet.own_format import (
    Inventory,
    SourceHost,
    SourceHosts,
    is_own,
    read_own,
)
from vnicaudit.model.fleet import DEFAULT_URI, InventoryHost
from vnicaudit.text.targets import CLOUD, starting_parts

# A list of hosts, one in a line: a libvirt URI or a name, with blank lines and ``#`` comments.


URI = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:\+[A-Za-z0-9]+)?://|kube:\S")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_NAME = re.compile(r"[\w.-](?:[\w.-]|\[\w+:[\w:]+\])*")


def _bare_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a list with their numbers, without comments."""
    for number, line in enumerate(text.split("\n"), 1):
        if bare := _COMMENT.sub("", line).strip():
            yield number, bare


def _is_list(file: str, text: str) -> bool:
    """True if the first line is a URI, or every line a URI or nothing but a name. With variables in
    a folder next to it, a file of names is Ansible's."""
    lines = [line for _number, line in _bare_lines(text)]
    if any(URI.match(line) for line in lines[:1]):
        return True
    folder = os.path.dirname(os.path.abspath(file))
    beside = file != STDIN and any(os.path.isdir(f"{folder}/{name}") for name in _BESIDE)
    return not beside and all(_NAME.fullmatch(line) or URI.match(line) for line in lines)


def _list(file: str, text: str) -> SourceHosts:
    """The hosts of a list. One with a URI is named after its server, or after its URI if several
    URIs have the same server. Raises UsageError for a line that is neither."""
    hosts: list[SourceHost] = []
    names = NamedHosts()
    for number, line in _bare_lines(text):
        source = f"{file}:{number}"
        if _NAME.fullmatch(line):
            hosts += _named_hosts(line, source, names, hosts)
        else:
            hosts.append(host_of(line, source))
    uris: dict[str, set[str]] = {}
    for host in hosts:
        uris.setdefault(host.name, set()).add(host.uri)
    return SourceHosts(tuple(
        replace(host, name=host.uri) if host.uri and len(uris[host.name]) > 1 else host
        for host in hosts
    ))  # fmt: skip


def host_of(uri: str, source: str) -> SourceHost:
    """The host of a URI, named after its server, or after the URI if it has none. Raises UsageError
    if the URI is not allowed in an inventory."""
    if fault := fault_of_uri(uri) or ("" if URI.match(uri) else "not a libvirt URI"):
        raise UsageError(f"{source}: {fault}")
    return SourceHost(urlsplit(uri).hostname or uri, source, uri, uri_source="the URI itself")


def _named_hosts(
    text: str, source: str, names: NamedHosts, known: list[SourceHost]
) -> Iterator[SourceHost]:
    """The hosts of a name or a range of names."""
    try:
        found = names.expanded(text, known)
    except RangeError as error:
        raise UsageError(f"{source}: {error}") from None
    for name in found:
        if fault := fault_of_name(name):
            raise UsageError(f"{source}: {fault}")
        yield SourceHost(name, source)


# Merges hosts of several sources into one inventory, each host once.


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
        options = known.options.or_else(host.options)
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


STDIN = "-"
_OWN_TOML = re.compile(r"^[ \t]{0,9}(?:\[\[hosts\]\]|\[groups\.|\[defaults\])", re.MULTILINE)
_YAML = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:---|\{|[\w.\"'-]{1,200}[\"']?:(?:\s|$))")
_BESIDE = ("group_vars", "host_vars")

CloudHosts = Callable[[str], SourceHosts]
"""The compute nodes of a cloud, by its target name. Raises TargetError."""


class Sources(msgspec.Struct, frozen=True):
    """Sources of inventories. ``cloud``: lists the hosts of an OpenStack cloud. ``stdin``: standard
    input. ``template``: the URI of hosts without one. ``trusted``: URIs that may start programs."""

    cloud: CloudHosts | None = None
    stdin: BinaryIO | None = None
    template: str = DEFAULT_URI
    trusted: frozenset[str] = frozenset()


def read_inventory(names: Iterable[str], sources: Sources) -> Inventory:
    """The inventory merged from several sources. Raises UsageError for a source that cannot be read
    or is invalid, TargetError if a cloud cannot be reached."""
    named = dict.fromkeys(names)
    read = [_read(name, sources) for name in named]
    inventory = merged(read, sources.template, sources.trusted.union(named))
    if not inventory.hosts:
        raise UsageError("the inventory names no host")
    return inventory


def _read(name: str, sources: Sources) -> SourceHosts:
    if name == STDIN:
        if sources.stdin is None:
            raise UsageError("standard input is closed")
        return _parsed(STDIN, sources.stdin.read(LISTING_MAX + 1))
    if name.startswith(CLOUD):
        if sources.cloud is None:
            raise UsageError(f"{name}: clouds are not supported here")
        return sources.cloud(name)
    if URI.match(name) and not os.path.exists(name):
        return SourceHosts((host_of(name, "--inventory"),))
    if "," in name and not os.path.exists(name):
        names, hosts = NamedHosts(), list[SourceHost]()
        for part in filter(None, map(str.strip, name.split(","))):
            hosts += _named_hosts(part, "--inventory", names, hosts)
        return SourceHosts(tuple(hosts))
    if os.path.isdir(name):
        return ask_ansible(name)
    with as_usage_error(name):
        data = read_regular(name, LISTING_MAX + 1)
    return _parsed(name, data)


def _parsed(file: str, data: bytes) -> SourceHosts:
    if data.startswith(b"#!"):
        raise UsageError(
            f"{file}: begins with #!: inventory scripts are not run; run `{PROGRAM} -i SCRIPT "
            "--list`, and pipe its output into `-i -`"
        )
    if len(data) <= LISTING_MAX and (found := listed_hosts(file, data, file)) is not None:
        return found
    text = own_text(file, data, MAX_BYTES, "an inventory")
    suffix = os.path.splitext(file)[1].lower()
    if suffix == ".toml" or (suffix not in (".yaml", ".yml") and _OWN_TOML.search(text)):
        return read_own(toml_tree(file, text))
    if suffix in (".yaml", ".yml", ".json") or _YAML.match(text):
        tree = yaml_tree(file, text)
        if is_own(tree.value):
            return read_own(tree)
    elif _is_list(file, text):
        return _list(file, text)
    if file == STDIN:
        raise UsageError(
            "-: neither hosts, one in a line, nor vnicaudit's own format, nor the output of "
            f"`{PROGRAM} -i FILE --list`, which reads Ansible's INI and YAML"
        )
    return ask_ansible(file)
