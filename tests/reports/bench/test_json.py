"""``vnicaudit.bench/1``."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import ALL, NASTY, one_arm, two_arms
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.reading import from_json

SCHEMAS = Path(__file__).parents[3] / "docs" / "schemas"
FITS = jsonschema.Draft202012Validator(
    json.loads((SCHEMAS / "vnicaudit.bench-1.json").read_text("utf-8"))
)


def test_the_whole_document() -> None:
    assert written("json", one_arm()) == expected("one-arm.json")


def test_a_document_from_before_failures_were_named_is_read() -> None:
    old = written("json", one_arm()).replace(',"failure":null,"witness":null', "")
    assert "witness" not in old
    new = written("json", one_arm())
    assert from_json(old.encode(), "old") == from_json(new.encode(), "new")


def test_keys_are_in_the_order_of_the_record_and_samples_one_per_line() -> None:
    text = written("json", two_arms())
    assert list(json.loads(text)) == list(BenchResult.__struct_fields__)
    lines = text.splitlines()
    begin = lines.index('"samples":[')
    assert json.loads(lines[begin + 1].rstrip(","))["order"] == 0
    last = lines[begin + len(two_arms().samples)]
    assert json.loads(last.removesuffix("],"))["order"] == 62


@pytest.mark.parametrize("result", ALL, ids=lambda result: result.run.design)
def test_it_fits_the_schema_and_comes_back_whole(result: BenchResult) -> None:
    text = written("json", result)
    FITS.validate(json.loads(text))
    back = from_json(text.encode(), "x")
    if NASTY not in result.run.id:  # half a surrogate has no form in JSON
        assert back == result
        assert msgspec.json.decode(text, type=BenchResult) == result


def test_raw_samples_and_tool_output_are_in_it() -> None:
    sample = json.loads(written("json", two_arms()))["samples"][0]
    assert sample["raw"] == [
        {"command": ["iperf3", "-c", "192.0.2.10", "-J"], "code": 0, "stdout": '{"end":{}}',
         "stderr": "", "seconds": 12.4, "endpoint": "ssh://root@gen1", "cpu_wait": None}
    ]  # fmt: skip
