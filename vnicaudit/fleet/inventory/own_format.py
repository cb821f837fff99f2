"""Inventories in vnicaudit's own format, TOML or YAML.

``defaults``, ``groups.NAME`` and each entry of ``hosts`` may set ``uri`` (with ``{name}``),
``site``, ``deadline`` and ``agent``. A host's own setting takes precedence, then that of its last
group (in the order of the file) that sets it, then the defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, TypeVar

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.checks import fault_of_name, fault_of_uri, refuse_secrets
from vnicaudit.fleet.inventory.ranges import MOST_GROUPS, TOO_MANY_GROUPS, NamedHosts, RangeError
from vnicaudit.fleet.inventory.records import SourceHost, SourceHosts
from vnicaudit.fleet.inventory.tree import InventoryTree, TreePath
from vnicaudit.model.fleet import HostOptions

T = TypeVar("T")

KEYS = frozenset({"defaults", "groups", "hosts"})
_Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=86_400)]


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    uri: str | None = None
    site: str | None = None
    deadline: _Seconds | None = None
    agent: bool | None = None


class _Group(_Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    hosts: tuple[str, ...] = ()
    children: tuple[str, ...] = ()


class _Host(_Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    groups: tuple[str, ...] = ()


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    defaults: dict[str, object] = {}
    groups: dict[str, object] = {}
    hosts: list[object] = []


class _PartialHost(msgspec.Struct):
    """A host while the file is being read."""

    own: _Settings
    path: TreePath
    groups: list[str]


def is_own(value: object) -> bool:
    """True for the keys of this format; Ansible's YAML has groups at the top level."""
    if not isinstance(value, dict) or not value or not KEYS.issuperset(value):
        return False
    return isinstance(value.get("hosts", []), list)


def read_own(tree: InventoryTree) -> SourceHosts:
    """The hosts of a file. Raises UsageError for mistakes and for secrets."""
    refuse_secrets(tree)
    document = tree.record(tree.value or {}, (), _Document)
    return _OwnFile(tree, document).read()


class _OwnFile:
    """Reader of one file."""

    def __init__(self, tree: InventoryTree, document: _Document) -> None:
        self._tree = tree
        self._document = document
        self._defaults = tree.record(document.defaults, ("defaults",), _Settings)
        self._groups = {
            name: tree.record(value, ("groups", name), _Group)
            for name, value in document.groups.items()
        }
        self._hosts: dict[str, _PartialHost] = {}
        self._names = NamedHosts()
        self._checked: set[str] = set()
        self._rank = {name: number for number, name in enumerate(self._groups)}
        self._parents: dict[str, set[str]] = {}
        for name, group in self._groups.items():
            for child in group.children:
                self._parents.setdefault(child, set()).add(name)
        self._by_groups: dict[tuple[str, ...], tuple[tuple[str, ...], _Settings]] = {}

    def read(self) -> SourceHosts:
        """The hosts and groups of the file, in its order. Raises UsageError for a mistake in it."""
        for number, value in enumerate(self._document.hosts):
            path: TreePath = ("hosts", number)
            text = value if isinstance(value, str) else None
            host = self._tree.record({"name": text} if text else value, path, _Host)
            for name in self._expanded(host.name, path):
                self._name(name, host, path)
        for name, group in self._groups.items():
            self._members(name, group)
        for name in self._groups:
            self._check_children(name, ())
        self._check_uri(self._defaults, ("defaults", "uri"))
        return SourceHosts(tuple(self._finished()), tuple(self._groups))

    def _name(self, name: str, host: _Host, path: TreePath) -> None:
        known = self._hosts.get(name)
        if known is not None:
            where = self._tree.place(known.path)
            raise self._tree.error(path, f"host {name} is already in {where}")
        for group in host.groups:
            self._check_group(group, (*path, "groups"))
        self._check_uri(host, (*path, "uri"))
        self._hosts[name] = _PartialHost(host, path, list(host.groups))

    def _members(self, name: str, group: _Group) -> None:
        path: TreePath = ("groups", name)
        self._check_uri(group, (*path, "uri"))
        for child in group.children:
            self._check_group(child, (*path, "children"))
        for text in group.hosts:
            for host in self._expanded(text, (*path, "hosts")):
                named = self._hosts.setdefault(
                    host, _PartialHost(_Settings(), (*path, "hosts"), [])
                )
                named.groups.append(name)

    def _check_group(self, name: str, path: TreePath) -> None:
        if name not in self._groups:
            raise self._tree.error(path, f"there is no group {name!r}; add [groups.{name}]")

    def _check_children(self, name: str, above: tuple[str, ...]) -> None:
        if name in above:
            way = " > ".join((*above[above.index(name) :], name))
            raise self._tree.error(("groups", name, "children"), f"groups in a circle: {way}")
        if name not in self._checked:
            for child in self._groups[name].children:
                self._check_children(child, (*above, name))
            self._checked.add(name)

    def _check_uri(self, settings: _Settings, path: TreePath) -> None:
        if settings.uri is not None and (fault := fault_of_uri(settings.uri)):
            raise self._tree.error(path, f"uri: {fault}")

    def _expanded(self, text: str, path: TreePath) -> list[str]:
        try:
            names = self._names.expanded(text, self._hosts)
        except RangeError as error:
            raise self._tree.error(path, str(error)) from None
        for name in names:
            if fault := fault_of_name(name):
                raise self._tree.error(path, fault)
        return names

    def _finished(self) -> Iterator[SourceHost]:
        counted = 0
        for name, host in self._hosts.items():
            groups, inherited = self._inherited(tuple(host.groups))
            counted += len(groups)
            if counted > MOST_GROUPS:
                raise UsageError(f"{self._tree.file}: {TOO_MANY_GROUPS}")
            own = host.own
            uri = _first(own.uri, inherited.uri)
            source = "uri of the defaults or its groups" if own.uri is None else "its own uri"
            yield SourceHost(
                name=name,
                source=self._tree.place(host.path),
                uri=(uri or "").replace("{name}", name).replace("{host}", name),
                site=_first(own.site, inherited.site) or "",
                groups=groups,
                options=HostOptions(
                    _first(own.deadline, inherited.deadline), _first(own.agent, inherited.agent)
                ),
                uri_source="" if uri is None else source,
            )

    def _inherited(self, direct: tuple[str, ...]) -> tuple[tuple[str, ...], _Settings]:
        """The groups of a host with all their ancestors, in the order of the file, and the settings
        of them and the defaults. As later groups take precedence, children override their parents
        only if they come after them. Hosts of the same groups share the answer."""
        known = self._by_groups.get(direct)
        if known is None:
            every, pending = set(direct), list(direct)
            while pending:
                more = self._parents.get(pending.pop(), set()) - every
                every |= more
                pending += more
            groups = tuple(sorted(every, key=self._rank.__getitem__))
            layers = [*(self._groups[one] for one in reversed(groups)), self._defaults]
            known = self._by_groups[direct] = (
                groups,
                _Settings(
                    uri=_first(*(layer.uri for layer in layers)),
                    site=_first(*(layer.site for layer in layers)),
                    deadline=_first(*(layer.deadline for layer in layers)),
                    agent=_first(*(layer.agent for layer in layers)),
                ),
            )
        return known


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)
