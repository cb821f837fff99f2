"""Scrapes over HTTP: both formats, side by side, and of a history that is slow or fails."""

import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.bench.endpoints.left import until
from tests.fleet.served import served
from tests.promtool import checked_metrics
from tests.reports.metrics.test_fleet import COUNTS, text_of
from vnicaudit.errors import TargetError
from vnicaudit.fleet.serving import NotReadyError, RouteContent, SharedValue
from vnicaudit.model.fleet import FleetCounts
from vnicaudit.reports.metrics import exposed, fleet_families

T = TypeVar("T")

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


def given(shared: SharedValue[T]) -> T | None:
    """What it gives, if it is ready."""
    try:
        return shared.get()
    except NotReadyError:
        return None


def test_each_format_is_what_was_asked_for_and_says_the_same() -> None:
    prometheus_type, prometheus = exposed(fleet_families(COUNTS), "text/plain")
    openmetrics_type, openmetrics = exposed(fleet_families(COUNTS), OPENMETRICS)
    assert prometheus_type.startswith("text/plain; version=")
    assert openmetrics_type.startswith("application/openmetrics-text; version=1.0.0")
    checked_metrics(prometheus.decode())
    parsed = text_string_to_metric_families(openmetrics.decode())  # type: ignore[no-untyped-call]
    own = text_string_to_metric_families(f"{text_of(COUNTS)}# EOF\n")  # type: ignore[no-untyped-call]
    assert [(one.name, one.samples) for one in parsed] == [(one.name, one.samples) for one in own]


def test_scrapes_that_overlap_cost_one_reading() -> None:
    history, all_there = SlowHistory(), threading.Barrier(8)
    shared = SharedValue(history.counts, good_for=60, patience=120, clock=time)

    def scrape(accept: str) -> RouteContent:
        all_there.wait(120)
        return route(shared, accept)

    with served({"/metrics": scrape}) as server, ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(scraped, server.address.url, OPENMETRICS) for _ in range(8)]
        until(lambda: history.asked > 0, "the history is asked")
        history.go.set()
        results = {future.result(120) for future in futures}
    assert len(results) == 1
    assert (history.asked, history.most) == (1, 1)


def test_one_who_waits_for_a_history_that_hangs_is_told() -> None:
    history = SlowHistory()
    shared = SharedValue(history.counts, good_for=60, patience=0.05, clock=time)
    for _ in range(2):
        with pytest.raises(TargetError, match="still being read"):
            shared.get()
    history.go.set()
    until(lambda: given(shared) is COUNTS, "the counts are there")
    assert (history.asked, history.most) == (1, 1)


class Now:
    at = 0.0

    def monotonic(self) -> float:
        return self.at

    time = monotonic

    def sleep(self, seconds: float, /) -> None:
        raise NotImplementedError


def test_an_error_is_not_kept_and_an_old_value_is_not_served() -> None:
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


@pytest.mark.parametrize(
    "version", ["x", "", "1.x", "x.0.0", "1.0.0.0.0", "9" * 5000, "-1", "1.0.0;escaping=x", "\xff"]
)
@pytest.mark.parametrize("kind", ["application/openmetrics-text", "text/plain"])
def test_whatever_version_is_wanted_there_are_metrics(kind: str, version: str) -> None:
    """``version=x`` ended the request without an answer and without a line in the log."""
    media_type, text = exposed(fleet_families(COUNTS), f"{kind};version={version}")
    assert media_type.startswith((kind, "text/plain"))
    assert b"vnicaudit_fleet_hosts" in text


class SlowPage:
    """A page that takes as long as the test says: each waits to be released."""

    def __init__(self) -> None:
        self.made = 0
        self.go = threading.Semaphore(0)
        self.error: Exception | None = None

    def __call__(self) -> str:
        assert self.go.acquire(timeout=120)
        error = self.error
        self.made += 1
        if error is not None:
            raise error
        return f"page {self.made}"


def test_a_page_that_takes_long_is_made_meanwhile() -> None:
    """The first request of a large fleet was cut off with nothing, and so was the first one after
    each audit."""
    page = SlowPage()
    shared = SharedValue(page, good_for=-1, patience=0.01, clock=time, older=True)
    shared.begin()
    route = {"/": lambda _accept: RouteContent("text/html", shared.get().encode())}
    with served(route) as server:
        with pytest.raises(HTTPError) as none_yet:
            urlopen(server.address.url, timeout=120)
        assert (none_yet.value.code, none_yet.value.headers["Retry-After"]) == (503, "10")
        none_yet.value.close()
        page.go.release()
        until(lambda: given(shared) == "page 1", "the page is made")
        assert shared.get() == "page 1"  # and a second one is under way
        with urlopen(server.address.url, timeout=120) as answer:
            assert answer.read() == b"page 1"
        page.go.release()
        until(lambda: shared.get() == "page 2", "the second one is made")


def test_an_error_that_took_long_is_told_to_the_next_one() -> None:
    page = SlowPage()
    page.error = TargetError("no route")
    shared = SharedValue(page, good_for=60, patience=0.01, clock=time)
    with pytest.raises(NotReadyError):
        shared.get()
    page.go.release()
    until(lambda: page.made == 1, "it has failed")
    page.error = None
    page.go.release()
    with pytest.raises(TargetError, match="no route"):
        until(lambda: given(shared) is not None, "the error is told first")
    until(lambda: given(shared) == "page 2", "it is made again")


def test_an_old_error_is_logged_and_not_told() -> None:
    """A failure of the night was the first answer of the morning, and nowhere before."""
    page, now, logged = SlowPage(), Now(), list[str]()
    shared = SharedValue(page, good_for=60, patience=120, clock=now, on_error=logged.append)
    page.error = TargetError("no route")
    page.go.release(2)
    shared.begin()
    until(lambda: logged == ["no route"], "it is logged when it fails")
    now.at, page.error = 61, None
    assert shared.get() == "page 2"
