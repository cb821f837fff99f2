"""The page over a history, served, in real Chromium: its views against what audits were told."""

import csv
import io
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.fleet.served import served
from tests.history.fleets import TestDomain, TestNic, audit, host, reading
from tests.reports.page.chromium import VIEWS, Tab
from tests.reports.page.decoded import check_markup, decoded
from tests.reports.page.test_chromium import AXE_RUN, ROWS, saved_text
from vnicaudit.cli.fleet.serve import page_route
from vnicaudit.fleet.spool import SpoolFolder
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place

HOSTS = (host("kvm1", "north"), host("kvm2", "south"), host("kvm3", "south"))
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def guest(number: int, *rules: str) -> TestDomain:
    mac = f"52:54:00:00:00:{number:02x}"
    return TestDomain(number, (TestNic(mac, "e1000", frozenset(rules)),))


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two audits: the second could not read kvm2, found one thing new and one fixed."""
    folder = tmp_path_factory.mktemp("live") / "state"
    days = (
        ([guest(1, "TEST01", "TEST02")], [guest(2, "TEST01")], [guest(3, "TEST01")]),
        ([guest(1, "TEST02", "TEST03")], None, [guest(3, "TEST01")]),
    )
    for day, guests in enumerate(days, 1):
        name = f"2026010{day + 1}-000000-0000"
        made = audit(name, day, HOSTS)
        read = [
            reading(one, some or [], day, status="ok" if some else "failed")
            for one, some in zip(HOSTS, guests, strict=True)
        ]
        with history_to_write(history_place(None, folder)) as history:
            history.store(made, read)
        if day == 2:
            spool = SpoolFolder(folder).new(name)
            for place, each in enumerate(read):
                spool.add(place, each)
            spool.write_audit(made)
    return folder


@pytest.fixture(scope="module")
def text(state: Path) -> str:
    """The page."""
    return page_route(history_place(None, state), state, patience=120)().body.decode()


@pytest.fixture
def tab(browser: Browser, state: Path) -> Iterator[Tab]:
    """The page as it is served; nothing may go wrong in it."""
    with served({"/": page_route(history_place(None, state), state, patience=120)}) as server:
        one = Tab(browser, f"{server.address.url}/")
        yield one
        assert one.wrong == []


def test_the_data_have_every_host_and_the_state_of_each_finding(text: str) -> None:
    check_markup(text)
    found = decoded(text)
    tables = found.tables
    finding = tables["finding"]
    assert sorted(zip(finding["rule"], finding["state"], strict=True)) == [
        ("TEST01", "known"), ("TEST01", "not looked at"), ("TEST02", "known"), ("TEST03", "new"),
    ]  # fmt: skip
    assert tables["subject"]["read_at"] == ["", "2026-01-02T00:00:00Z", ""]
    settled = tables["settled"]
    assert [settled[name] for name in ("state", "rule", "host", "until")] == [
        ["fixed"], ["TEST01"], ["kvm1"], ["2026-01-03T00:00:00Z"],
    ]  # fmt: skip


def test_the_answer_the_changes_the_trend_and_what_first(tab: Tab) -> None:
    with tab.open() as page:
        expect(page.locator(".answer h1")).to_have_text("3 of 3 NICs are slow")
        changes = page.locator(".changes")
        expect(changes).to_contain_text("1 new")
        expect(changes).to_contain_text("1 fixed")
        expect(changes).to_contain_text("1 not checked this time")
        box = changes.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 800
        expect(page.locator(".chart g")).to_have_count(2)
        page.get_by_text("As a table").click()
        row = page.locator(".trend tbody tr").first.locator("th, td")
        assert row.all_inner_texts() == [
            "3 Jan 2026 00:00 UTC", "2 of 3", "3", "3", "1", "1", "0", "1",
        ]  # fmt: skip
        first = page.locator("#first li").first
        expect(first).to_contain_text("certain, no change to propose")
        first.get_by_role("link").click()
        expect(page.locator("#status")).to_have_text("2 of 4 findings")
        page.go_back()
        page.get_by_role("link", name="1 fixed").click()
        expect(page.locator("#status")).to_have_text("1 of 1 fixed or accepted")
        page.locator(ROWS).first.click()
        expect(page.locator("dialog")).to_contain_text("What was wrong")
        expect(page.locator("dialog h2")).to_have_text("vm1")


def test_groups_are_of_all_sites_or_of_one(tab: Tab) -> None:
    with tab.open("#problems") as page:
        expect(page.locator("#status")).to_have_text("3 of 3 problems")
        page.get_by_label("Site").select_option("south")
        expect(page.locator("#status")).to_have_text("1 of 1 problems")
        expect(page).to_have_url(re.compile(r"#problems\?site=south$"))
        page.locator(ROWS).first.click()
        expect(page.locator("#status")).to_have_text("2 of 4 findings")
        expect(page).to_have_url(re.compile("site=south"))
        for view, south in (("owners", "2"), ("hosts", "2")):
            page.evaluate("hash => { location.hash = hash; }", f"{view}?site=south")
            expect(page.locator("#list-title")).to_have_text(view.capitalize())
            expect(page.locator("#status")).to_contain_text(" of ")
            shown = page.locator(ROWS)
            expect(shown).to_have_count(1 if view == "owners" else 2)
            if view == "owners":
                assert shown.first.locator("[role=gridcell]").nth(1).inner_text() == south


def test_coverage_says_who_was_not_read_and_which_rules_were_left_out(tab: Tab) -> None:
    with tab.open("#coverage") as page:
        part = page.locator("#coverage")
        expect(part).to_contain_text("kvm2")
        expect(part).to_contain_text("shown as read on 2 Jan 2026")
        expect(part).to_contain_text("Rules skipped")
        expect(part).to_contain_text("VNIC001")


def test_every_view_has_a_fragment_and_a_csv_and_no_violation(tab: Tab) -> None:
    with tab.open() as page:
        page.evaluate(f"{AXE};0")
        for view in VIEWS:
            page.evaluate("hash => { location.hash = hash; }", view)
            expect(page.locator(f"nav a[aria-current][href='#{view}']")).to_have_count(1)
            found = page.evaluate(AXE_RUN)
            assert [(view, one["id"], one["nodes"][0]["html"]) for one in found] == []
        page.evaluate("hash => { location.hash = hash; }", "settled")
        expect(page.locator("#list-title")).to_have_text("Fixed or accepted")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        (row,) = csv.DictReader(io.StringIO(saved_text(download.value.path())))
        assert (row["State"], row["Rule"], row["Host"]) == ("fixed", "TEST01", "kvm1")


def test_a_telephone_needs_no_sideways_scrolling(tab: Tab) -> None:
    with tab.open(width=420) as page:
        for view in (*VIEWS, "settled?row=0"):
            page.evaluate("hash => { location.hash = hash; }", view)
            expect(
                page.locator(f"nav a[aria-current][href='#{view.split('?')[0]}']")
            ).to_have_count(1)
            assert page.evaluate("document.documentElement.scrollWidth") <= 420, view
