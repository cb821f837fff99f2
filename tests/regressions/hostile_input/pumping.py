"""Inputs on which an expression takes longest, made from the expression itself.

Backtracking grows where a repeat can be entered at many places, or left in many ways: so what
stands before each repeat, and what each repeat takes, is repeated, and what follows does not fit.
"""

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as C
    from re import _parser as P
else:
    import sre_constants as C
    import sre_parse as P

_REPEATS = {C.MAX_REPEAT, C.MIN_REPEAT, getattr(C, "POSSESSIVE_REPEAT", C.MAX_REPEAT)}
_CANDIDATES = "a0 \t\n-_.=:;,\"'<>/{}[]()%#$@&|\\!?~A*+9\r"
_ENDS = ("", "\x01", "\n!")
_MOST = 14
"""Pieces of one expression that are repeated, and pieces that stand before them."""


def inputs(pattern: re.Pattern[Any], size: int) -> Iterator[Any]:
    """Texts of about ``size`` characters."""
    tree = P.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    before, repeated = _pieces(tree)
    for piece in repeated:
        for start in before:
            for end in _ENDS:
                text = start + piece * (size // len(piece)) + end
                yield text.encode("latin-1", "replace") if _is_bytes(pattern) else text


def _is_bytes(pattern: re.Pattern[Any]) -> bool:
    return isinstance(pattern.pattern, bytes)


def _pieces(tree: Any) -> tuple[list[str], list[str]]:
    before, repeated = {""}, {_sample(tree, kind) for kind in range(3)}
    for start, kind, value in _nodes(tree, ""):
        if kind in _REPEATS and value[1] > 20:
            before.add(start)
            repeated.update(_sample(value[2], number) for number in range(3))
            repeated.add(start)
            if len(value[2]) == 1 and value[2][0][0] is C.IN:
                repeated.update(_members(value[2][0][1])[:3])
    repeated |= {piece[:-1] for piece in repeated} | {f"{piece}\n" for piece in repeated}
    repeated.discard("")
    return sorted(before, key=len)[:_MOST], sorted(repeated, key=len)[: 2 * _MOST]


def _nodes(tree: Any, start: str) -> Iterator[tuple[str, Any, Any]]:
    """Every part of an expression, with a text that leads to it."""
    for kind, value in tree:
        yield start, kind, value
        for part in _inner(kind, value):
            yield from _nodes(part, start)
        start += _sample([(kind, value)], 1)


def _inner(kind: Any, value: Any) -> list[Any]:
    if kind is C.SUBPATTERN:
        return [value[3]]
    if kind is C.BRANCH:
        return list(value[1])
    if kind in _REPEATS:
        return [value[2]]
    if kind in (C.ASSERT, C.ASSERT_NOT):
        return [value[1]]
    return []


def _sample(tree: Any, number: int) -> str:
    """A text that fits, or nearly; ``number`` chooses among several."""
    return "".join(_one(kind, value, number) for kind, value in tree)


def _one(kind: Any, value: Any, number: int) -> str:
    if kind is C.LITERAL:
        return str(chr(value))
    if kind is C.NOT_LITERAL:
        return "b" if value == ord("a") else "a"
    if kind is C.ANY:
        return "a"
    if kind is C.IN:
        members = _members(value)
        return str(members[number % len(members)]) if members else ""
    if kind in _REPEATS:
        return _sample(value[2], number) * int(max(value[0], number % 2))
    inner = [] if kind in (C.ASSERT, C.ASSERT_NOT) else _inner(kind, value)
    return _sample(inner[number % len(inner)], number) if inner else ""


def _members(items: Any) -> list[str]:
    """Characters of a class."""
    negated = items[0][0] is C.NEGATE
    parts = items[1:] if negated else items
    own = [chr(value if kind is C.LITERAL else value[0]) for kind, value in parts
           if kind in (C.LITERAL, C.RANGE)]  # fmt: skip
    return [char for char in dict.fromkeys((*own, *_CANDIDATES))
            if any(_has(part, char) for part in parts) != negated]  # fmt: skip


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    C.CATEGORY_SPACE: str.isspace,
    C.CATEGORY_DIGIT: str.isdigit,
    C.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    C.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    C.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    C.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}


def _has(part: Any, char: str) -> bool:
    kind, value = part
    if kind is C.LITERAL:
        return ord(char) == int(value)
    if kind is C.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    return bool(_CATEGORIES[value](char))
