"""The page on architecture names modules that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_modules_that_the_page_names_exist() -> None:
    text = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
    named = {one for one in re.findall(r"`([\w/]+\.py)`", text) if not re.search("NAME|NNN", one)}
    there = [
        path for folder in ("vnicaudit", "docs", "tests") for path in (ROOT / folder).rglob("*.py")
    ]
    known = {f"/{path.relative_to(ROOT)}" for path in there}
    assert len(named) > 20
    assert [one for one in named if not any(path.endswith(f"/{one}") for path in known)] == []
