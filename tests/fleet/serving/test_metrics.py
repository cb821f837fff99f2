"""Scrapes over HTTP: both formats, side by side, and of a history that is slow or fails."""

from __future__ import annotations

import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.bench.endpoints.left import until
from tests.fleet.serving.served import served
from tests.promtool import checked_metrics
from tests.reports.metrics.test_fleet import COUNTS, text_of
from vnicaudit.errors import TargetError
from vnicaudit.fleet.serving.answers import RouteContent
from vnicaudit.fleet.serving.shared import SharedValue
from vnicaudit.model.fleet_counts import FleetCounts
from vnicaudit.reports.metrics.exposition import exposed
from vnicaudit.reports.metrics.fleet import fleet_families

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class SlowHistory:
    """Counts how often it is asked, and how many ask at once."""

    def __init__(self) -> None:
        self.asked = self.at_once = self.most = 0
        self.go = threading.Event()

    def counts(self) -> FleetCounts:
        self.asked += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        assert self.go.wait(120)
        self.at_once -= 1
        return COUNTS


def route(shared: SharedValue[FleetCounts], accept: str) -> RouteContent:
    return RouteContent(*exposed(fleet_families(shared.get()), accept))


def scraped(url: str, accept: str) -> tuple[str, str]:
    asked = urllib.request.Request(f"{url}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(asked, timeout=120) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_each_format_is_what_was_asked_for_and_says_the_same() -> None:
    prometheus_type, prometheus = exposed(fleet_families(COUNTS), "text/plain")
    openmetrics_type, openmetrics = exposed(fleet_families(COUNTS), OPENMETRICS)
    assert prometheus_type.startswith("text/plain; version=")
    assert openmetrics_type.startswith("application/openmetrics-text; version=1.0.0")
    checked_metrics(prometheus.decode())
    parsed = text_string_to_metric_families(openmetrics.decode())  # type: ignore[no-untyped-call]
    own = text_string_to_metric_families(text_of(COUNTS, "openmetrics"))  # type: ignore[no-untyped-call]
    assert [(one.name, one.samples) for one in parsed] == [(one.name, one.samples) for one in own]


def test_scrapes_that_overlap_cost_one_reading() -> None:
    history, all_there = SlowHistory(), threading.Barrier(8)
    shared = SharedValue(history.counts, good_for=60, patience=20, clock=time)

    def scrape(accept: str) -> RouteContent:
        all_there.wait(20)
        return route(shared, accept)

    with served({"/metrics": scrape}) as server, ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(scraped, server.address.url, OPENMETRICS) for _ in range(8)]
        until(lambda: history.asked > 0, "the history is asked")
        history.go.set()
        results = {future.result(20) for future in futures}
    assert len(results) == 1
    assert (history.asked, history.most) == (1, 1)


def test_one_who_waits_for_a_history_that_hangs_is_told() -> None:
    history = SlowHistory()
    shared = SharedValue(history.counts, good_for=60, patience=0.05, clock=time)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(shared.get)
        until(lambda: history.at_once > 0, "the history is asked")
        with pytest.raises(TargetError, match="did not answer"):
            shared.get()
        history.go.set()
        assert first.result(20) is COUNTS
    assert shared.get() is COUNTS


def test_an_error_is_not_kept_and_an_old_value_is_not_served() -> None:
    class Now:
        at = 0.0

        def monotonic(self) -> float:
            return self.at

        time = monotonic

        def sleep(self, seconds: float, /) -> None:
            raise NotImplementedError

    results: list[TargetError | int] = [TargetError("down"), 1, TargetError("down"), 2]
    now, made = Now(), iter(results)

    def make() -> int:
        value = next(made)
        if isinstance(value, TargetError):
            raise value
        return value

    shared = SharedValue(make, good_for=5, patience=1, clock=now)
    with pytest.raises(TargetError):
        shared.get()
    assert shared.get() == 1
    now.at = 5
    assert shared.get() == 1
    now.at = 6
    with pytest.raises(TargetError):
        shared.get()
    assert shared.get() == 2
