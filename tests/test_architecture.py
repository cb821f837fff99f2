"""What the import contracts cannot say: everything that rules and the model may import.

The contracts in ``pyproject.toml`` name what is forbidden; here it is the other way round, so that
a library or a module of the standard library that nobody thought of is caught as well.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "vnicaudit"

LANGUAGE = ("__future__", "collections.abc", "typing")
RULES = (*LANGUAGE, "vnicaudit.model")
MODEL = (
    *LANGUAGE, "functools.cached_property", "re", "msgspec", "threading.RLock", "vnicaudit.model",
)  # fmt: skip
ERRORS = (*LANGUAGE,)

IMPURE = {"__import__", "eval", "exec", "open", "input", "print"}
"""Built-in functions that reach beyond a module without an import."""

PLACES = [
    *((path, RULES) for path in sorted((PACKAGE / "rules").glob("*.py"))),
    *((path, MODEL) for path in sorted((PACKAGE / "model").glob("*.py"))),
    (PACKAGE / "errors.py", ERRORS),
]


@pytest.mark.parametrize(
    ("path", "allowed"), PLACES, ids=lambda value: value.name if isinstance(value, Path) else ""
)
def test_imports_only_what_its_layer_may(path: Path, allowed: tuple[str, ...]) -> None:
    assert list(_foreign(path.read_text("utf-8"), allowed)) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import subprocess", "subprocess"),
        ("import os.path as path", "os.path"),
        ("from collections import deque", "collections.deque"),
        ("import collections", "collections"),
        ("import msgspec", "msgspec"),
        ("from msgspec import json", "msgspec.json"),
        ("from vnicaudit import errors", "vnicaudit.errors"),
        ("from vnicaudit.modelling import Nic", "vnicaudit.modelling.Nic"),
        ("from .vnic001 import check", ".vnic001.check"),
        ("from . import vnic001", ".vnic001"),
        ("def check():\n    import socket", "socket"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lxml", "lxml"),
        ("__import__('os')", "__import__"),
        ("open('/etc/passwd')", "open"),
    ],
)
def test_what_a_rule_may_not_do_is_found(source: str, found: str) -> None:
    assert list(_foreign(source, RULES)) == [found]


@pytest.mark.parametrize(
    "source",
    [
        "from vnicaudit.model.nic import NicConfig",
        "from vnicaudit.model import nic",
        "import vnicaudit.model.nic",
        "from collections.abc import Iterator",
        "from collections import abc",
    ],
)
def test_what_a_rule_may_import_is_not_found(source: str) -> None:
    assert list(_foreign(source, RULES)) == []


def _foreign(source: str, allowed: tuple[str, ...]) -> Iterator[str]:
    """Names that are imported, or impure built-in functions that are called, and not allowed."""
    for node in ast.walk(ast.parse(source)):
        for name in _reached(node):
            if not any(name == known or name.startswith(f"{known}.") for known in allowed):
                yield name


def _reached(node: ast.AST) -> Iterator[str]:
    """The names one node brings in, as from the top; relative ones begin with a dot."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (f"{node.module}." if node.module else "")
        yield from (base + alias.name for alias in node.names)
    elif isinstance(node, ast.Name) and node.id in IMPURE:
        yield node.id


def test_only_rules_know_the_id_of_a_rule() -> None:
    """What goes by one rule's id holds for no rule that is to come, and nobody is told."""
    examples = PACKAGE / "audit" / "settings_keys.py"
    found = [
        (path.name, node.lineno)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent != PACKAGE / "rules" and path != examples
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and re.fullmatch(r"VNIC\d{3}", str(node.value))
    ]
    assert found == []


def test_the_contract_on_libvirt_lists_every_other_package() -> None:
    """import-linter knows no "all but": a new package would go unchecked."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (listed,) = (c["source_modules"] for c in contracts if c["name"].startswith("libvirt is"))
    tops = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.name[0] != "_"}
    places = {path.name for path in (PACKAGE / "platforms").iterdir() if path.name[0] != "_"}
    wanted = {f"vnicaudit.{name}" for name in tops - {"platforms", "templates", "py.typed"}}
    wanted |= {f"vnicaudit.platforms.{name}" for name in places - {"libvirt"}}
    assert set(listed) == wanted


def test_tests_of_the_rig_are_where_tox_looks_for_them() -> None:
    """The rig's environment collects these folders only; a test elsewhere would never run."""
    tests = PACKAGE.parent / "tests"
    marked = [path for path in tests.rglob("*.py") if "mark.rig" in path.read_text("utf-8")]
    folders = ("rig", "platforms/libvirt", "conformance", "regressions")
    looked_at = (*(tests / each for each in folders), Path(__file__))
    assert [path for path in marked if not any(path.is_relative_to(one) for one in looked_at)] == []
    command = (PACKAGE.parent / "tox.ini").read_text("utf-8")
    named = " ".join(f"tests/{each}" for each in folders)
    assert f"\n[rig]\ntests = {named}\n" in command
    assert (
        len(re.findall(r"^    p(?:ytest|ython) .*\{posargs:\{\[rig\]tests\}\}$", command, re.M))
        == 2
    )
