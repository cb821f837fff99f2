"""Runs on several targets at once: what becomes of their values."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import profile
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.facts.validity import Doubt
from vnicaudit.bench.running.together import (
    RunOfOne,
    apart,
    deciding_by_the_least,
    doubts_of_all,
    together,
)
from vnicaudit.errors import UsageError

WORK = replace(TCP, seconds=10.0)
URLS = ("agent://a", "agent://b")


def test_rates_are_added_up_and_the_worst_of_all_else_counts() -> None:
    each = [
        {"goodput": 3e9, "latency_p99": 70.0, "loss": 0.1}, {"goodput": 1e9, "latency_p99": 90.0},
    ]  # fmt: skip
    found = together([Measured(values=values) for values in each], URLS)
    assert found.values == {"goodput": 4e9, "goodput_least": 1e9, "latency_p99": 90.0}
    assert found.details["goodput of agent://b"] == 1e9


def test_one_that_fails_is_named() -> None:
    good, failed = Measured(values={"goodput": 1e9}), Measured(error="iperf3 does not listen")
    found = together([good, failed], URLS)
    assert (found.values, found.failure) == ({}, "tool")
    assert found.error == "agent://b: iperf3 does not listen"
    nothing = together([Measured(), good], URLS)
    assert nothing.error == "agent://a: the engine measured nothing"
    (doubt,) = doubts_of_all([(), (Doubt("steal", "too much"),)], URLS)
    assert doubt == Doubt("steal", "agent://b: too much")


def run(end_time: float) -> RunOfOne:
    return RunOfOne(Measured(seconds=10.0), end_time)


def test_what_was_not_at_the_same_time_does_not_count() -> None:
    assert not list(apart([run(100.0), run(101.9)], WORK))
    (doubt,) = apart([run(100.0), run(103.0)], WORK)
    assert doubt.by == "short"
    assert doubt.words.startswith("only 7 of 10 seconds were measured on all targets")
    (never,) = apart([run(100.0), run(150.0)], WORK)
    assert never.words.startswith("only 0 of 10 seconds")


def test_the_least_decides_too_and_a_search_is_refused() -> None:
    work = replace(WORK, decides=("goodput", "loss"))
    changed = deciding_by_the_least(profile(work, runs=5))
    assert changed.workloads[0].decides == ("goodput", "goodput_least", "loss")
    search = replace(WORK, pattern="udp-pps", rate=None)
    with pytest.raises(UsageError, match="is a search"):
        deciding_by_the_least(profile(search, runs=5))
