"""Sources of an inventory: each ``--inventory`` -> its hosts.

A file is recognised by its suffix, otherwise by its content: ``.toml`` and ``.yaml`` files are ours
or (YAML) Ansible's; a file whose first line is a URI is a list of URIs; others are Ansible's INI.
Folders and programs can only be Ansible's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import BinaryIO
from urllib.parse import quote, urlsplit

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.reading.files import shown_path
from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.errors import UsageError
from vnicaudit.fleet.ansible import (
    MOST_HOSTS,
    AnsibleGroups,
    RangeError,
    ask_ansible,
    expanded,
    is_installed,
    read_ini,
)
from vnicaudit.fleet.inventory_tree import (
    MAX_BYTES,
    InventoryTree,
    fault_of_address,
    fault_of_name,
    fault_of_uri,
    fault_of_user,
    read_yaml,
    toml_tree,
    yaml_tree,
)
from vnicaudit.fleet.own_format import (
    Inventory,
    SourceHost,
    SourceHosts,
    is_own,
    read_own,
)
from vnicaudit.model.fleet import DEFAULT_URI, HostOptions, InventoryHost
from vnicaudit.text.targets import CLOUD, starting_parts

# Ansible variables of a host -> its URI and options for vnicaudit.
#
# ``vnicaudit_uri`` takes precedence. Otherwise the host is reached by ssh, as Ansible would: at
# ``ansible_host``, as ``ansible_user``, on ``ansible_port``, with the key
# ``ansible_ssh_private_key_file``; ``ansible_connection: local`` means this machine. All other
# variables, including secrets, are neither used nor stored.


_OWN_URI = "vnicaudit_uri"
_LOCAL = "qemu:///system"
_LOCAL_SOURCE = "ansible_connection: local"
_TRUE = frozenset({"true", "yes", "on", "1"})
_PORT = re.compile(r"[0-9]{1,5}")
_FALSE = frozenset({"false", "no", "off", "0"})


def source_hosts(groups: AnsibleGroups, notes: tuple[str, ...] = ()) -> SourceHosts:
    """The hosts of an inventory. Raises UsageError for an invalid variable."""
    hosts = tuple(
        _HostVariables(name, variables, groups.places[name]).host(own)
        for name, own, variables in groups.settled()
    )
    named = tuple(name for name in groups.groups if name not in ("all", "ungrouped"))
    return SourceHosts(hosts, named, notes)


class _HostVariables:
    """The variables of one host."""

    def __init__(self, name: str, variables: Mapping[str, object], place: str) -> None:
        self._name = name
        self._variables = variables
        self._place = place

    def host(self, groups: tuple[str, ...]) -> SourceHost:
        """The host described by the variables."""
        if fault := fault_of_name(self._name):
            raise self._error(fault)
        uri, uri_source = self._uri()
        return SourceHost(
            name=self._name,
            source=self._place,
            uri=uri,
            address=self._text("ansible_host", "ansible_ssh_host"),
            site=self._text("vnicaudit_site"),
            groups=groups,
            options=HostOptions(self._seconds("vnicaudit_deadline"), self._switch()),
            uri_source=uri_source,
            derived=bool(uri) and uri_source not in (_OWN_URI, _LOCAL_SOURCE),
        )

    def _uri(self) -> tuple[str, str]:
        """The URI of the host and where it comes from; both empty if no variable sets it, so that
        the template applies."""
        own = self._text(_OWN_URI)
        if own:
            uri = own.replace("{name}", self._name).replace("{host}", self._address())
            self._check(_OWN_URI, fault_of_uri(uri))
            return uri, _OWN_URI
        if self._text("ansible_connection") == "local":
            return _LOCAL, _LOCAL_SOURCE
        user, port = self._text("ansible_user", "ansible_ssh_user"), self._port()
        key = self._text("ansible_ssh_private_key_file")
        address = self._address()
        if not (user or port or key) and address == self._name:
            return "", ""
        login = f"{quote(user)}@" if user else ""
        query = f"?keyfile={quote(key)}" if key else ""
        return f"qemu+ssh://{login}{address}{port}/system{query}", self._names_used()

    def _names_used(self) -> str:
        names = ("ansible_host", "ansible_ssh_host", "ansible_user", "ansible_ssh_user",
                 "ansible_port", "ansible_ssh_port", "ansible_ssh_private_key_file")  # fmt: skip
        return ", ".join(name for name in names if self._variables.get(name) is not None)

    def _address(self) -> str:
        address = self._text("ansible_host", "ansible_ssh_host") or self._name
        self._check("ansible_host", fault_of_address(address))
        user = self._text("ansible_user", "ansible_ssh_user")
        if user:
            self._check("ansible_user", fault_of_user(user))
        return f"[{address}]" if ":" in address and not address.startswith("[") else address

    def _port(self) -> str:
        port = self._text("ansible_port", "ansible_ssh_port")
        if port and not (_PORT.fullmatch(port) and 0 < int(port) < 65536):
            raise self._error(f"ansible_port: {port[:40]!r} is not a port")
        return f":{port}" if port and port != "22" else ""

    def _seconds(self, name: str) -> float | None:
        text = self._text(name)
        if not text:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0
        if not 0.1 <= seconds <= 86_400:
            raise self._error(f"{name}: must be from 0.1 to 86400 seconds, not {text[:40]!r}")
        return seconds

    def _switch(self) -> bool | None:
        text = self._text("vnicaudit_agent").lower()
        if not text:
            return None
        if text not in _TRUE | _FALSE:
            raise self._error(f"vnicaudit_agent: must be true or false, not {text[:40]!r}")
        return text in _TRUE

    def _text(self, *names: str) -> str:
        """The first of these variables that is set, as text; empty: none is set."""
        for name in names:
            value = self._variables.get(name)
            if value is None:
                continue
            try:
                text = str(value)
            except ValueError:  # a number of thousands of digits
                raise self._error(f"{name}: too long a number") from None
            if "{{" in text or "{%" in text:
                raise self._error(
                    f"{name} is a template, which only Ansible can evaluate; set vnicaudit_uri"
                )
            return text
        return ""

    def _check(self, name: str, fault: str) -> None:
        if fault:
            raise self._error(f"{name}: {fault}")

    def _error(self, message: str) -> UsageError:
        return UsageError(f"{self._place}: {self._name}: {message}")


# A file of libvirt URIs, one per line, with blank lines and ``#`` comments.


URI = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:\+[A-Za-z0-9]+)?://")
_COMMENT = re.compile(r"(?:^|\s)#.*")


def is_uri_list(text: str) -> bool:
    """True if the first line with content is a URI."""
    return any(URI.match(line) for line in _first_line(text))


def read_uris(file: str, text: str) -> SourceHosts:
    """The hosts of such a file, each named after its server, or after its URI if several URIs have
    the same server. Raises UsageError for a line that is not a URI."""
    hosts = tuple(_hosts(file, text))
    uris: dict[str, set[str]] = {}
    for host in hosts:
        uris.setdefault(host.name, set()).add(host.uri)
    return SourceHosts(tuple(
        replace(host, name=host.uri) if len(uris[host.name]) > 1 else host for host in hosts
    ))  # fmt: skip


def host_of(uri: str, source: str) -> SourceHost:
    """The host of a URI, named after its server, or after the URI if it has none. Raises UsageError
    if the URI is not allowed in an inventory."""
    if fault := fault_of_uri(uri) or ("" if URI.match(uri) else "not a libvirt URI"):
        raise UsageError(f"{source}: {fault}")
    return SourceHost(urlsplit(uri).hostname or uri, source, uri, uri_source="the URI itself")


def _hosts(file: str, text: str) -> Iterator[SourceHost]:
    for number, line in enumerate(text.split("\n"), 1):
        if uri := _COMMENT.sub("", line).strip():
            yield host_of(uri, f"{file}:{number}")


def _first_line(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if bare := _COMMENT.sub("", line).strip():
            yield bare
            return


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


STDIN = "-"
_OWN_TOML = re.compile(r"^[ \t]{0,9}(?:\[\[hosts\]\]|\[groups\.|\[defaults\])", re.MULTILINE)
_YAML = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:---|\{|[\w.\"'-]{1,200}[\"']?:(?:\s|$))")

_DATA = (".toml", ".yaml", ".yml", ".json", ".ini")
"""Suffixes of files that are read and not run, whatever permissions they have: some file systems
give all files all of them."""
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
        return _parsed("-", _decoded("-", sources.stdin.read(MAX_BYTES + 1)))
    if name.startswith(CLOUD):
        if sources.cloud is None:
            raise UsageError(f"{name}: clouds are not supported here")
        return sources.cloud(name)
    if URI.match(name) and not os.path.exists(name):
        return SourceHosts((host_of(name, "--inventory"),))
    if "," in name and not os.path.exists(name):
        return SourceHosts(tuple(_listed(name)))
    return _file(name)


def _listed(names: str) -> Iterator[SourceHost]:
    """The hosts in ``kvm1,kvm2,`` or ``kvm[01:20],``, as in Ansible."""
    for part in filter(None, (one.strip() for one in names.split(","))):
        try:
            found = expanded(part)
        except RangeError as error:
            raise UsageError(f"--inventory: {error}") from None
        for name in found:
            if fault := fault_of_name(name):
                raise UsageError(f"--inventory: {fault}")
            yield SourceHost(name, "--inventory")


def _file(path: str) -> SourceHosts:
    with as_usage_error(path):
        status = os.stat(path)
    program = os.path.isfile(path) and bool(status.st_mode & 0o111) and os.access(path, os.X_OK)
    is_data = program and path.lower().endswith(_DATA)
    program = program and not is_data
    if os.path.isdir(path) or program:
        if not is_installed():
            what = "a folder" if os.path.isdir(path) else "a program"
            raise UsageError(f"{path}: reading {what} needs Ansible, which is not installed")
        return source_hosts(ask_ansible(path))
    with as_usage_error(path):
        data = read_regular(path, MAX_BYTES + 1)
    if is_data and data.startswith(b"#!"):
        raise UsageError(
            f"{path}: begins with #! and may be executed, so Ansible would run it as an inventory "
            "script; to have it read, remove the permission (chmod -x)"
        )
    return _parsed(path, _decoded(path, data))


def _decoded(file: str, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise UsageError(f"{file}: larger than {MAX_BYTES >> 20} MiB: not an inventory")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{file}:{line}: not UTF-8") from None


def _parsed(file: str, text: str) -> SourceHosts:
    suffix = os.path.splitext(file)[1].lower()
    if is_uri_list(text):
        return read_uris(file, text)
    if suffix == ".toml" or (suffix not in (".yaml", ".yml") and _OWN_TOML.search(text)):
        return read_own(toml_tree(file, text))
    if suffix in (".yaml", ".yml", ".json") or _YAML.match(text):
        return _yaml(yaml_tree(file, text))
    if file != STDIN and is_installed():
        return source_hosts(ask_ansible(file))
    return source_hosts(read_ini(file, text), _without_ansible(file))


def _yaml(tree: InventoryTree) -> SourceHosts:
    if is_own(tree.value):
        return read_own(tree)
    if tree.file != STDIN and is_installed():
        return source_hosts(ask_ansible(tree.file))
    return source_hosts(read_yaml(tree), _without_ansible(tree.file))


def _without_ansible(file: str) -> tuple[str, ...]:
    """Notes on files next to an inventory that only Ansible would have read."""
    folder = os.path.dirname(os.path.abspath(file))
    beside = [name for name in _BESIDE if file != STDIN and os.path.isdir(f"{folder}/{name}")]
    if not beside:
        return ()
    return (f"{file}: {' and '.join(beside)} next to it are not read: Ansible is not installed",)
