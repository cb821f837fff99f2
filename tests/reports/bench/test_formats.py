"""What all formats have in common."""

import csv
import io
import json
import re
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from markdown_it import MarkdownIt

from tests.promtool import checked_metrics
from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import (
    ALL,
    NASTY,
    hostile,
    one_arm,
    side_by_side,
    single_flip,
    switch_dns,
    two_arms,
)
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


# One line per run and metric.


def test_the_whole_file() -> None:
    assert written("csv", single_flip()) == expected("single-flip.csv")


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_runs_that_do_not_count_are_there_and_say_why() -> None:
    lines = [line for line in table(written("csv", two_arms())) if line["valid"] == "false"]
    assert [(line["arm"], line["metric"], line["value"], line["reason"]) for line in lines] == [
        ("after", "goodput", "120000000.0", "target steal 3.1 % of the run, above 2 %"),
        ("after", "goodput", "120000000.0", "target steal 3.1 % of the run, above 2 %"),
        ("before", "", "", "the generator was the limit"),
    ]


def test_numbers_come_back_as_they_were() -> None:
    values = {
        (line["order"], line["metric"]): float(line["value"])
        for line in table(written("csv", two_arms()))
        if line["valid"] == "true"
    }
    for sample in two_arms().samples:
        if sample.valid:
            for metric, value in sample.values.items():
                assert values[str(sample.order), metric] == value


def test_no_cell_is_calculated() -> None:
    for line in table(written("csv", hostile("=1+1"))):
        assert line["engine"] == "'=1+1"


# Medians for Prometheus.


def test_a_value_is_the_median_of_an_arm_and_says_which_way_is_better() -> None:
    lines = written("prometheus", two_arms()).splitlines()
    (goodput,) = (
        line for line in lines
        if line.startswith('vnicaudit_bench_value{path="before",workload="iperf3.tcp.tx.c1.64k"')
        and 'metric="goodput"' in line
    )  # fmt: skip
    assert goodput.startswith(
        'vnicaudit_bench_value{path="before",workload="iperf3.tcp.tx.c1.64k",metric="goodput",'
        'better="higher"} '
    )
    assert any('metric="latency_p99",better="lower"' in line for line in lines)
    assert 'vnicaudit_bench_run_timestamp_seconds{path="before"} 1795256100' in lines


def test_promtool_has_no_complaint() -> None:
    checked_metrics(written("prometheus", one_arm()))


# Comments on merge requests.


@pytest.mark.parametrize(
    ("name", "result"), [("two-arms.md", two_arms()), ("side-by-side.md", side_by_side())]
)
def test_the_whole_comment(name: str, result: BenchResult) -> None:
    assert written("markdown", result) == expected(name)


def html(result: BenchResult) -> str:
    """As it is shown. GitHub lets little HTML through; here none of the target's may come out."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    return str(reader.render(written("markdown", result)))


def test_the_decision_comes_first() -> None:
    text = written("markdown", single_flip())
    assert text.startswith(
        "## vnicaudit bench\n\n"
        "**WORSE** web-01: after against before, 26 min 30 s, 10 runs, none repeated\n\n"
    )
    assert "harm that needs no statistics; roll the change back\n" in text
    assert "* guard rail retransmits is broken\n" in text
    assert "* failed: retransmits, after: 31 times as many as before\n" in text


def test_every_row_has_a_cell_for_every_column() -> None:
    for result in (two_arms(), side_by_side(), one_arm(), switch_dns("2"), hostile()):
        for rows in re.findall(r"<table>.*?</table>", html(result), re.DOTALL):
            cells = [len(re.findall(r"<t[hd][ >]", row)) for row in rows.split("</tr>")[:-1]]
            assert len(set(cells)) == 1


def test_dimensions_are_a_table() -> None:
    text = written("markdown", switch_dns("2"))
    assert "|  | as found | querylog | querylog+dsc |\n" in text
    assert "| virtio, 2 vCPU | 46,000 / 49,000 | 28,600 / 29,600 | 19,600 / 19,600 |\n" in text


def test_no_markup_comes_out_of_names() -> None:
    shown = html(hostile())
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_quiet_leaves_out_how_it_was_measured() -> None:
    text = written("markdown", two_arms(), Options(quiet=True))
    assert "seed" not in text
    assert "do not count" not in text
    assert "| improved |" not in text
    assert "**better**" in text


# ``vnicaudit.bench/1``.


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
