"""A test hands in what it stands for: it reaches into a module of the product as a last resort."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
MOST_PATCHED = 27
"""Functions and classes of the product that tests put others in the place of; limits (constants)
are not counted, nor faults of the system (``os``, ``time``, ``select``). What is left is of three
kinds, for which an argument would be one that no program ever gives:

* the program is ended, or a disk is full, at every line of a journal, every note, every lock
  (``tests/remedy/applying/fakes.py``, ``tests/regressions/way_back``): all of
  them, wherever they are made;
* calls are counted, to prove that something is done once (``RuleSet.of``, ``NovaIndex``,
  ``YamlPlace._to``, ``diffs.masked``, the event loop of libvirt);
* something deep inside takes too long, fails or is missing (a parser, a migration, one file of
  many), while all around it is the real program."""


def _imported(tree: ast.AST) -> dict[str, str]:
    """Name in the module -> where it is from."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.update(
                {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
            )
        elif isinstance(node, ast.Import):
            found.update({one.asname: one.name for one in node.names if one.asname})
    return found


def _owner(target: ast.expr, imported: dict[str, str]) -> str:
    """Where the patched name is from; empty: made by the test itself."""
    if isinstance(target, ast.Constant):
        return str(target.value)
    while isinstance(target, ast.Attribute):
        target = target.value
    return imported.get(target.id, "") if isinstance(target, ast.Name) else ""


def _patched(path: Path) -> Iterator[int]:
    """The lines in which that is done."""
    text = path.read_text("utf-8")
    if "setattr" not in text:
        return
    tree = ast.parse(text)
    imported = _imported(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
            owner, name = _owner(node.args[0], imported), node.args[1]
            said = name.value if isinstance(name, ast.Constant) else ""
            attribute = owner.rpartition(".")[2] if len(node.args) == 2 else str(said)
            if owner.startswith("vnicaudit") and not attribute.lstrip("_").isupper():
                yield node.lineno


def test_tests_reach_into_few_modules() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        for line in _patched(path)
    ]
    assert len(found) <= MOST_PATCHED, found


def test_what_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(
        "from vnicaudit.bench import registry\n"
        "import os\n"
        "monkeypatch.setattr(registry.GUARDS, 'load', None)\n"
        "monkeypatch.setattr('vnicaudit.cli.main.run', None)\n"
        "monkeypatch.setattr(registry, '_MOST', 1)\n"
        "monkeypatch.setattr(os, 'fsync', None)\n"
        "monkeypatch.setattr(world, 'passing', None)\n"
    )
    assert list(_patched(path)) == [3, 4]
