"""Groups, hosts and variables of an Ansible inventory, and the resulting variables of each host.

Variables of a deeper group override those of its parents. Among groups of the same depth, the one
with the higher ``ansible_group_priority`` wins, then the one whose name is later in the alphabet; a
host's own variables override all. The depth of a group is its longest path from ``all``.
(Documented under "How variables are merged"; tests compare with the real ``ansible-inventory``.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vnicaudit.errors import UsageError

ALL, UNGROUPED = "all", "ungrouped"
Variables = dict[str, object]


class AnsibleGroups:
    """An inventory being put together. ``file``: used in messages."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.groups: dict[str, Variables] = {ALL: {}, UNGROUPED: {}}
        self.own: dict[str, Variables] = {}
        """Each host's own variables."""
        self.places: dict[str, str] = {}
        """First place in the file that names each host."""
        self._members: dict[str, dict[str, None]] = {}
        self._children: dict[str, dict[str, None]] = {}
        self._parents: dict[str, list[str]] = {}
        self._depths: dict[str, int] = {}
        self._groups_with: dict[str, list[str]] = {}

    def add_group(self, name: str) -> None:
        """Add a group, unless it exists."""
        self.groups.setdefault(name, {})

    def add_child(self, parent: str, child: str) -> None:
        """Make a group the child of another."""
        self.add_group(parent)
        self.add_group(child)
        self._children.setdefault(parent, {})[child] = None

    def add_host(self, name: str, group: str, place: str, variables: Mapping[str, object]) -> None:
        """Add a host to a group; later variables override earlier ones."""
        self.add_group(group)
        if name not in self._members.setdefault(group, {}):
            self._members[group][name] = None
            self._groups_with.setdefault(name, []).append(group)
        self.own.setdefault(name, {}).update(variables)
        self.places.setdefault(name, place)

    def finish(self) -> None:
        """Put groups without parents below ``all``. Raises UsageError for a cycle of groups."""
        below = {child for children in self._children.values() for child in children}
        for name in self.groups:
            if name != ALL and name not in below:
                self._children.setdefault(ALL, {})[name] = None
        self._measure()

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

    def groups_of(self, host: str) -> list[str]:
        """The groups of a host, including parents of its groups, but without ``all`` and
        ``ungrouped``. Settings of later ones override those of earlier ones."""
        return [name for name in self._in_order(host) if name not in (ALL, UNGROUPED)]

    def variables_of(self, host: str) -> Variables:
        """The variables of a host."""
        merged: Variables = {}
        for name in self._in_order(host):
            merged.update(self.groups[name])
        return {**merged, **self.own[host]}

    def _in_order(self, host: str) -> list[str]:
        return sorted(self._reached(host), key=self._rank)

    def _reached(self, host: str) -> set[str]:
        found = {ALL, *self._groups_with[host]}
        pending = list(found)
        while pending:
            name = pending.pop()
            for parent in self._parents.get(name, ()):
                if parent not in found:
                    found.add(parent)
                    pending.append(parent)
        return found

    def _rank(self, name: str) -> tuple[int, int, str]:
        priority = self.groups[name].get("ansible_group_priority", 1)
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


def items_of(groups: AnsibleGroups) -> Iterator[tuple[str, Variables]]:
    """Each host in order, with its variables."""
    for host in groups.hosts():
        yield host, groups.variables_of(host)
