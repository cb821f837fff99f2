"""Every regular expression of the package, and how it is called.

Modules are imported and read: patterns are found where they are compiled, where they stand in
tables, behind a cache, and as text in a call of ``re``.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import vnicaudit

METHODS = frozenset({"match", "fullmatch", "search", "finditer", "findall", "sub", "split"})
_MADE: dict[str, tuple[str, tuple[object, ...], str]] = {
    "vnicaudit.platforms.domain_xml.spans": ("_tags", (b"domain",), "finditer"),
    "vnicaudit.text.placeholders": ("_whole_pattern", (), "fullmatch"),
}
"""Module -> a function that makes a pattern, what it is asked for, and how that is called."""

Key = tuple[str | bytes, int]


class Expression(NamedTuple):
    """A pattern, where it was found, and the methods it is called by."""

    pattern: re.Pattern[Any]
    places: tuple[str, ...]
    methods: frozenset[str]


def expressions() -> list[Expression]:
    """All of them, each once."""
    found: dict[Key, Expression] = {}
    for module in _modules():
        for pattern, place, methods in expressions_in(module):
            key = (pattern.pattern, pattern.flags)
            old = found.get(key, Expression(pattern, (), frozenset()))
            places = tuple(sorted({*old.places, place}))
            found[key] = Expression(pattern, places, old.methods | methods)
    return sorted(found.values(), key=lambda one: one.places)


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(vnicaudit.__path__, "vnicaudit."):
        # what runs inside a guest's Python is no module of ours; Alembic alone can run its file
        if not found.name.endswith(("__main__", ".env")) and ".generator.program" not in found.name:
            yield importlib.import_module(found.name)


def expressions_in(module: ModuleType) -> Iterator[tuple[re.Pattern[Any], str, frozenset[str]]]:
    """Each pattern of a module, where it was found, and the methods it is called by."""
    held = [(name, one) for name, value in vars(module).items() for one in _patterns(value)]
    if not held and module.__name__ not in _MADE and vars(module).get("re") is not re:
        return  # most modules: nothing to look for in their sources
    source = Path(inspect.getsourcefile(module) or "").read_text("utf-8")
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named, others = _calls(calls, module)
    for name, pattern in held:
        used = named.get((pattern.pattern, pattern.flags), frozenset())
        yield pattern, f"{module.__name__}.{name}", used or others
    if module.__name__ in _MADE:
        name, arguments, method = _MADE[module.__name__]
        made = vars(module)[name](*arguments)
        yield made, f"{module.__name__}.{name}", frozenset({method})
    for node in calls:
        if (direct := _direct(node, module)) is not None:
            yield direct[0], f"{module.__name__}:{node.lineno}", direct[1]


def _patterns(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 3 and isinstance(value, dict):
        for part in (*value.keys(), *value.values()):
            yield from _patterns(part, depth + 1)
    elif depth < 3 and isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            yield from _patterns(part, depth + 1)


def _calls(
    calls: Sequence[ast.Call], module: ModuleType
) -> tuple[dict[Key, frozenset[str]], frozenset[str]]:
    """Pattern -> the methods it is called by in this module; and those that are called on
    something that is not a name of the module."""
    named: dict[Key, frozenset[str]] = {}
    others: set[str] = set()
    for node in calls:
        if not isinstance(node.func, ast.Attribute):
            continue
        method, owner = node.func.attr, _value(node.func.value, module)
        if method not in METHODS:
            continue
        if isinstance(owner, re.Pattern):
            key = (owner.pattern, owner.flags)
            named[key] = named.get(key, frozenset()) | {method}
        elif owner is not re:
            others.add(method)
    return named, frozenset(others) or METHODS


def _direct(node: ast.Call, module: ModuleType) -> tuple[re.Pattern[Any], frozenset[str]] | None:
    """``re.search(TEXT, …)``; ``re.compile`` of a text that is known without being called."""
    if not isinstance(node.func, ast.Attribute):
        return None
    if _value(node.func.value, module) is not re or node.func.attr not in (*METHODS, "compile"):
        return None
    text = _value(node.args[0], module)
    if not isinstance(text, (str, bytes)) or node.func.attr == "compile":
        return None  # what is compiled is met in a name of the module
    return re.compile(text), frozenset({node.func.attr})


def _value(node: ast.expr, module: ModuleType) -> object:
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    return node.value if isinstance(node, ast.Constant) else None
