"""Reasons have codes, in plans of every kind of unit; their files are read back as they were."""

from pathlib import Path

import pytest

from tests.remedy.planning.made_plans import made_plans
from vnicaudit.model.plan import Plan
from vnicaudit.reports.plan.json import from_json, to_json


@pytest.fixture
def plans(tmp_path: Path) -> dict[str, Plan]:
    return made_plans(tmp_path)


def test_what_is_not_planned_has_a_code(plans: dict[str, Plan]) -> None:
    codes = {name: [one.code for one in plan.not_planned] for name, plan in plans.items()}
    assert {name: found for name, found in codes.items() if found} == {
        "domains": ["unsafe", "unsafe", "no-definition"],
        "files": ["template"],
        "cloud": ["unsafe", "unsafe", "not-known"],
    }


def test_what_is_blocked_and_a_mode_have_a_code(plans: dict[str, Plan]) -> None:
    steps = [step for plan in plans.values() for step in plan.steps]
    assert {step.unit.kind for step in steps} == {"domain", "file", "server", "image", "flavor"}
    assert any(step.blocked for step in steps)
    for step in steps:
        assert all(one.code for one in step.blocked)
        assert all(bool(mode.code) == bool(mode.reason) for mode in step.modes)


def test_what_is_read_back_is_written_again_as_it_was(plans: dict[str, Plan]) -> None:
    for name, plan in plans.items():
        data = to_json(plan)
        assert to_json(from_json(data, name)) == data
