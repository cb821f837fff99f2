"""The Go benchmark format, and what benchstat makes of it (recorded: data/README.md)."""

from __future__ import annotations

import csv
import io
import re
from itertools import pairwise

import pytest
from msgspec.structs import replace

from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import side_by_side, two_arms
from vnicaudit.bench.metrics import METRICS
from vnicaudit.errors import UsageError
from vnicaudit.reports.bench.formats.gobench import render
from vnicaudit.reports.writer import Options

UNITS = {
    ("goodput", 1.0): "bits/s",
    ("host_cpu_per_gbit", 1e-6): "host-cpu-sec/Gbit",
    ("query_rate", 1.0): "queries/s",
    ("transaction_rate", 1.0): "transactions/s",
    ("latency_p99", 1e-6): "p99-sec",
}
"""Our metric, what it is times to be in benchstat's unit, and that."""


def test_the_whole_file() -> None:
    assert written("gobench", two_arms()) == expected("benchstat/two-arms.txt")


def said_by_benchstat() -> dict[tuple[str, str], list[str]]:
    """(benchmark, unit) -> its line."""
    found, unit = {}, ""
    for line in csv.reader(io.StringIO(expected("benchstat/two-arms.csv"))):
        if len(line) > 2 and line[2] == "CI":
            unit = line[1]
        elif len(line) > 5 and line[0] not in ("", "geomean"):
            found[line[0], unit] = line
    return found


def test_benchstat_has_our_medians_our_direction_and_our_p() -> None:
    said = said_by_benchstat()
    results = two_arms().results
    assert len(said) == len(results) == 5
    for (metric, factor), unit in UNITS.items():
        (ours,) = (one for one in results if one.metric == metric)
        assert ours.before is not None
        assert ours.after is not None
        assert ours.effect is not None
        name = ours.workload[:1].upper() + ours.workload[1:]
        _, before, _, after, _, change, p = said[name, unit]
        assert float(before) == pytest.approx(ours.before.median * factor, rel=1e-6)
        assert float(after) == pytest.approx(ours.after.median * factor, rel=1e-6)
        assert p == f"p={ours.effect.p:.3f} n={ours.before.n}"
        # benchstat has the ratio of medians, with the sign of the value; ours is the median of
        # ratios, and positive is better
        sign = 1 if ours.better == "higher" else -1
        percent = sign * float(change.rstrip("%"))
        assert percent == pytest.approx(ours.effect.percent, rel=0.01)


def test_one_arm_alone_has_no_configuration_that_would_keep_files_apart() -> None:
    for arm in ("before", "after"):
        text = "".join(render(two_arms(), Options(), arm))
        assert not re.search(r"^[a-z][^ ]*:", text, re.MULTILINE)
        assert text.count("Benchmark") == 30


def test_no_arm_of_that_name() -> None:
    with pytest.raises(UsageError, match="no arm 'later'; there are before, after"):
        "".join(render(two_arms(), Options(), "later"))


def test_each_metric_has_a_unit_of_its_own_and_says_which_way_is_better() -> None:
    result = two_arms()
    sample = replace(result.samples[0], values=dict.fromkeys(METRICS, 2.0), valid=True)
    text = written("gobench", replace(result, samples=(sample,)))
    units = re.findall(r"^Unit (\S+) better=(\S+)$", text, re.MULTILINE)
    assert len({unit for unit, _ in units}) == len(METRICS)
    assert [better for _, better in units] == [metric.better for metric in METRICS.values()]


def test_a_line_has_a_name_a_count_and_pairs_of_value_and_unit() -> None:
    for line in written("gobench", two_arms()).splitlines():
        if line.startswith("Benchmark"):
            name, number, *pairs = line.split(" ")
            assert re.fullmatch(r"Benchmark[A-Z]\S*", name)
            assert number == "1"
            assert len(pairs) % 2 == 0
            for value in pairs[::2]:
                assert float(value) > 0


def test_runs_between_two_changes_are_one_value() -> None:
    """As they are in comparisons: benchstat has to be asked the same question."""
    result = two_arms()
    doubled = tuple(
        replace(one, values={"goodput": one.values["goodput"] * factor}, order=2 * one.order + more)
        for one in result.samples[:20]
        for more, factor in ((0, 0.9), (1, 1.1))
    )
    text = written("gobench", replace(result, samples=doubled))
    assert text.count("Benchmark") == 20
    live = replace(result, run=replace(result.run, design="live-flip"), samples=doubled)
    assert written("gobench", live).count("Benchmark") == 40


def test_arms_stand_one_after_another_in_their_order() -> None:
    text = written("gobench", side_by_side())
    places = [text.index(f"\narm: {arm}\n") for arm in ("node", "vm", "pod")]
    assert all(one < other for one, other in pairwise(places))
