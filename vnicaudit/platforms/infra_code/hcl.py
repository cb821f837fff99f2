"""HCL (Terraform, OpenTofu, Packer) -> blocks of values. python-hcl2 parses, nothing is evaluated.

Only python-hcl2's parse tree is used: its transformed form has no places.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import hcl2
from lark import Token, Tree
from lark.exceptions import LarkError

from vnicaudit.errors import TargetError
from vnicaudit.platforms.infra_code.value import MAX_DEPTH, Value
from vnicaudit.text.secrets import masked

MAX_LENGTH = 256 * 1024
"""Longer files are refused: the parser needs 10 s of CPU time and 200 MiB for the worst of this
length."""

_MAX_SOURCE = 200
"""Characters of an expression that are kept."""

_MAX_SHOWN = 40
"""Characters of what cannot be parsed that are shown."""

_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\t": "\t", "\\r": "\r"}


class GrammarRule:
    """Rules of python-hcl2's grammar that are looked for in its trees."""

    BODY = "body"
    BLOCK = "block"
    ATTRIBUTE = "attribute"
    TERM = "expr_term"
    IDENTIFIER = "identifier"
    KEYWORD = "keyword"
    STRING = "string"
    STRING_PART = "string_part"
    WHOLE = "int_lit"
    FRACTION = "float_lit"
    LITERAL = "literal_value"
    OBJECT = "object"
    ELEMENT = "object_elem"
    ELEMENT_KEY = "object_elem_key"
    TUPLE = "tuple"
    BETWEEN = "new_line_or_comment"


ESCAPED = ("ESCAPED_INTERPOLATION", "ESCAPED_DIRECTIVE")
"""Its tokens for ``$${`` and ``%%{``."""

_NAMES = (GrammarRule.IDENTIFIER, GrammarRule.STRING, GrammarRule.KEYWORD)
_LITERALS = (GrammarRule.WHOLE, GrammarRule.FRACTION, GrammarRule.LITERAL)


class Block(NamedTuple):
    """``resource "type" "name" { … }``: the body's attributes are ``body``, a map; ``blocks`` are
    the blocks in it."""

    type: str
    labels: tuple[str, ...]
    line: int
    column: int
    body: Value
    blocks: tuple[Block, ...] = ()


def blocks(text: str, file: str) -> list[Block]:
    """The blocks of a file. Raises TargetError where python-hcl2 does not read it, with the line,
    and where it is too large."""
    if len(text) > MAX_LENGTH:
        raise TargetError(f"larger than {MAX_LENGTH >> 10} KiB: not read", file=file)
    text = text.replace("\r\n", "\n")
    try:
        tree: Tree[Token] = hcl2.parses_to_tree(text)
    except LarkError as error:
        raise _not_read(error, text, file) from None
    except RecursionError:
        raise TargetError("HCL that is nested too deeply: not read", file=file) from None
    return [found for body in _children(tree, GrammarRule.BODY) for found in _blocks(body, text, 0)]


def _not_read(error: LarkError, source: str, file: str) -> TargetError:
    """Which text stopped the parser. It may be HCL for all that: python-hcl2 does not know all of
    it (``${~ … ~}``)."""
    token = getattr(error, "token", "")
    text = str(token or getattr(error, "char", "")).strip().partition("\n")[0][:_MAX_SHOWN]
    ended = isinstance(token, Token) and token.type == "$END"
    if text not in masked(source):  # what stopped it may be (a piece of) a secret
        text = ""
    found = "the end" if ended else repr(text) if text else "something"
    line = getattr(error, "line", None)
    return TargetError(
        f"not read by the HCL parser: {found} where it expects something else",
        file=file,
        line=line if isinstance(line, int) and line > 0 else None,
    )


def _children(tree: Tree[Token], *names: str) -> Iterator[Tree[Token]]:
    """Subtrees of these rules; of all but line ends and comments, where none is named."""
    for child in tree.children:
        if isinstance(child, Tree):
            wanted = child.data in names if names else child.data != GrammarRule.BETWEEN
            if wanted:
                yield child


def _blocks(body: Tree[Token], text: str, depth: int) -> Iterator[Block]:
    if depth > MAX_DEPTH:
        return
    for tree in _children(body, GrammarRule.BLOCK):
        names = [_name(child, text) for child in _children(tree, *_NAMES)]
        inner = next(_children(tree, GrammarRule.BODY), None)
        attributes = () if inner is None else tuple(_attributes(inner, text))
        yield Block(
            names[0] if names else "",
            tuple(names[1:]),
            tree.meta.line,
            tree.meta.column,
            Value("map", tree.meta.line, tree.meta.column, "", attributes),
            () if inner is None else tuple(_blocks(inner, text, depth + 1)),
        )


def _name(tree: Tree[Token], text: str) -> str:
    return _string(tree, text).text if tree.data == GrammarRule.STRING else _source(tree, text)


def _attributes(body: Tree[Token], text: str) -> Iterator[tuple[Value, Value]]:
    for tree in _children(body, GrammarRule.ATTRIBUTE):
        key, *_operator, value = _children(tree)
        yield _key(key, text), _value(value, text, 0)


def _key(tree: Tree[Token], text: str) -> Value:
    """A bare word or a string is a key as it stands; anything in parentheses is an expression."""
    tree = _sole_child(tree, GrammarRule.ELEMENT_KEY, GrammarRule.TERM)
    if tree.data == GrammarRule.STRING:
        return _string(tree, text)
    certain = tree.data in (GrammarRule.IDENTIFIER, GrammarRule.KEYWORD, *_LITERALS)
    return Value("scalar", tree.meta.line, tree.meta.column, _source(tree, text), certain=certain)


def _sole_child(tree: Tree[Token], *wrappers: str) -> Tree[Token]:
    """The innermost tree inside wrapper rules that have a single child."""
    while tree.data in wrappers and len(tree.children) == 1:
        only = tree.children[0]
        if not isinstance(only, Tree):
            break
        tree = only
    return tree


def _value(tree: Tree[Token], text: str, depth: int) -> Value:
    tree = _sole_child(tree, GrammarRule.TERM)
    line, column = tree.meta.line, tree.meta.column
    if depth <= MAX_DEPTH:
        if tree.data == GrammarRule.STRING:
            return _string(tree, text)
        if tree.data in _LITERALS:
            word = _source(tree, text)
            return Value("other" if word == "null" else "scalar", line, column, word)
        if tree.data == GrammarRule.OBJECT:
            return Value("map", line, column, "", tuple(_elements(tree, text, depth)))
        if tree.data == GrammarRule.TUPLE:
            items = tuple((None, _value(item, text, depth + 1)) for item in _children(tree))
            return Value("list", line, column, "", items)
    return Value("other", line, column, _source(tree, text), certain=False)


def _elements(tree: Tree[Token], text: str, depth: int) -> Iterator[tuple[Value, Value]]:
    for element in _children(tree, GrammarRule.ELEMENT):
        key, *_between, value = _children(element)
        yield _key(key, text), _value(value, text, depth + 1)


def _string(tree: Tree[Token], text: str) -> Value:
    """A quoted template: certain where nothing is interpolated; else as it is written."""
    parts = [part for found in _children(tree, GrammarRule.STRING_PART) for part in found.children]
    tokens = [part for part in parts if isinstance(part, Token)]
    certain = len(tokens) == len(parts)
    found = "".join(map(_token, tokens)) if certain else _source(tree, text).strip('"')
    return Value("scalar", tree.meta.line, tree.meta.column, found, certain=certain)


def _token(token: Token) -> str:
    return token[1:] if token.type in ESCAPED else _unescaped(token)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    for escaped, char in _ESCAPES.items():
        text = text.replace(escaped, char)
    return text


def _source(tree: Tree[Token], text: str) -> str:
    """The text of an expression, cut."""
    start = tree.meta.start_pos
    return text[start : min(tree.meta.end_pos, start + _MAX_SOURCE)]
