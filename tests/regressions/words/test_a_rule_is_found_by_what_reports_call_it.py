"""``rules legacy-emulated-nic``, ``rules VNIC04`` and ``rules SUPP001`` were all "no rule", though
reports name rules so."""

import json

import pytest

from tests.cli.inside import inside
from tests.rows import rows


@pytest.mark.parametrize("name", ["VNIC001", "vnic001", "legacy-emulated-nic", " VNIC001 "])
def test_an_id_and_a_name_show_one_manual(name: str) -> None:
    result = inside("rules", name)
    assert result.returncode == 0
    assert result.stdout.startswith("# VNIC001 legacy-emulated-nic\n\nSeverity: ")


@pytest.mark.parametrize("name", ["SUPP001", "expired-suppression"])
def test_rules_about_suppressions_are_shown(name: str) -> None:
    result = inside("rules", name)
    assert result.stdout.startswith("# SUPP001 expired-suppression\n\nSeverity: low. ")


def test_a_prefix_lists_all_that_begin_so() -> None:
    result = inside("rules", "VNIC04", "--format", "json")
    ids = [rule["id"] for rule in json.loads(result.stdout)["rules"]]
    assert len(ids) > 2
    assert all(rule_id.startswith("VNIC04") for rule_id in ids)
    assert inside("rules", "VNIC04").stdout.count("VNIC04") == len(ids)
    assert json.loads(inside("rules", "SUPP", "--format", "json").stdout)["rules"][2]["id"] == (
        "SUPP003"
    )


@rows
def test_anything_else_is_said(text: str, message: str) -> None:
    result = inside("rules", text)
    assert message in result.stderr
    assert result.returncode == (2 if text else 0)
