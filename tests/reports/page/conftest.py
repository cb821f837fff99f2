"""A browser and a small fleet's page, for the tests of one module."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.reports.page.chromium import Tab, chromium
from tests.reports.page.fleet import fleet, render_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of a module."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of four hosts: 400 NICs."""
    path = tmp_path_factory.mktemp("page") / "small.html"
    path.write_text("".join(render_page(fleet(4))), encoding="utf-8")
    return path


@pytest.fixture
def tab(browser: Browser, small: Path) -> Iterator[Tab]:
    """That page; nothing may go wrong in it."""
    one = Tab(browser, small)
    yield one
    assert one.wrong == []
