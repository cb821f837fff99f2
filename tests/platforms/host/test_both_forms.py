"""What a program prints as text and as JSON of the same state is read alike. That of ``ip`` is
compared on this machine (test_links_here.py); of ethtool only the text is read."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.platforms.host.given import readings_of
from vnicaudit.platforms.host.facts import EVERY_FACT

CASES = YAML(typ="safe").load(Path(__file__).with_name("both_forms.yaml"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_text_and_json_give_equal_records(case: dict[str, Any]) -> None:
    (fact,) = (one for one in EVERY_FACT if one.name == case["fact"])
    in_json, in_text = (fact.read(readings_of(outputs=case[form])) for form in ("json", "text"))
    assert in_json == in_text
    assert all(value for name, value in in_json.items() if name != "vdpa")
