"""A TOML or YAML inventory file as plain values, with the line of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping as KeyedValues
from typing import TypeVar

import msgspec

from vnicaudit.base.wording import mistake, shortened
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.fleet.host_names import INSTEAD
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
            known = [field.encode_name for field in msgspec.structs.fields(kind)]
            key, text = mistake(error, known)
            if self.file.endswith(".toml") and text == f"{key}: expected a list, not a table":
                text = f"{key} is a list: write [[{key}]] and a name in it"
            raise self.error((*path, key), text) from None


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


# No secrets in an inventory.


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
