"""JUnit XML."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree
from msgspec.structs import replace

from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import ALL, side_by_side, single_flip, two_arms
from vnicaudit.model.measurement import BenchResult, Decision, Verdict

XSD = etree.XMLSchema(etree.parse(Path(__file__).parents[1] / "data" / "junit-10.xsd"))


@pytest.mark.parametrize(
    ("name", "result"), [("two-arms.xml", two_arms()), ("single-flip.xml", single_flip())]
)
def test_the_whole_file(name: str, result: BenchResult) -> None:
    assert written("junit", result) == expected(name)


@pytest.mark.parametrize("result", ALL, ids=lambda result: result.run.design)
def test_it_fits_the_schema_and_its_counts_are_right(result: BenchResult) -> None:
    document = etree.fromstring(written("junit", result).encode())
    XSD.assertValid(document)
    for suite in document:
        for kind in ("failure", "skipped"):
            counted = suite.get(f"{kind}s", suite.get(kind))
            assert counted == str(len(suite.findall(f"testcase/{kind}")))
        assert suite.get("tests") == str(len(suite))


def ends(result: BenchResult) -> dict[str, str]:
    """Test -> failure, skipped, or empty."""
    document = etree.fromstring(written("junit", result).encode())
    return {
        f"{case.get('classname')}: {case.get('name')}": str(case[0].tag) if len(case) else ""
        for case in document.iter("testcase")
    }


@pytest.mark.parametrize(
    ("verdict", "end"),
    [
        ("improved", ""), ("equivalent", ""), ("not-worse", ""), ("at-ceiling", ""),
        ("regressed", "failure"), ("inconclusive", "skipped"), ("generator-limited", "skipped"),
        ("invalid", "skipped"),
    ],
)  # fmt: skip
def test_how_a_verdict_ends(verdict: Verdict, end: str) -> None:
    result = two_arms()
    first, shown, *others = result.results
    changed = (replace(first, verdict=verdict), replace(shown, verdict="regressed"), *others)
    found = ends(replace(result, results=changed))
    assert found["iperf3.tcp.tx.c1.64k: goodput"] == end
    assert found["iperf3.tcp.tx.c1.64k: host CPU"] == ""


def test_of_several_paths_each_is_a_test() -> None:
    found = ends(side_by_side())
    assert found["iperf3.tcp.tx.c1.16k: goodput, vm"] == ""
    assert found["iperf3.tcp.tx.c1.16k: goodput, pod"] == "failure"
    assert found["decision: decision"] == "failure"


def test_a_change_that_is_taken_back_failed_even_if_nothing_was_compared() -> None:
    decision = Decision(verdict="invalid", action="roll-back", reasons=("ping lost",))
    stopped = replace(two_arms(), results=(), samples=(), guard_rails=(), decision=decision)
    found = ends(stopped)
    assert found["decision: decision"] == "failure"
    assert found["iperf3.tcp.tx.c1.64k: measured"] == "skipped"


def test_a_broken_guard_rail_is_a_failure_with_its_words() -> None:
    text = written("junit", single_flip())
    assert '<failure message="31 times as many as before" type="failed"/>' in text
