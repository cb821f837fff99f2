"""Reads Ansible's YAML inventories without Ansible."""

from __future__ import annotations

from vnicaudit.fleet.inventory.ansible_groups import AnsibleGroups
from vnicaudit.fleet.inventory.ranges import RangeError
from vnicaudit.fleet.inventory.tree import InventoryTree, TreePath

_PARTS = frozenset({"hosts", "children", "vars"})


def read_yaml(tree: InventoryTree) -> AnsibleGroups:
    """The inventory in such a file: groups by name, each with ``hosts``, ``children`` and ``vars``.
    Raises UsageError if it is invalid."""
    groups = AnsibleGroups(tree.file)
    for name, value in _table(tree, tree.value, ()).items():
        _add_group(tree, groups, name, value, (name,))
    groups.finish()
    return groups


def _add_group(
    tree: InventoryTree, groups: AnsibleGroups, name: str, value: object, path: TreePath
) -> None:
    groups.add_group(name)
    parts = _table(tree, value, path)
    for part in parts:
        if part not in _PARTS:
            raise tree.error((*path, part), f"{part}: a group has hosts, children and vars")
    groups.set_variables(name, _table(tree, parts.get("vars"), (*path, "vars")))
    for host, variables in _table(tree, parts.get("hosts"), (*path, "hosts")).items():
        _add_hosts(tree, groups, name, host, variables, (*path, "hosts", host))
    for child, below in _table(tree, parts.get("children"), (*path, "children")).items():
        groups.add_child(name, child)
        _add_group(tree, groups, child, below, (*path, "children", child))


def _add_hosts(
    tree: InventoryTree,
    groups: AnsibleGroups,
    group: str,
    host: str,
    value: object,
    path: TreePath,
) -> None:
    variables = _table(tree, value, path)
    try:
        groups.add_hosts(host, group, tree.place(path), variables)
    except RangeError as error:
        raise tree.error(path, str(error)) from None


def _table(tree: InventoryTree, value: object, path: TreePath) -> dict[str, object]:
    """A mapping. An empty value or a single name is accepted too."""
    if value is None:
        return {}
    if isinstance(value, str) and path and path[-1] in ("hosts", "children"):
        return {value: None}
    if not isinstance(value, dict):
        what = ".".join(map(str, path)) or "the file"
        raise tree.error(path, f"{what}: expected names with a colon, not a list or a value")
    return {str(key): inner for key, inner in value.items()}
