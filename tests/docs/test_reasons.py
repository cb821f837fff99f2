"""The page on reason codes has each of them, and no other; each is given somewhere."""

import re
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest

from vnicaudit.model.fix import FixRefusal
from vnicaudit.model.plan import BlockedCode, ModeCode, NotAppliedCode, NotPlannedCode

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "reasons.md"
TABLES = {
    "Not planned": get_args(NotPlannedCode),
    "Blocked": get_args(BlockedCode),
    "Mode": get_args(ModeCode),
    "Not applied": get_args(NotAppliedCode),
    "Not fixed": get_args(FixRefusal),
}


@pytest.mark.parametrize("title", TABLES)
def test_the_page_has_all_codes_in_their_order(title: str) -> None:
    table = PAGE.read_text("utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)
    assert found == list(TABLES[title])
    assert found == sorted(found)


def test_there_is_no_other_table() -> None:
    assert re.findall(r"^## (.*)$", PAGE.read_text("utf-8"), re.MULTILINE) == list(TABLES)


def test_no_code_is_given_by_nobody() -> None:
    folders = (ROOT / "vnicaudit" / name for name in ("remedy", "platforms", "cli/remedy"))
    files = [*chain(*(folder.rglob("*.py") for folder in folders))]
    files.append(ROOT / "vnicaudit" / "model" / "plan.py")
    given = set(re.findall(r'"([a-z-]+)"', "".join(one.read_text("utf-8") for one in files)))
    assert set(chain(*TABLES.values())) <= given
