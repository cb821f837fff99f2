"""What all formats have in common."""

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings

from tests.reports.bench.golden import written
from tests.reports.bench.samples import ALL, hostile
from tests.reports.plan.plans import TEXT
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.formats import RENDERERS
from vnicaudit.reports.bench.reading import from_json
from vnicaudit.reports.writers import Options

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
FITS = jsonschema.Draft202012Validator(
    json.loads((SCHEMAS / "vnicaudit.bench-1.json").read_text("utf-8"))
)
LINES = ("csv", "markdown", "prometheus", "text")
"""Formats that people look at in a terminal."""


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("result", ALL, ids=lambda result: result.run.design)
def test_every_format_can_say_every_measurement_in_utf_8(name: str, result: BenchResult) -> None:
    text = written(name, result)
    text.encode()
    assert text.endswith("\n")
    assert "\x1b" not in text
    assert "\u202e" not in text


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT)
def test_whatever_names_are_made_of(text: str) -> None:
    result = hostile(text)
    for name in LINES:
        shown = written(name, result, Options(verbose=True))
        shown.encode()
        assert all(line.isprintable() for line in shown.split("\n"))
    document = written("json", result)
    FITS.validate(json.loads(document))
    assert len(from_json(document.encode(), "x").samples) == len(result.samples)
