"""HCL (Terraform, OpenTofu, Packer) -> blocks of nodes. python-hcl2 parses; nothing is evaluated.

Only python-hcl2's parse tree is used: its transformed form has no places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.platforms.infra_code.node import MAX_DEPTH, Node

MAX_LENGTH = 1024 * 1024
"""Longer files are refused: the parser needs seconds and a hundredfold memory for them."""

_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\t": "\t", "\\r": "\r"}


class Block(NamedTuple):
    """``resource "type" "name" { … }``: the body's attributes are ``body``, a map; ``blocks`` are
    the blocks in it."""

    type: str
    labels: tuple[str, ...]
    line: int
    column: int
    body: Node
    blocks: tuple[Block, ...] = ()


def blocks(text: str, file: str) -> list[Block]:
    """The blocks of a file. Raises TargetError where it is not HCL, with the line, and
    where it is too large."""
    if len(text) > MAX_LENGTH:
        raise TargetError(f"larger than {MAX_LENGTH >> 20} MiB: not read", file=file)
    import hcl2
    from lark.exceptions import LarkError

    try:
        tree = hcl2.parses_to_tree(text.replace("\r\n", "\n"))
    except LarkError as error:
        line = getattr(error, "line", None)
        raise TargetError(
            "not valid HCL", file=file, line=line if isinstance(line, int) and line > 0 else None
        ) from None
    return [found for body in _children(tree, "body") for found in _blocks(body, text, 0)]


def _children(tree: Any, *names: str) -> Iterator[Any]:
    """Subtrees of these rules."""
    return (child for child in tree.children if hasattr(child, "children") and child.data in names)


def _blocks(body: Any, text: str, depth: int) -> Iterator[Block]:
    if depth > MAX_DEPTH:
        return
    for tree in _children(body, "block"):
        names = [_name(child, text) for child in tree.children if _is_name(child)]
        inner = next(_children(tree, "body"), None)
        attributes = () if inner is None else tuple(_attributes(inner, text))
        yield Block(
            names[0] if names else "",
            tuple(names[1:]),
            tree.meta.line,
            tree.meta.column,
            Node("map", tree.meta.line, tree.meta.column, "", attributes),
            () if inner is None else tuple(_blocks(inner, text, depth + 1)),
        )


def _is_name(child: Any) -> bool:
    return hasattr(child, "children") and child.data in ("identifier", "string", "keyword")


def _name(tree: Any, text: str) -> str:
    return _string(tree, text).text if tree.data == "string" else _source(tree, text)


def _attributes(body: Any, text: str) -> Iterator[tuple[Node, Node]]:
    for tree in _children(body, "attribute"):
        key, value = tree.children[0], tree.children[-1]
        yield _key(key, text), _value(value, text, 0)


def _key(tree: Any, text: str) -> Node:
    """A bare word or a string is a key as it stands; anything in parentheses is an expression."""
    while tree.data in ("object_elem_key", "expr_term") and len(tree.children) == 1:
        tree = tree.children[0]
    if tree.data == "string":
        return _string(tree, text)
    certain = tree.data in ("identifier", "keyword", "literal_value", "int_lit", "float_lit")
    return Node("scalar", tree.meta.line, tree.meta.column, _source(tree, text), certain=certain)


def _value(tree: Any, text: str, depth: int) -> Node:
    while hasattr(tree, "children") and tree.data == "expr_term" and len(tree.children) == 1:
        tree = tree.children[0]
    line, column = tree.meta.line, tree.meta.column
    if depth <= MAX_DEPTH:
        if tree.data == "string":
            return _string(tree, text)
        if tree.data in ("int_lit", "float_lit", "literal_value"):
            word = _source(tree, text)
            return Node("other" if word == "null" else "scalar", line, column, word)
        if tree.data == "object":
            return Node("map", line, column, "", tuple(_elements(tree, text, depth)))
        if tree.data == "tuple":
            items = (child for child in tree.children if hasattr(child, "children"))
            values = (item for item in items if item.data != "new_line_or_comment")
            nodes = tuple((None, _value(item, text, depth + 1)) for item in values)
            return Node("list", line, column, "", nodes)
    return Node("other", line, column, _source(tree, text), certain=False)


def _elements(tree: Any, text: str, depth: int) -> Iterator[tuple[Node, Node]]:
    for element in _children(tree, "object_elem"):
        parts = [child for child in element.children if hasattr(child, "children")]
        parts = [part for part in parts if part.data != "new_line_or_comment"]
        yield _key(parts[0], text), _value(parts[-1], text, depth + 1)


def _string(tree: Any, text: str) -> Node:
    """A quoted template: certain where nothing is interpolated; else as it is written."""
    tokens = [token for part in _children(tree, "string_part") for token in part.children]
    certain = not any(hasattr(token, "children") for token in tokens)
    found = "".join(map(_token, tokens)) if certain else _source(tree, text).strip('"')
    return Node("scalar", tree.meta.line, tree.meta.column, found, certain=certain)


def _token(token: Any) -> str:
    escaped = token.type in ("ESCAPED_INTERPOLATION", "ESCAPED_DIRECTIVE")
    return str(token)[1:] if escaped else _unescaped(str(token))


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    for escaped, char in _ESCAPES.items():
        text = text.replace(escaped, char)
    return text


def _source(tree: Any, text: str) -> str:
    """The text of an expression, cut."""
    found = text.replace("\r\n", "\n")[tree.meta.start_pos : tree.meta.end_pos]
    return found[:200]
