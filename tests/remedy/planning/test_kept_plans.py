"""Files of plans as vnicaudit 0.5 wrote them, but for sentences that were reworded since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.remedy.planning.kept_plans import DATA, decoded, kept_plans, without_added
from vnicaudit.reports.plan.json import from_json, to_json

NAMES = tuple(kept_plans(Path()))


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_then_is_read_and_says_the_same(name: str) -> None:
    data = (DATA / name).read_bytes()
    assert without_added(decoded(from_json(data, name))) == json.loads(data)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_planned_is_what_was_planned_then(name: str, tmp_path: Path) -> None:
    made = decoded(kept_plans(tmp_path)[name]())
    assert without_added(made) == json.loads((DATA / name).read_bytes())


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("domains.json", ["unsafe", "unsafe", "no-definition"]),
        ("files.json", ["template"]),
        ("cloud.json", ["unsafe", "unsafe", "not-known"]),
    ],
)
def test_what_is_not_planned_has_a_code(name: str, codes: list[str], tmp_path: Path) -> None:
    made = kept_plans(tmp_path)[name]()
    assert [one.code for one in made.not_planned] == codes
    then = from_json((DATA / name).read_bytes(), name)
    assert [one.code for one in then.not_planned] == [""] * len(codes)


def test_what_is_blocked_and_a_mode_have_a_code(tmp_path: Path) -> None:
    """Of a plan that is older than codes there are none."""
    for name, make in kept_plans(tmp_path).items():
        then = from_json((DATA / name).read_bytes(), name)
        for made, old in zip(make().steps, then.steps, strict=True):
            assert all(one.code for one in made.blocked)
            assert all(bool(mode.code) == bool(mode.reason) for mode in made.modes)
            assert [one.text for one in old.blocked] == [one.text for one in made.blocked]
            assert {*(one.code for one in old.blocked), *(one.code for one in old.modes)} <= {""}


@pytest.mark.parametrize("name", NAMES)
def test_a_risk_and_a_cause_are_read_and_not_cut_out_of_a_sentence(
    name: str, tmp_path: Path
) -> None:
    made = kept_plans(tmp_path)[name]()
    written = json.loads(to_json(made))
    for one in (*written["steps"], *written["left"]):
        one["reason"] = "reworded"
    read = from_json(json.dumps(written).encode(), name)
    assert [one.risk for one in read.steps] == [one.risk for one in made.steps]
    assert [one.reason for one in read.not_planned] == [one.reason for one in made.not_planned]


@pytest.mark.parametrize("name", NAMES)
def test_of_an_old_file_they_are_cut_out(name: str, tmp_path: Path) -> None:
    made = kept_plans(tmp_path)[name]()
    read = from_json(json.dumps(without_added(decoded(made))).encode(), name)
    assert [one.risk for one in read.steps] == [one.risk for one in made.steps]


def test_there_is_a_file_of_every_kind_of_unit() -> None:
    plans = [from_json((DATA / name).read_bytes(), name) for name in NAMES]
    steps = [step for plan in plans for step in plan.steps]
    kinds = {step.unit.kind for step in steps}
    assert kinds == {"domain", "file", "server", "image", "flavor"}
    assert {step.to for step in steps} == {"virtio", "vdpa", "vhostuser"}
