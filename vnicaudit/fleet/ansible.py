"""Inventories of Ansible, as ``ansible-inventory --list`` prints them (JSON): from a file or
standard input, or from that program, which is run on INI and YAML files and on folders of these.

Nothing that an inventory names is executed: of Ansible's inventory plug-ins only ``ini`` and
``yaml`` are enabled, and the program starts in ``/``, so that no ``ansible.cfg`` of the current
folder names others.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import get_args
from urllib.parse import quote

import msgspec

from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.fleet.host_names import (
    fault_of_address,
    fault_of_name,
    fault_of_uri,
    fault_of_user,
    with_parents,
)
from vnicaudit.fleet.own_format import SourceHost, SourceHosts
from vnicaudit.model.decoding import json_as
from vnicaudit.model.fleet import HostOptions
from vnicaudit.model.host import Workload
from vnicaudit.reaching.process import run_here
from vnicaudit.text.secrets import masked_message

PROGRAM = "ansible-inventory"
LISTING_MAX = 64 << 20
"""Maximum bytes of a listing."""
_SECONDS = 120.0
_MEMORY = 2 << 30
"""Bytes that Ansible may have: a few ranges make millions of hosts of a line each."""
_SAID_MAX = 600
_VARIABLES = {
    "ANSIBLE_INVENTORY_ENABLED": "ini,yaml",
    "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
    "ANSIBLE_NOCOLOR": "true",
}
_GENERAL = ("all", "ungrouped")
_OWN_URI = "vnicaudit_uri"
_LOCAL_SOURCE = "ansible_connection: local"
_PORT = re.compile(r"[0-9]{1,5}")
_SWITCHES = dict.fromkeys(("true", "yes", "on", "1"), True)
_SWITCHES |= dict.fromkeys(("false", "no", "off", "0"), False)


class _Variables(msgspec.Struct):
    """The variables of a host that are used. No other is decoded: it may be a secret, and there may
    be any number."""

    ansible_host: object = None
    ansible_ssh_host: object = None
    ansible_user: object = None
    ansible_ssh_user: object = None
    ansible_port: object = None
    ansible_ssh_port: object = None
    ansible_ssh_private_key_file: object = None
    ansible_connection: object = None
    vnicaudit_uri: object = None
    vnicaudit_site: object = None
    vnicaudit_deadline: object = None
    vnicaudit_agent: object = None
    vnicaudit_host_facts: object = None
    vnicaudit_workload: object = None


_WORKLOADS: dict[str, Workload] = {one: one for one in get_args(Workload)}
_SSH = [name for name in _Variables.__struct_fields__ if name.startswith("ansible_")]
_SSH.remove("ansible_connection")


class _AnsibleMeta(msgspec.Struct):
    hostvars: dict[str, _Variables] = {}


class _AnsibleGroup(msgspec.Struct):
    hosts: list[str] = []
    children: list[str] = []


def ask_ansible(path: str) -> SourceHosts:
    """The hosts that Ansible reads from a path. Raises UsageError if it cannot."""
    elsewhere = f"run `{PROGRAM} -i {path} --list`, and pipe its output into `-i -`"
    if shutil.which(PROGRAM) is None:
        raise UsageError(
            f"{path}: read as an Ansible inventory, but {PROGRAM} is not installed: install "
            f"ansible-core, or where it is installed, {elsewhere}"
        )
    # an absolute path cannot be taken for an option or a list of hosts
    words = (PROGRAM, "--list", "-i", os.path.abspath(path))
    try:
        answer = run_here(
            words, _SECONDS, LISTING_MAX, folder="/", variables=_VARIABLES, memory=_MEMORY
        )
    except EndpointError as error:
        raise UsageError(f"{path}: {error}") from None
    said = " ".join(masked_message(answer.stderr.decode("utf-8", "replace")).split())
    if len(said) > _SAID_MAX:
        said = f"… {said[-_SAID_MAX:].partition(' ')[2]}"
    if answer.code:
        raise UsageError(
            f"{path}: {PROGRAM}: {said or 'failed'}; scripts and plug-ins are not run: if it needs "
            f"them, {elsewhere}"
        )
    found = listed_hosts(path, answer.stdout, f"{path} (by {PROGRAM})")
    if found is None:
        raise UsageError(f"{path}: {PROGRAM} did not print an inventory")
    if not found.hosts:
        raise UsageError(f"{path}: {PROGRAM} found no host in it{said and ': '}{said}")
    return found


def listed_hosts(file: str, data: bytes, place: str) -> SourceHosts | None:
    """The hosts of a listing; None: it is none. ``place``: the source of each host. Raises
    UsageError for an invalid one."""
    if data[:1] != b"{":
        return None
    try:
        parts = json_as(data, dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return None
    if "_meta" not in parts:
        return None
    try:
        variables = json_as(bytes(parts.pop("_meta")), _AnsibleMeta).hostvars
        groups = {name: json_as(bytes(raw), _AnsibleGroup) for name, raw in parts.items()}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not what {PROGRAM} --list prints: {error}") from None
    hosts = tuple(
        _HostVariables(name, variables.get(name, _Variables()), place).host(own)
        for name, own in _hosts(file, groups)
    )
    named = dict.fromkeys(name for one in groups for name in (one, *groups[one].children))
    return SourceHosts(hosts, tuple(name for name in named if name not in _GENERAL))


def _hosts(file: str, groups: dict[str, _AnsibleGroup]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each host with its groups and their parents, but not ``all`` and ``ungrouped``: parents
    before their children. Hosts are in the order of their groups. Raises UsageError if they are in
    too many, and for a cycle of groups."""
    order = _by_depth(file, groups)
    parents: dict[str, list[str]] = {}
    direct: dict[str, dict[str, None]] = {}
    for name in order:
        group = groups.get(name, _AnsibleGroup())
        for child in group.children:
            parents.setdefault(child, []).append(name)
        for host in group.hosts:
            direct.setdefault(host, {})[name] = None
    for host, names in with_parents(file, direct, parents, order):
        yield host, tuple(name for name in names if name not in _GENERAL)


def _by_depth(file: str, groups: dict[str, _AnsibleGroup]) -> list[str]:
    """The groups by their longest path from one without parents, then by name."""
    sorter: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(groups, ()))
    for name, group in groups.items():
        for child in group.children:
            sorter.add(child, name)
    try:
        sorter.prepare()
    except CycleError as error:
        raise UsageError(f"{file}: groups in a circle: {' > '.join(error.args[1][:6])}") from None
    order: list[str] = []
    while ready := sorter.get_ready():
        order += sorted(ready)
        sorter.done(*ready)
    return order


class _HostVariables:
    """The variables of one host -> its URI and options for vnicaudit.

    ``vnicaudit_uri`` takes precedence. Otherwise the host is reached by ssh, as Ansible would: at
    ``ansible_host``, as ``ansible_user``, on ``ansible_port``, with the key
    ``ansible_ssh_private_key_file``; ``ansible_connection: local`` means this machine.
    """

    def __init__(self, name: str, variables: _Variables, place: str) -> None:
        self._name = name
        self._variables = variables
        self._place = place

    def host(self, groups: tuple[str, ...]) -> SourceHost:
        """The host described by the variables. Raises UsageError for an invalid one."""
        self._check("", fault_of_name(self._name))
        uri, uri_source = self._uri()
        return SourceHost(
            name=self._name,
            source=self._place,
            uri=uri,
            address=self._text("ansible_host", "ansible_ssh_host"),
            site=self._text("vnicaudit_site"),
            groups=groups,
            options=HostOptions(
                self._seconds(),
                self._switch("vnicaudit_agent"),
                self._switch("vnicaudit_host_facts"),
                self._workload(),
            ),
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
            return "qemu:///system", _LOCAL_SOURCE
        user, port = self._text("ansible_user", "ansible_ssh_user"), self._port()
        key = self._text("ansible_ssh_private_key_file")
        address = self._address()
        if not (user or port or key) and address == self._name:
            return "", ""
        self._check("ansible_user", fault_of_user(user) if user else "")
        login = f"{quote(user)}@" if user else ""
        query = f"?keyfile={quote(key)}" if key else ""
        used = [name for name in _SSH if getattr(self._variables, name) is not None]
        return f"qemu+ssh://{login}{address}{port}/system{query}", ", ".join(used)

    def _address(self) -> str:
        address = self._text("ansible_host", "ansible_ssh_host") or self._name
        self._check("ansible_host", fault_of_address(address))
        return f"[{address}]" if ":" in address and not address.startswith("[") else address

    def _port(self) -> str:
        port = self._text("ansible_port", "ansible_ssh_port")
        if port and not (_PORT.fullmatch(port) and 0 < int(port) < 65536):
            self._check("ansible_port", f"{port[:40]!r} is not a port")
        return f":{port}" if port and port != "22" else ""

    def _seconds(self) -> float | None:
        text = self._text("vnicaudit_deadline")
        if not text:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0
        if not 0.1 <= seconds <= 86_400:
            fault = f"must be from 0.1 to 86400 seconds, not {text[:40]!r}"
            self._check("vnicaudit_deadline", fault)
        return seconds

    def _switch(self, name: str) -> bool | None:
        text = self._text(name).lower()
        if text and text not in _SWITCHES:
            self._check(name, f"must be true or false, not {text[:40]!r}")
        return _SWITCHES.get(text)

    def _workload(self) -> Workload | None:
        text = self._text("vnicaudit_workload")
        found: Workload | None = _WORKLOADS.get(text)
        if text and found is None:
            fault = f"must be one of {', '.join(_WORKLOADS)}, not {text[:40]!r}"
            self._check("vnicaudit_workload", fault)
        return found

    def _text(self, *names: str) -> str:
        """The first of these variables that is set, as text; empty: none is set."""
        for name in names:
            value = getattr(self._variables, name)
            if value is not None:
                text = str(value)
                if "{{" in text or "{%" in text:
                    fault = "a template, which only Ansible can evaluate; set vnicaudit_uri"
                    self._check(name, fault)
                return text
        return ""

    def _check(self, variable: str, fault: str) -> None:
        if fault:
            name = f"{variable}: " if variable else ""
            raise UsageError(f"{self._place}: {self._name}: {name}{fault}")
