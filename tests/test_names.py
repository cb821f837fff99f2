"""Names say what they stand for, and docstrings stand alone: what was put right stays so."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import vnicaudit

PACKAGE = Path(vnicaudit.__file__).parent

PRONOUNS = (
    "said asked given found left made kept lost wanted shown meant seen taken noted same who whose "
    "whom what which how why where when ended begun chosen tried judged named one ones other "
    "others all it its these those this that"
)
"""Alone they name nothing: what was said, by whom; what is left, of what?"""
LEANS_ON_A_NAME = r"(What|Whether|The same|Its|All of it)\b"


def trees(has: str = "") -> Iterator[tuple[str, ast.Module]]:
    """Of the modules whose text matches an expression: to parse them takes seconds."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if re.search(has, text := path.read_text("utf-8")):
            yield path.relative_to(PACKAGE).as_posix(), ast.parse(text)


def names_in(file: str, tree: ast.Module) -> Iterator[str]:
    """The names of a module, its functions and classes, and the fields of these."""
    yield Path(file).stem
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            for entry in node.body:
                if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name):
                    yield entry.target.id


def test_nothing_is_called_after_a_pronoun() -> None:
    found = {
        f"{file}:{name}"
        for file, tree in trees()
        for name in names_in(file, tree)
        if name.strip("_").lower() in PRONOUNS.split()
    }
    assert not found


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for name in re.findall(r"^class (\w+)[(:]", path.read_text("utf-8"), re.MULTILINE):
            places.setdefault(name, []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_docstrings_stand_alone() -> None:
    found = [
        f"{file}:{getattr(node, 'lineno', 1)}"
        for file, tree in trees(rf"[\"']\s*{LEANS_ON_A_NAME}")
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and re.match(LEANS_ON_A_NAME, ast.get_docstring(node) or "")
    ]
    assert not found
