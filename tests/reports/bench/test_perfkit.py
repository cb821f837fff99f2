"""PerfKitBenchmarker's samples."""

from __future__ import annotations

import json

from msgspec.structs import replace

from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import single_flip, two_arms


def test_the_whole_file() -> None:
    assert written("perfkit", single_flip()) == expected("single-flip.perfkit.jsonl")


def test_a_line_is_one_sample_with_the_keys_that_perfkit_has() -> None:
    lines = [json.loads(line) for line in written("perfkit", two_arms()).splitlines()]
    for line in lines:
        assert line.keys() >= {"metric", "value", "unit", "metadata", "timestamp"}
        assert isinstance(line["value"], float)
        assert isinstance(line["timestamp"], float)
    assert len({line["sample_uri"] for line in lines}) == len(lines)
    assert lines[0]["metadata"]["label_vcpus"] == "2"


def test_runs_that_do_not_count_are_left_out() -> None:
    orders = {
        json.loads(line)["metadata"]["order"]
        for line in written("perfkit", two_arms()).splitlines()
    }
    assert orders.isdisjoint({60, 61, 62})
    assert {0, 19} <= orders


def test_a_time_that_is_none_is_said_to_be_unknown() -> None:
    result = single_flip()
    odd = replace(result, samples=(replace(result.samples[0], started="yesterday"),))
    assert json.loads(written("perfkit", odd))["timestamp"] is None
