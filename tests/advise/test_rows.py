"""Each row of the decision table fires where it should, and not elsewhere."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.advise.scenario_samples import Table, advice, fired
from vnicaudit.knowledge.attachments import attachment_table

CASES: dict[str, dict[str, list[Table]]] = YAML(typ="safe").load(
    Path(__file__).with_suffix(".yaml")
)
SIDES = {other for row in attachment_table().row.values() for other in row.against}
"""Rows that are also shown behind others."""


def test_each_row_has_cases_of_both_kinds() -> None:
    assert [*attachment_table().row] == list(CASES)
    assert list(CASES) == [f"R{number:02}" for number in range(1, 72)]
    assert [row for row, cases in CASES.items() if not (cases["fires"] and cases["silent"])] == []


@pytest.mark.parametrize(
    ("row", "case"),
    [pytest.param(row, case, id=row) for row in CASES for case in CASES[row]["fires"]],
)
def test_row_fires(row: str, case: Table) -> None:
    assert row in fired(advice(case))


@pytest.mark.parametrize(
    ("row", "case"),
    [pytest.param(row, case, id=row) for row in CASES for case in CASES[row]["silent"]],
)
def test_row_is_silent(row: str, case: Table) -> None:
    given = advice(case)
    beaten = {one.row for flow in given.flows for one in flow.rows if one.beaten_by}
    assert row not in fired(given) - (SIDES & beaten)
