"""Sources of an inventory: each ``--inventory`` -> its hosts.

A file is recognised by its suffix, otherwise by its content: ``.toml`` and ``.yaml`` files are ours
or (YAML) Ansible's; a file whose first line is a URI is a list of URIs; others are Ansible's INI.
Folders and programs can only be Ansible's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

import msgspec

from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.ansible_hosts import source_hosts
from vnicaudit.fleet.inventory.ansible_ini import read_ini
from vnicaudit.fleet.inventory.ansible_program import ask_ansible, is_installed
from vnicaudit.fleet.inventory.ansible_yaml import read_yaml
from vnicaudit.fleet.inventory.checks import fault_of_name
from vnicaudit.fleet.inventory.merging import merged
from vnicaudit.fleet.inventory.own_format import is_own, read_own
from vnicaudit.fleet.inventory.ranges import RangeError, expanded
from vnicaudit.fleet.inventory.records import DEFAULT_URI, Inventory, SourceHost, SourceHosts
from vnicaudit.fleet.inventory.tree import MAX_BYTES, InventoryTree, toml_tree, yaml_tree
from vnicaudit.fleet.inventory.uri_list import URI, host_of, is_uri_list, read_uris
from vnicaudit.text.cloud_names import CLOUD

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
