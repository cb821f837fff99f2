"""A TOML or YAML inventory file as plain values, with the line of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping as KeyedValues
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from vnicaudit.base.wording import close_to, shortened
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.fleet.ansible import AnsibleGroups, RangeError
from vnicaudit.model.decoding import converted
from vnicaudit.text.beginning import toml_values
from vnicaudit.text.secrets import is_harmless, is_secret_name
from vnicaudit.text.yaml_compose import NotYamlError, composed
from vnicaudit.text.yaml_source import Mapping, Node, Scalar, Sequence, YamlSource

T = TypeVar("T", bound=msgspec.Struct)
TreePath = tuple[str | int, ...]

MAX_BYTES = 8 << 20
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"[-+]?[0-9]{1,18}\.[0-9]{1,18}")
_WORDS: KeyedValues[str, bool | None] = {
    "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False,
    "": None, "~": None, "null": None,
}  # fmt: skip
_HEADER = re.compile(r"\s*(\[\[?)([^\[\]]{1,400})\]")
_KEY = re.compile(r"""\s*["']?([\w.-]{1,200})["']?\s*=""")
_AT = " - at `$"
_UNKNOWN = re.compile("Object contains unknown field `(.*)`", re.DOTALL)


class InventoryTree(msgspec.Struct, frozen=True):
    """The parsed value of a file. ``lines``: path -> line number from 1, if known."""

    file: str
    value: object
    lines: dict[TreePath, int]

    def place(self, path: TreePath) -> str:
        """``file:line`` of the value at a path, or of the nearest enclosing one."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.file}:{self.lines[path]}" if path in self.lines else self.file

    def error(self, path: TreePath, message: str) -> UsageError:
        """An error with its place in the file."""
        return UsageError(f"{self.place(path)}: {message}")

    def record(self, value: object, path: TreePath, kind: type[T]) -> T:
        """A value as a record. Raises UsageError if it does not fit."""
        try:
            return converted(value, kind)
        except msgspec.ValidationError as error:
            reason, _at, place = str(error).partition(_AT)
            strange = _UNKNOWN.fullmatch(reason)
            if strange and not place:
                known = [field.encode_name for field in msgspec.structs.fields(kind)]
                hint = close_to(strange[1], known)
                raise self.error(
                    (*path, strange[1]), f"unknown key {shortened(strange[1])!r}{hint}"
                ) from None
            key = place.rstrip("`").strip(".").partition("[")[0].partition(".")[0]
            name = f"{key}: " if key else ""
            raise self.error((*path, key), f"{name}{reason}") from None


def toml_tree(file: str, text: str) -> InventoryTree:
    """Parse a TOML file. Raises UsageError if it is invalid."""
    return InventoryTree(file, toml_values(file, text), _toml_lines(text))


def yaml_tree(file: str, text: str) -> InventoryTree:
    """Parse the first document of a YAML file. Raises UsageError if it is invalid."""
    try:
        source = YamlSource(text.encode(), file)
        document = composed(source, 0, source.text)
    except TargetError as error:
        raise UsageError(str(error)) from None
    except NotYamlError as error:
        line = source.line_column(error.position)[0]
        raise UsageError(f"{file}:{line}: not valid YAML: {error.problem}") from None
    for first, second in document.duplicates:
        line = source.line_column(second.start)[0]
        before = source.line_column(first.start)[0]
        name = shortened(second.text)
        raise UsageError(f"{file}:{line}: {name!r} is here and in line {before}")
    if document.root is None:
        return InventoryTree(file, None, {})
    lines: dict[TreePath, int] = {}
    value = _value(document.root, (), source, lines)
    return InventoryTree(file, value, lines)


def _value(node: Node, path: TreePath, source: YamlSource, lines: dict[TreePath, int]) -> object:
    lines.setdefault(path, source.line_column(node.start)[0])
    if isinstance(node, Scalar):
        return _scalar(node)
    if isinstance(node, Sequence):
        return [_value(one, (*path, n), source, lines) for n, one in enumerate(node.items)]
    return {name: _entry(node, name, (*path, name), source, lines) for name in node.children()}


def _entry(
    node: Mapping, name: str, path: TreePath, source: YamlSource, lines: dict[TreePath, int]
) -> object:
    entry = node.children()[name]
    lines[path] = source.line_column(entry.key.start)[0]
    return _value(entry.value, path, source, lines)


def _scalar(node: Scalar) -> object:
    text = node.text
    if not node.plain:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _toml_lines(text: str) -> dict[TreePath, int]:
    """Line numbers of tables and keys (but not in inline tables)."""
    lines: dict[TreePath, int] = {}
    tables: dict[str, int] = {}
    path: TreePath = ()
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            name = header[2].strip()
            path = tuple(part.strip(" \"'") for part in name.split("."))
            if header[1] == "[[":
                tables[name] = tables.get(name, -1) + 1
                path = (*path, tables[name])
            lines[path] = number
        elif key := _KEY.match(line):
            lines.setdefault((*path, key[1]), number)
    return lines


# Reads Ansible's YAML inventories without Ansible.


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


# Checks of an inventory: valid names, addresses, users and URIs, and no secrets.


_NAME = re.compile(r"[^\s\x00-\x1f\x7f,!&~*?\[\]\"'`;|<>\\{}]{1,253}")
_ADDRESS = re.compile(r"(?!-)[A-Za-z0-9._:%\[\]-]{1,253}")
_USER = re.compile(r"(?!-)[A-Za-z0-9._@+$-]{1,64}")
_PASSWORD = re.compile(r"(?i):|%3a")
"""Before the last ``@``, wherever the slashes are: a password may contain one that should have been
encoded."""
_PLACEHOLDER = re.compile(r"\{(?!name\}|host\})[^{}]*\}?|\}(?<!name\})(?<!host\})")
INSTEAD = (
    "an inventory holds no secrets; use an ssh key or agent (~/.ssh/config), libvirt's auth.conf "
    "for SASL, or client certificates for TLS, and remove it here"
)


def fault_of_name(name: str) -> str:
    """Why this is not a host name; empty: it is one."""
    if _NAME.fullmatch(name) and not name.startswith("-"):
        return ""
    return f"{shortened(name)!r} is not a host name"


def fault_of_address(address: str) -> str:
    """Why this is not a host address; empty: it is one."""
    return "" if _ADDRESS.fullmatch(address) else f"{shortened(address)!r} is not a host address"


def fault_of_user(user: str) -> str:
    """Why this is not a user name; empty: it is one."""
    return "" if _USER.fullmatch(user) else f"{shortened(user)!r} is not a user name"


def fault_of_uri(uri: str) -> str:
    """Why this URI is not allowed in an inventory; empty: it is allowed. It may contain ``{name}``
    and ``{host}``."""
    if len(uri) > 2000 or any(not letter.isprintable() or letter.isspace() for letter in uri):
        return "a URI with blanks or control characters"
    if _PLACEHOLDER.search(uri):
        return "a URI with a placeholder that is neither {name} nor {host}"
    login = uri.partition("?")[0].rpartition("@")[0].partition(":")[2]  # behind the scheme
    if _PASSWORD.search(login):
        return f"a URI with a password; {INSTEAD}"
    try:
        parts = urlsplit(uri)
        _port = parts.port
        hidden = [key for key, value in parse_qsl(parts.query) if value and is_secret_name(key)]
        host = parts.hostname or ""
    except ValueError:  # whose text may quote a password
        return "not a URI: write it as qemu+ssh://USER@HOST:PORT/system"
    if hidden:
        return f"a URI with a password; {INSTEAD}"
    if unquote(host).startswith("-") or unquote(parts.username or "").startswith("-"):
        return "a URI whose host or user begins with a dash"
    return ""


def refuse_secrets(tree: InventoryTree) -> None:
    """Raises UsageError for the first key, at any depth, whose value is a secret."""
    for path in _secrets(tree.value, ()):
        raise tree.error(path, f"{shortened(str(path[-1]))!r} is a secret; {INSTEAD}")


def _secrets(value: object, path: TreePath) -> Iterator[TreePath]:
    if isinstance(value, dict):
        for key, inner in value.items():
            below = (*path, str(key))
            if is_secret_name(str(key)) and not _is_harmless(inner):
                yield below
            yield from _secrets(inner, below)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _secrets(inner, (*path, number))


def _is_harmless(value: object) -> bool:
    """True for a switch, a group that happens to have such a name, and an empty value."""
    return not isinstance(value, str | int | float) or is_harmless(str(value))
