"""Every rule against its data file: which finding, where, with which words."""

import pytest

from tests.rules.shipped import FILES, cases, names
from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.rule_cases.judging import judge
from vnicaudit.rule_cases.running import differences

ALL = [
    pytest.param(rule_id, name, id=f"{rule_id}-{name}")
    for rule_id in FILES
    for name in names(rule_id)
]


@pytest.mark.parametrize(("rule_id", "name"), ALL)
def test_case(rule_id: str, name: str) -> None:
    (case,) = (case for case in cases(rule_id) if case.name == name)
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
def test_all_cases_are_run_and_their_names_are_unique(rule_id: str) -> None:
    assert names(rule_id) == tuple(case.name for case in cases(rule_id))
    assert len(set(names(rule_id))) == len(names(rule_id))
