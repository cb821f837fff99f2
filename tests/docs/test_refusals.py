"""Every code of a refusal is documented, and no other."""

import re
from pathlib import Path
from typing import get_args

from vnicaudit.model.plan import RefusalCode

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "refusals.md"


def test_the_page_has_the_codes_of_the_program() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| \S", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(rows) == get_args(RefusalCode)
