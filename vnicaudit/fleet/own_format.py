"""Inventories in vnicaudit's own format, TOML or YAML.

``defaults``, ``groups.NAME`` and each entry of ``hosts`` may set ``uri`` (with ``{name}``),
``site``, ``deadline``, ``agent``, ``host-facts`` and ``workload``. A host's own setting takes
precedence, then that of its last group (in the order of the file) that sets it, then the
defaults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate
from functools import partial, reduce
from graphlib import CycleError, TopologicalSorter
from typing import Annotated

import msgspec

from vnicaudit.audit.reading.machines import read_ahead
from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.base.wording import close_to, shortened
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.fleet.host_names import (
    NamedHosts,
    RangeError,
    fault_of_name,
    fault_of_uri,
    with_parents,
)
from vnicaudit.fleet.inventory_tree import (
    InventoryTree,
    TreePath,
    refuse_secrets,
)
from vnicaudit.model.fleet import HostOptions, InventoryHost, LiveOptions
from vnicaudit.model.host import Workload
from vnicaudit.model.report import FailureKind, failure_kind

# Hosts as listed by one source, and the inventory merged from all sources.


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


KEYS = frozenset({"defaults", "groups", "hosts"})
_Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=86_400)]


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    uri: str | None = None
    site: str | None = None
    deadline: _Seconds | None = None
    agent: bool | None = None
    host_facts: bool | None = msgspec.field(default=None, name="host-facts")
    workload: Workload | None = None

    def or_else(self, others: _Settings) -> _Settings:
        """These settings; where one is None, that of the others."""
        return _Settings(
            **{
                name: getattr(others, name) if (own := getattr(self, name)) is None else own
                for name in _Settings.__struct_fields__
            }
        )


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
        self._parents: dict[str, set[str]] = {}
        for name, group in self._groups.items():
            for child in group.children:
                self._parents.setdefault(child, set()).add(name)
        self._by_groups: dict[tuple[str, ...], _Settings] = {}

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
        self._check_children()
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

    def _check_children(self) -> None:
        sorter = TopologicalSorter({name: one.children for name, one in self._groups.items()})
        try:
            sorter.prepare()
        except CycleError as error:
            circle = list(reversed(error.args[1]))
            text = f"groups in a circle: {' > '.join(circle)}"
            raise self._tree.error(("groups", circle[0], "children"), text) from None

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
        direct = {name: host.groups for name, host in self._hosts.items()}
        for name, groups in with_parents(self._tree.file, direct, self._parents, self._groups):
            host = self._hosts[name]
            settings = host.own.or_else(self._inherited(groups))
            is_own = host.own.uri is not None
            source = "its own uri" if is_own else "uri of the defaults or its groups"
            yield SourceHost(
                name=name,
                source=self._tree.place(host.path),
                uri=(settings.uri or "").replace("{name}", name).replace("{host}", name),
                site=settings.site or "",
                groups=groups,
                options=HostOptions(
                    settings.deadline, settings.agent, settings.host_facts, settings.workload
                ),
                uri_source="" if settings.uri is None else source,
            )

    def _inherited(self, groups: tuple[str, ...]) -> _Settings:
        """The settings of groups and the defaults. As later groups take precedence, children
        override their parents only if they come after them. Hosts of the same groups share the
        answer."""
        known = self._by_groups.get(groups)
        if known is None:
            layers = (*(self._groups[one] for one in reversed(groups)), self._defaults)
            known = self._by_groups[groups] = reduce(_Settings.or_else, layers, _Settings())
        return known


# ``--limit``: patterns of hosts and groups as in Ansible.
#
# ``a:b`` or ``a,b`` is the union; ``&b`` keeps only hosts that are also in b; ``!b`` removes hosts
# in b. Whatever their position, ``&`` is applied after the union and ``!`` last. A pattern is the
# name of a group or host, ``all``, ``ungrouped``, a glob, or ``~`` and a regular expression.
# ``web[0]``, ``web[1:3]`` and ``web[-1]`` are positions among the hosts of a pattern. ``@FILE`` has
# one pattern per line.


_FILE_MAX = 16 << 20
_SPLIT = re.compile(r"(?:[^\s:\[\]]|\[[^\[\]]*\])+")
_IPV6 = re.compile(r"[0-9A-Fa-f]*:[0-9A-Fa-f:.]*")
_PLACE = re.compile(r"(.+)\[(-?[0-9]{1,9})(?:(:)([0-9]{0,9}))?\]")
_GLOB = frozenset("*?[")
_ALL, _UNGROUPED = "all", "ungrouped"


class LimitedHosts:
    """Selects hosts by a limit, in the order of the inventory. ``unmatched``: patterns that matched
    nothing."""

    def __init__(self, hosts: Sequence[InventoryHost], groups: Iterable[str]) -> None:
        self._names = [host.name for host in hosts]
        self._hosts = {host.name: host for host in hosts}
        self._groups: dict[str, list[str]] = {name: [] for name in groups}
        for host in hosts:
            for group in host.groups:
                self._groups.setdefault(group, []).append(host.name)
        self._groups[_ALL] = self._names
        self._groups[_UNGROUPED] = [host.name for host in hosts if not host.groups]
        self.unmatched: list[str] = []

    def limited(self, limit: str) -> tuple[InventoryHost, ...]:
        """The hosts selected by a limit. Raises UsageError if it selects none, and for an invalid
        pattern."""
        # the exact name of a host takes precedence over colons and commas in it, as in a URI
        patterns = [limit] if limit in self._hosts else list(_patterns(limit))
        joined = [one for one in patterns if one[0] not in "&!"] or [_ALL]
        chosen = {name for pattern in joined for name in self._matches(pattern)}
        for pattern in patterns:
            if pattern[0] == "&":
                chosen &= set(self._matches(pattern[1:]))
        for pattern in patterns:
            if pattern[0] == "!":
                chosen -= set(self._matches(pattern[1:]))
        if not chosen:
            known = [*self._groups, *self._names]
            hint = next((hint for one in self.unmatched if (hint := close_to(one, known))), "")
            raise UsageError(f"--limit {shortened(limit)!r} leaves no host{hint}")
        return tuple(self._hosts[name] for name in self._names if name in chosen)

    def _matches(self, pattern: str) -> list[str]:
        """The hosts of one pattern, in order."""
        if pattern.startswith("~"):
            found = self._by_expression(pattern[1:])
        elif pattern in self._hosts:
            # the exact name of a host takes precedence over brackets in it
            found = [pattern]
        else:
            found = self._at_places(pattern)
        if not found:
            self.unmatched.append(pattern)
        return found

    def _by_expression(self, text: str) -> list[str]:
        try:
            expression = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(
                f"--limit: ~{shortened(text)}: not a regular expression: {error}"
            ) from None
        return self._of_groups_and_hosts(lambda name: expression.match(name) is not None)

    def _at_places(self, pattern: str) -> list[str]:
        """The hosts at the positions in a pattern; all its hosts if it has no positions."""
        place = _PLACE.fullmatch(pattern)
        if place is None:
            return self._by_name(pattern)
        hosts = self._by_name(place[1])
        first = int(place[2])
        if place[3] is None:
            return hosts[first:][:1] if first >= -len(hosts) else []
        if first < 0:
            raise UsageError(f"--limit: {shortened(pattern)}: [FIRST:LAST] counts from 0")
        last = int(place[4] or -1)
        return hosts[first : last + 1 if last != -1 else None]

    def _by_name(self, pattern: str) -> list[str]:
        """The hosts of the group or host with that name, or of all that match a glob."""
        if not _GLOB.intersection(pattern):
            if pattern in self._groups and "." not in pattern:
                return self._groups[pattern]
            return self._of_groups_and_hosts(lambda name: name == pattern)
        expression = re.compile(translate(pattern))
        return self._of_groups_and_hosts(lambda name: expression.match(name) is not None)

    def _of_groups_and_hosts(self, matches: Callable[[str], bool]) -> list[str]:
        """The hosts of all matching groups, and matching hosts, in order."""
        found = {name for group in filter(matches, self._groups) for name in self._groups[group]}
        return [name for name in self._names if name in found or matches(name)]


def _patterns(limit: str) -> Iterable[str]:
    """The patterns of a limit, including those in files."""
    for pattern in _split(limit):
        if pattern.startswith("@"):
            with as_usage_error(pattern[1:]):
                text = read_regular(pattern[1:], _FILE_MAX).decode("utf-8", "replace")
            yield from filter(None, map(str.strip, text.split("\n")))
        else:
            yield pattern


def _split(limit: str) -> list[str]:
    """Split at commas. Without commas, split at colons, except inside brackets or if all of it is
    an IPv6 address."""
    if "," in limit:
        parts = limit.split(",")
    elif _IPV6.fullmatch(limit) and limit.count(":") > 1:
        parts = [limit]
    else:
        parts = _SPLIT.findall(limit)
    return [part.strip() for part in parts if part.strip()]


# Tries the connection to each host of an inventory, in parallel.


Probe = Callable[[str, LiveOptions], str]
"""Connects to a host and disconnects; returns what answered. Raises TargetError."""


class HostCheck(msgspec.Struct, frozen=True):
    """The result of trying one host. ``answer``: what answered. ``error``: why nothing answered.
    ``failure``: the kind of that error."""

    answer: str = ""
    error: str = ""
    failure: FailureKind | None = None


def checked(
    hosts: Sequence[InventoryHost], probe: Probe, live: LiveOptions, parallel: int
) -> Iterator[HostCheck]:
    """The result for each host, in their order. ``parallel``: number tried at once."""
    tries = [partial(_checked, host, probe, live) for host in hosts]
    for result in read_ahead(tries, max(1, parallel)):
        yield from result


def _checked(host: InventoryHost, probe: Probe, live: LiveOptions) -> Iterator[HostCheck]:
    own = host.options.deadline
    options = live if own is None else msgspec.structs.replace(live, deadline=own)
    try:
        yield HostCheck(probe(host.uri, options))
    except TargetError as error:
        yield HostCheck(error=error.message, failure=failure_kind(error.failure))
