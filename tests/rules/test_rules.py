"""Every rule against its data file: which finding, where, with which words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.rules.cases import HERE, Case, Expected, cases, judge
from vnicaudit.audit.catalogue import module_of, rule_ids
from vnicaudit.model.finding import Change, Finding

FILES = sorted(path.stem for path in HERE.glob("VNIC*.yaml"))
ALL = [
    pytest.param(rule_id, case, id=f"{rule_id}-{case.name}")
    for rule_id in FILES
    for case in cases(rule_id)
]


@pytest.mark.parametrize(("rule_id", "case"), ALL)
def test_case(rule_id: str, case: Case) -> None:
    audited = judge(rule_id, case)
    assert audited.crashed == ()
    assert [(f.severity, f.message) for f in audited.findings] == [
        (expected.severity, expected.message) for expected in case.fail
    ]
    for finding, expected in zip(audited.findings, case.fail, strict=True):
        assert _seen(finding, expected) == _wanted(expected)
        _check_fix(finding, expected)
    if case.skip:
        assert [skipped.rule for skipped in audited.skipped] == [rule_id]
        assert case.skip in audited.skipped[0].needs
    else:
        assert audited.skipped == ()


@pytest.mark.parametrize("rule_id", rule_ids())
def test_rule_has_cases_of_each_kind(rule_id: str) -> None:
    assert rule_id in FILES, f"write tests/rules/{rule_id}.yaml (see README.md there)"
    found = cases(rule_id)
    assert any(case.fail for case in found), "no fail case"
    assert any(case.passes for case in found), "no pass case"
    if module_of(rule_id).NEEDS:
        assert any(case.skip for case in found), "no skip case, though NEEDS is not empty"


def test_every_data_file_has_a_rule() -> None:
    assert set(FILES) <= set(rule_ids())


@pytest.mark.parametrize("rule_id", FILES)
def test_names_of_cases_are_unique(rule_id: str) -> None:
    names = [case.name for case in cases(rule_id)]
    assert sorted(names) == sorted(set(names))


def _wanted(expected: Expected) -> dict[str, Any]:
    given = msgspec.structs.asdict(expected)
    return {
        name: value
        for name, value in given.items()
        if value is not msgspec.UNSET and not name.startswith("fix_")
    }


def _seen(finding: Finding, expected: Expected) -> dict[str, Any]:
    """The same keys as :func:`_wanted`, from what came out."""
    seen = {
        "message": finding.message,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "line": finding.location.line,
        "column": finding.location.column,
        "file": finding.location.file,
        "related": [str(place) for place in finding.related],
        "xpath": finding.location.xpath,
        "owner": finding.owner,
        "change": _plain(finding.change),
        "reason": "" if finding.change is None else finding.change.reason,
        "fix": finding.fix,
    }
    return {name: seen[name] for name in _wanted(expected)}


def _plain(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {"field": change.field, "old": change.old, "new": change.new, "safe": change.safe}


def _check_fix(finding: Finding, expected: Expected) -> None:
    for text in _several(expected.fix_has):
        assert text in finding.fix
    for text in _several(expected.fix_lacks):
        assert text not in finding.fix


def _several(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given
