"""Scrapes over HTTP: side by side, and of a history that is slow or fails."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.bench.endpoints.left import until
from tests.fleet.served import served
from tests.promtool import checked_metrics
from tests.reports.metrics.test_fleet import COUNTS, text_of
from vnicaudit.errors import TargetError
from vnicaudit.fleet.serving import NotReadyError, RouteContent, SharedValue
from vnicaudit.model.fleet import FleetCounts
from vnicaudit.reports.metrics import MEDIA_TYPE, fleet_families, written

T = TypeVar("T")


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


def route(shared: SharedValue[FleetCounts]) -> RouteContent:
    return RouteContent(MEDIA_TYPE, "".join(written(fleet_families(shared.get()))).encode())


def scraped(url: str) -> tuple[str, str]:
    with urlopen(f"{url}/metrics", timeout=120) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def given(shared: SharedValue[T]) -> T | None:
    """What it gives, if it is ready."""
    try:
        return shared.get()
    except NotReadyError:
        return None


def test_scrapes_that_overlap_cost_one_reading() -> None:
    history, all_there = SlowHistory(), threading.Barrier(8)
    shared = SharedValue(history.counts, good_for=60, patience=120, clock=time)

    def scrape() -> RouteContent:
        all_there.wait(120)
        return route(shared)

    with served({"/metrics": scrape}) as server, ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(scraped, server.address.url) for _ in range(8)]
        until(lambda: history.asked > 0, "the history is asked")
        history.go.set()
        results = {future.result(120) for future in futures}
    [(media_type, text)] = results
    assert media_type == "text/plain; version=0.0.4; charset=utf-8"
    checked_metrics(text)
    assert text == text_of(COUNTS)
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
    route = {"/": lambda: RouteContent("text/html", shared.get().encode())}
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
