"""The page on architecture names modules and folders that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
FILES = [
    path.relative_to(ROOT)
    for folder in ("vnicaudit", "docs", "tests", "templates")
    for path in (ROOT / folder).rglob("*.*")
    if path.is_file() and path.parent.name != "__pycache__"
]
FOLDERS = {f"/{folder}" for path in FILES for folder in path.parents}
"""Those that hold a file: what is left of one that was removed may hold the bytecode of Python."""
NOT_COPIED = {"benchmarks", "scripts", "stubs"}
"""Folders of a checkout that a copy in which tests run need not have."""


def test_modules_that_the_page_names_exist() -> None:
    named = {one for one in re.findall(r"`([\w/]+\.py)`", TEXT) if not re.search("NAME|NNN", one)}
    assert len(named) > 20
    assert [one for one in named if not any(f"/{path}".endswith(f"/{one}") for path in FILES)] == []


def test_folders_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`([\w/]+)/`", TEXT)) - NOT_COPIED
    assert len(named) > 40
    assert [one for one in named if not any(path.endswith(f"/{one}") for path in FOLDERS)] == []


def test_folders_that_the_table_of_layers_names_are_in_their_layer() -> None:
    rows = re.findall(r"^\| `(\w+)/` \| (.*) \|$", TEXT, re.MULTILINE)
    named = [
        f"/vnicaudit/{layer}/{one}" for layer, cell in rows for one in re.findall(r"`(\w+)/`", cell)
    ]
    assert len(named) > 20
    assert [one for one in named if one not in FOLDERS] == []
