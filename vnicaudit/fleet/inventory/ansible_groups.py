"""Groups, hosts and variables of an Ansible inventory, and the resulting variables of each host.

Variables of a deeper group override those of its parents. Among groups of the same depth, the one
with the higher ``ansible_group_priority`` wins, then the one whose name is later in the alphabet; a
host's own variables override all. The depth of a group is its longest path from ``all``.
(Documented under "How variables are merged"; tests compare with the real ``ansible-inventory``.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.ranges import MOST_GROUPS, TOO_MANY_GROUPS, NamedHosts

ALL, UNGROUPED = "all", "ungrouped"
Variables = dict[str, object]

_PRIORITY = "ansible_group_priority"
USED = frozenset({
    _PRIORITY, "ansible_connection", "ansible_host", "ansible_ssh_host", "ansible_user",
    "ansible_ssh_user", "ansible_port", "ansible_ssh_port", "ansible_ssh_private_key_file",
    "vnicaudit_uri", "vnicaudit_site", "vnicaudit_deadline", "vnicaudit_agent",
})  # fmt: skip
"""Variables that are used. No other is kept: it may be a secret, and there may be any number."""


class AnsibleGroups:
    """An inventory being put together. ``file``: used in messages."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.groups: dict[str, Variables] = {ALL: {}, UNGROUPED: {}}
        self._names = NamedHosts()
        self._by_groups: dict[tuple[str, ...], tuple[tuple[str, ...], Variables]] = {}
        self.own: dict[str, Variables] = {}
        """Each host's own variables."""
        self.places: dict[str, str] = {}
        """First place in the file that names each host."""
        self._members: dict[str, dict[str, None]] = {}
        self._children: dict[str, dict[str, None]] = {}
        self._parents: dict[str, list[str]] = {}
        self._depths: dict[str, int] = {}
        self._ranks: dict[str, tuple[int, int, str]] = {}
        self._groups_with: dict[str, list[str]] = {}

    def add_group(self, name: str) -> None:
        """Add a group, unless it exists."""
        self.groups.setdefault(name, {})

    def add_child(self, parent: str, child: str) -> None:
        """Make a group the child of another."""
        self.add_group(parent)
        self.add_group(child)
        self._children.setdefault(parent, {})[child] = None

    def set_variables(self, group: str, variables: Mapping[str, object]) -> None:
        """Give a group variables; later ones override earlier ones."""
        self.add_group(group)
        self.groups[group].update(_used(variables))

    def add_hosts(self, name: str, group: str, place: str, variables: Mapping[str, object]) -> None:
        """Add the hosts of a range to a group, as :meth:`add_host`. Raises RangeError."""
        used = _used(variables)
        for each in self._names.expanded(name, self.own):
            self.add_host(each, group, place, used)

    def add_host(self, name: str, group: str, place: str, variables: Mapping[str, object]) -> None:
        """Add a host to a group; later variables override earlier ones."""
        self.add_group(group)
        if name not in self._members.setdefault(group, {}):
            self._members[group][name] = None
            self._groups_with.setdefault(name, []).append(group)
        self.own.setdefault(name, {}).update(_used(variables))
        self.places.setdefault(name, place)

    def finish(self) -> None:
        """Put groups without parents below ``all``. Raises UsageError for a cycle of groups."""
        below = {child for children in self._children.values() for child in children}
        for name in self.groups:
            if name != ALL and name not in below:
                self._children.setdefault(ALL, {})[name] = None
        self._measure()
        self._ranks = {name: self._rank(name) for name in self.groups}

    def hosts(self) -> list[str]:
        """All hosts: those of a group, then those of its children in alphabetical order. Ansible
        does not keep the order between groups."""
        found: dict[str, None] = {}
        done: set[str] = set()
        pending = [ALL]
        while pending:
            group = pending.pop()
            if group in done:
                continue
            done.add(group)
            found.update(self._members.get(group, {}))
            pending += sorted(self._children.get(group, {}), reverse=True)
        return list(found)

    def settled(self) -> Iterator[tuple[str, tuple[str, ...], Variables]]:
        """Each host in order, with its groups and its variables. The groups include parents of its
        groups, but not ``all`` and ``ungrouped``; settings of later ones override those of earlier
        ones. Raises UsageError if there are too many."""
        counted = 0
        for host in self.hosts():
            groups, inherited = self._inherited(tuple(self._groups_with[host]))
            counted += len(groups)
            if counted > MOST_GROUPS:
                raise UsageError(f"{self.file}: {TOO_MANY_GROUPS}")
            yield host, groups, {**inherited, **self.own[host]}

    def _inherited(self, direct: tuple[str, ...]) -> tuple[tuple[str, ...], Variables]:
        """The groups of a host, and their variables. Hosts of the same groups share the answer."""
        known = self._by_groups.get(direct)
        if known is None:
            every = sorted(self._reached(direct), key=self._ranks.__getitem__)
            merged: Variables = {}
            for name in every:
                merged.update(self.groups[name])
            groups = tuple(name for name in every if name not in (ALL, UNGROUPED))
            known = self._by_groups[direct] = groups, merged
        return known

    def _reached(self, groups: Iterable[str]) -> set[str]:
        found = {ALL, *groups}
        pending = list(found)
        while pending:
            name = pending.pop()
            for parent in self._parents.get(name, ()):
                if parent not in found:
                    found.add(parent)
                    pending.append(parent)
        return found

    def _rank(self, name: str) -> tuple[int, int, str]:
        priority = self.groups[name].get(_PRIORITY, 1)
        try:
            number = int(str(priority))
        except ValueError:
            number = 1
        return self._depths[name], number, name

    def _measure(self) -> None:
        """Set the depth of each group: its longest path from ``all``."""
        for parent, children in self._children.items():
            for child in children:
                self._parents.setdefault(child, []).append(parent)
        waiting = {name: len(self._parents.get(name, ())) for name in self.groups}
        ready = [name for name, number in waiting.items() if not number]
        self._depths = dict.fromkeys(ready, 0)
        while ready:
            name = ready.pop()
            for child in self._children.get(name, {}):
                depth = self._depths[name] + 1
                self._depths[child] = max(self._depths.get(child, 0), depth)
                waiting[child] -= 1
                if not waiting[child]:
                    ready.append(child)
        circle = sorted(name for name, number in waiting.items() if number)
        if circle:
            raise UsageError(f"{self.file}: groups in a circle: {', '.join(circle[:5])}")


def _used(variables: Mapping[str, object]) -> Variables:
    return {name: variables[name] for name in USED.intersection(variables)}
