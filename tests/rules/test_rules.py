"""Every rule against its data file: which finding, where, with which words."""

from __future__ import annotations

import pytest

from tests.rules.shipped import HERE, cases
from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.rule_cases.cases import Case
from vnicaudit.rule_cases.comparing import differences
from vnicaudit.rule_cases.judging import judge

FILES = sorted(path.stem for path in HERE.glob("VNIC*.yaml"))
ALL = [
    pytest.param(rule_id, case, id=f"{rule_id}-{case.name}")
    for rule_id in FILES
    for case in cases(rule_id)
]


@pytest.mark.parametrize(("rule_id", "case"), ALL)
def test_case(rule_id: str, case: Case) -> None:
    assert list(differences(rule_id, case, judge(rule_id, case, every_platform()))) == []


@pytest.mark.parametrize("rule_id", rule_ids())
def test_rule_has_cases_of_each_kind(rule_id: str) -> None:
    assert rule_id in FILES, f"write tests/rules/{rule_id}.yaml (see README.md there)"
    found = cases(rule_id)
    assert any(case.fail for case in found), "no fail case"
    assert any(case.passes for case in found), "no pass case"
    if shipped_catalogue().main_judge(rule_id).needs:
        assert any(case.skip for case in found), "no skip case, though it needs something"


def test_every_data_file_has_a_rule() -> None:
    assert set(FILES) <= set(rule_ids())


@pytest.mark.parametrize("rule_id", FILES)
def test_names_of_cases_are_unique(rule_id: str) -> None:
    names = [case.name for case in cases(rule_id)]
    assert sorted(names) == sorted(set(names))
