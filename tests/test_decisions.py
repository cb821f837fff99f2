"""No sentence decides anything: reworded for its reader, it would decide otherwise.

What is decided by is a code, a field or a type. A comparison with a sentence of this program is
found here, wherever the sentence is a constant of a module, or stands in the comparison.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.rows import rows

PACKAGE = Path(__file__).parents[1] / "vnicaudit"
WORDS = 3
"""Words that a text must have to be taken for a sentence."""

OF_OTHERS = {
    "KVM_OR_QEMU": "types of a domain, as its values are written",
    "_UNABLE": "libvirt's, in QEMU's log",
    "_DAMAGED": "SQLite's, of a file that is none of its own (sqlite3ErrStr)",
}
"""Constant -> whose words they are: by those of other programs it has to be gone."""

COLLECTIONS = ("frozenset", "set", "tuple", "list")

Comparison = tuple[int, str]
"""Line, and the constant or text that something is compared with."""


def test_no_sentence_decides_anything() -> None:
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: {text}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in compared(_tree(path), _known(path))
    ]
    assert found == []


@rows
def test_a_sentence_that_decides_is_found(source: str) -> None:
    tree = ast.parse(source)
    assert len(list(compared(tree, frozenset(_sentences(tree))))) == 1


@rows
def test_a_word_may_decide(source: str) -> None:
    tree = ast.parse(source)
    assert list(compared(tree, frozenset(_sentences(tree)))) == []


def compared(tree: ast.Module, sentences: frozenset[str]) -> Iterator[Comparison]:
    """Comparisons with a sentence; ``sentences``: constants that are one, or hold one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for part in (node.left, *node.comparators):
                yield from ((node.lineno, text) for text in _in(part, sentences))


def _in(part: ast.expr, sentences: frozenset[str]) -> Iterator[str]:
    if isinstance(part, ast.Name) and part.id in sentences:
        yield part.id
    elif isinstance(part, ast.Constant) and _is_sentence(part.value):
        yield str(part.value)
    elif isinstance(part, (ast.Tuple, ast.List, ast.Set)):
        yield from (text for one in part.elts for text in _in(one, sentences))
    elif isinstance(part, ast.BinOp):
        yield from (text for one in (part.left, part.right) for text in _in(one, sentences))
    elif isinstance(part, ast.Call) and _is_record(part.func):
        yield from (text for one in part.args for text in _in(one, sentences))


def _is_record(func: ast.expr) -> bool:
    return isinstance(func, ast.Name) and func.id[:1].isupper()


def _is_sentence(value: object) -> bool:
    return isinstance(value, str) and len(value.split()) >= WORDS


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _known(path: Path) -> frozenset[str]:
    """Constants that are sentences, in a module and among what it imports from others."""
    tree = _tree(path)
    imported = (
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if alias.name in _of_module(node.module)
    )
    return frozenset({*_sentences(tree), *imported})


@cache
def _of_module(name: str) -> frozenset[str]:
    path = PACKAGE.parent / name.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return frozenset(_sentences(_tree(file))) if file.exists() else frozenset()


def _sentences(tree: ast.Module) -> Iterator[str]:
    """Constants of a module that are a sentence, or several to be looked for among."""
    known: set[str] = set()
    for node in tree.body:
        name, value = _assigned(node)
        ours = name and name not in OF_OTHERS
        if ours and value is not None and _holds(value, known):
            known.add(name)
            yield name


def _assigned(node: ast.stmt) -> tuple[str, ast.expr | None]:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id, node.value
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    return "", None


def _holds(value: ast.expr, known: set[str]) -> bool:
    if isinstance(value, ast.Dict):  # what is looked for are its keys
        return any(key is not None and _holds(key, known) for key in value.keys)
    if isinstance(value, ast.Name):
        return value.id in known
    if isinstance(value, ast.Constant):
        return _is_sentence(value.value)
    if isinstance(value, ast.BinOp):
        parts = (value.left, value.right)
        together = isinstance(value.op, ast.Add) and _is_sentence("".join(map(_text, parts)))
        return together or any(_holds(part, known) for part in parts)
    if isinstance(value, ast.Call) and not _keeps_text(value.func):
        return False  # "a b c".split(), re.compile("a b c")
    kinds = (ast.Tuple, ast.List, ast.Set, ast.Call)
    inner = (one for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr))
    return isinstance(value, kinds) and any(_holds(one, known) for one in inner)


def _keeps_text(func: ast.expr) -> bool:
    return _is_record(func) or (isinstance(func, ast.Name) and func.id in COLLECTIONS)


def _text(value: ast.expr) -> str:
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
