"""``vnicaudit.runs/1``."""

import json
from pathlib import Path

import jsonschema
import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reports.runs.records import RECORDS
from tests.reports.runs.samples import RUNS
from tests.shares import examples
from vnicaudit.model.runs import RunRecord
from vnicaudit.reports.runs import RunsReport, runs_json

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
FITS = jsonschema.Draft202012Validator(
    json.loads((SCHEMAS / "vnicaudit.runs-1.json").read_text("utf-8"))
)


def test_one_run_per_line_in_the_order_given() -> None:
    data = runs_json(RUNS)
    lines = data.decode().splitlines()
    assert lines[:2] == ['{"schema":"vnicaudit.runs/1",', '"runs":[']
    assert lines[2].startswith('{"id":"20261121-101500-3f2a","kind":"apply","started":"2026-11-21')
    assert len(lines) == 5
    assert data.endswith(b"]}\n")
    assert msgspec.json.decode(data, type=RunsReport).runs == tuple(RUNS)


def test_no_runs() -> None:
    assert runs_json([]) == b'{"schema":"vnicaudit.runs/1",\n"runs":[]}\n'


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RECORDS, max_size=3))
def test_any_runs_fit_the_schema(runs: list[RunRecord]) -> None:
    data = runs_json(runs)
    assert all(line.isprintable() for line in data.decode().split("\n"))
    FITS.validate(json.loads(data))
    assert len(msgspec.json.decode(data, type=RunsReport).runs) == len(runs)
