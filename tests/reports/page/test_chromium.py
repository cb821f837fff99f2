"""The page as a reader has it: found, read, moved about in, printed, in real Chromium."""

import csv
import io
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.reports.page.chromium import VIEWS, Tab
from tests.reports.page.fleet import PageData, fleet, host_name, render_page
from vnicaudit.model.finding import Ref
from vnicaudit.model.report import Placed

ROWS = "#grid .body [role=row]:not([hidden])"
SMALL = list(fleet(4).subjects)
FINDINGS = sum(len(one.audited.findings) for one in SMALL)
HOSTILE = (
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "<!--", "\u202egnp.exe",
    "a\x00b\x1b[31m\n", "=HYPERLINK(1)", "&lt;b&gt;", "${x}",
)  # fmt: skip
AXE_RUN = """() => axe.run({
  resultTypes: ["violations"],
  rules: { "skip-link": { enabled: false } },
}).then((all) => all.violations)"""
"""Fragments are addresses of views here, not places to skip to."""
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def test_the_answer_comes_first(tab: Tab) -> None:
    slow = sum(row.model.effective != "virtio" for one in SMALL for row in one.audited.rows)
    with tab.open() as page:
        expect(page.locator(".answer h1")).to_have_text(f"{slow} of 400 NICs are slow")
        expect(page.locator(".changes")).to_contain_text("12 new")
        expect(page.locator(".cures li")).to_have_count(5)
        page.get_by_role("link", name=f"{slow} slow").click()
        expect(page.locator("#status")).to_have_text(f"{slow} of 400 NICs")


def test_without_scripts_the_answer_is_there(tab: Tab) -> None:
    with tab.open(runs=False) as page:
        expect(page.locator(".answer h1")).to_contain_text("of 400 NICs are slow")
        expect(page.locator(".cures li")).to_have_count(5)
        expect(page.locator("#coverage")).to_contain_text("VNIC020 was not judged for 24 NICs")


def test_the_keyboard_is_enough(tab: Tab) -> None:
    with tab.open("#nics") as page:
        page.keyboard.press("/")
        page.keyboard.type("kvm-0002")
        expect(page.locator("#status")).to_have_text("100 of 400 NICs")  # not of half the name
        page.keyboard.press("Enter")
        grid = page.locator("#grid")
        expect(grid).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(grid).to_have_attribute("aria-activedescendant", "row-1")
        name = page.locator("#row-1 [role=gridcell]").nth(1).inner_text()
        page.keyboard.press("Enter")
        expect(page.locator("dialog h2")).to_contain_text(name)
        expect(page).to_have_url(re.compile("row="))
        page.keyboard.press("ArrowRight")
        expect(page.locator("dialog h2")).to_contain_text(
            page.locator("#row-2 [role=gridcell]").nth(1).inner_text()
        )
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_be_hidden()
        expect(grid).to_be_focused()
        page.keyboard.press("/")
        page.keyboard.press("Escape")
        expect(page.locator("#status")).to_have_text("400 of 400 NICs")
        page.keyboard.press("End")
        expect(grid).to_have_attribute("aria-activedescendant", "row-399")


def test_a_dialog_that_closes_changes_nothing_later(tab: Tab) -> None:
    """Its event may come late: by then it may be open again, or the reader in the search field."""
    with tab.open("#nics?row=3") as page:
        search = page.locator("#search")
        expect(page.locator("dialog")).to_be_visible()
        page.locator("dialog").dispatch_event("close")
        expect(page).to_have_url(re.compile(r"row=3$"))
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_be_hidden()
        expect(page.locator("#grid")).to_be_focused()
        page.keyboard.press("/")
        page.locator("dialog").dispatch_event("close")
        expect(page).to_have_url(re.compile(r"#nics$"))
        expect(search).to_be_focused()
        page.keyboard.type("kvm-0002")
        expect(page.locator("#status")).to_have_text("100 of 400 NICs")


def test_lists_to_choose_from_name_each_value_once(tab: Tab) -> None:
    models = Counter(str(row.model.effective) for one in SMALL for row in one.audited.rows)
    with tab.open("#nics") as page:
        choice = page.get_by_label("Model")
        options = choice.locator("option").all_inner_texts()
        assert options[1:] == [f"{name} ({number})" for name, number in models.most_common()]
        choice.select_option("e1000")
        expect(page.locator("#status")).to_have_text(f"{models['e1000']} of 400 NICs")
        expect(page).to_have_url(re.compile(r"#nics\?model=e1000$"))


def test_headings_sort(tab: Tab) -> None:
    with tab.open("#findings?sort=") as page:
        button = page.get_by_role("button", name="Guest")
        for order in ("ascending", "descending"):
            button.click()
            head = page.get_by_role("columnheader", name="Guest")
            expect(head).to_have_attribute("aria-sort", order)
            names = page.locator(f"{ROWS} [role=gridcell]:nth-child(3)").all_inner_texts()
            assert names == sorted(names, reverse=order == "descending")
            assert len(set(names)) > 3


def test_an_address_brings_back_what_was_seen(tab: Tab) -> None:
    host = host_name(1)
    wanted = sum(
        one.severity in ("high", "error")
        for each in SMALL for one in each.audited.findings if each.host == host
    )  # fmt: skip
    with tab.open(f"#findings?host={host}&severity=high&sort=name") as page:
        expect(page.locator("#status")).to_have_text(f"{wanted} of {FINDINGS} findings")
        page.get_by_role("button", name=f"Remove the filter Host: {host}").click()
        expect(page).not_to_have_url(re.compile("host="))
        page.get_by_role("link", name="Hosts").click()
        expect(page.locator("#list-title")).to_have_text("Hosts")
        page.locator(ROWS).first.click()
        expect(page.locator("#list-title")).to_have_text("Findings")
        page.go_back()
        expect(page.locator("#list-title")).to_have_text("Hosts")


def test_hosts_are_counted(tab: Tab) -> None:
    with tab.open("#hosts?sort=title") as page:
        for at, row in enumerate(page.locator(ROWS).all()):
            mine = [one for one in SMALL if one.host == host_name(at)]
            cells = row.locator("[role=gridcell]").all_inner_texts()
            slow = sum(nic.model.effective != "virtio" for one in mine for nic in one.audited.rows)
            problems = sum(len(one.audited.findings) for one in mine)
            assert cells[:1] + cells[2:4] + cells[5:6] == [
                host_name(at), "100", str(slow), str(problems),
            ]  # fmt: skip


def test_a_nic_in_full(tab: Tab) -> None:
    at, one = next((at, one) for at, one in enumerate(SMALL) if one.audited.findings)
    row = sum(len(before.audited.findings) for before in SMALL[:at])
    with tab.open(f"#findings?row={row}") as page:
        dialog, which = page.locator("dialog"), one.audited.findings[0].about.index or 0
        expect(dialog).to_contain_text(one.audited.findings[0].fix)
        chain = dialog.locator(".chain tbody tr").first.locator("th, td").all_inner_texts()
        model = one.audited.rows[which].model
        assert chain == ["Model", model.declared, model.effective, model.reason]
        expect(dialog.locator("code").first).to_have_text(
            f"vnicaudit explain {one.audited.target} --domain={one.audited.subject} --nic={which}"
        )
        expect(dialog.locator("code").last).to_have_text(
            f"vnicaudit plan {one.audited.target} --domain={one.audited.subject} "
            f"--nic={one.audited.rows[which].mac} -o plan.json"
        )
        dialog.get_by_role("button", name="Copy this fix").first.click()
        expect(dialog.get_by_role("button", name="Copy this fix").first).to_have_text("Copied")


@pytest.mark.parametrize(
    ("dark", "views"),
    [
        (False, ("overview", "problems", "hosts", "nics", "coverage", "findings?row=3")),
        (True, ("overview", "findings", "findings?row=3")),
    ],
)
def test_axe_finds_nothing(tab: Tab, views: tuple[str, ...], *, dark: bool) -> None:
    with tab.open(dark=dark) as page:
        page.evaluate(f"{AXE};0")
        for view in views:
            page.evaluate("hash => { location.hash = hash; }", view)
            current = page.locator(f"nav a[aria-current][href='#{view.split('?')[0]}']")
            expect(current).to_have_count(1)
            expect(page.locator("dialog[open]")).to_have_count(int("row=" in view))
            found = page.evaluate(AXE_RUN)
            assert [(view, one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_dark_is_dark_and_the_button_decides(tab: Tab) -> None:
    with tab.open("#findings", dark=True) as page:
        assert luminance(page, "html", "backgroundColor") < 0.02
        button = page.get_by_role("button", name="Colours")
        button.click()
        assert luminance(page, "html", "backgroundColor") == 1
        button.click()
        expect(button).to_have_text("Colours: dark")
        for part in ("html", ".sev-error", ".sev-low", ".quiet", "nav a", "#status"):
            light = luminance(page, part, "color")
            assert (light + 0.05) / (luminance(page, "html", "backgroundColor") + 0.05) > 4.5, part
        page.reload()
        expect(page.locator("#theme span")).to_have_text("dark")


def test_on_paper_there_are_all_rows_up_to_a_number(tab: Tab) -> None:
    with tab.open("#findings?host=" + host_name(1)) as page:
        assert page.pdf().startswith(b"%PDF")
        shown = int((page.locator("#status").text_content() or "").split()[0])
        expect(page.locator("#print tbody tr")).to_have_count(min(shown, 500))
        page.emulate_media(media="print")
        expect(page.locator("#grid")).to_be_hidden()
        expect(page.locator("#print caption")).to_contain_text("Findings")


def test_a_telephone_needs_no_sideways_scrolling(tab: Tab) -> None:
    with tab.open(width=420) as page:
        for view in (*VIEWS, "nics?row=0"):
            page.evaluate("hash => { location.hash = hash; }", view)
            current = page.locator(f"nav a[aria-current][href='#{view.split('?')[0]}']")
            expect(current).to_have_count(1)
            assert page.evaluate("document.documentElement.scrollWidth") <= 420, view
            assert page.evaluate("document.querySelector('#grid').scrollWidth") <= 420, view


def test_the_csv_has_what_is_shown(tab: Tab) -> None:
    host = host_name(2)
    with tab.open(f"#findings?host={host}&sort=") as page:
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        assert download.value.suggested_filename == "vnicaudit-findings.csv"
        rows = list(csv.DictReader(io.StringIO(saved_text(download.value.path()))))
    mine = [(one, each) for one in SMALL if one.host == host for each in one.audited.findings]
    assert [(row["UUID"], row["Rule"], row["Fix"], row["MAC address"]) for row in rows] == [
        (one.audited.uuid, each.rule, each.fix, each.about.mac) for one, each in mine
    ]


def test_an_old_browser_is_told_which_ones_show_the_lists(browser: Browser, small: Path) -> None:
    with Tab(browser, small).open(script="delete window.DecompressionStream;") as page:
        expect(page.locator("#failed")).to_contain_text("Firefox 113, Chrome 80, Safari 16.4")
        expect(page.locator(".answer h1")).to_contain_text("of 400 NICs are slow")


def test_damaged_data_leave_the_answer(browser: Browser, small: Path, tmp_path: Path) -> None:
    text = small.read_text(encoding="utf-8")
    place = text.index('id="data">') + 2000
    damaged = tmp_path / "damaged.html"
    damaged.write_text(text[:place] + "AAAAAAAA" + text[place + 8 :], encoding="utf-8")
    with Tab(browser, damaged).open() as page:
        expect(page.locator("#failed")).to_contain_text("The summary is complete")
        expect(page.locator(".answer h1")).to_contain_text("of 400 NICs are slow")


def test_names_are_text(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text("".join(render_page(hostile())), encoding="utf-8")
    tab = Tab(browser, path)
    shown = [name.encode("unicode_escape").decode() if not name.isprintable() else name
             for name in HOSTILE]  # fmt: skip
    with tab.open("#nics?sort=") as page:
        cells = page.locator(f"{ROWS} [role=gridcell]:nth-child(2)")
        assert cells.all_text_contents() == shown
        page.locator(ROWS).first.click()
        expect(page.locator("dialog h2")).to_have_text(f"{shown[0]}, NIC 0")
        expect(page.locator("dialog code").first).to_contain_text(f"--domain='{shown[0]}'")
        assert page.locator("img, iframe, object").count() == 0
        page.keyboard.press("Escape")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as CSV").click()
        rows = list(csv.DictReader(io.StringIO(saved_text(download.value.path()))))
        assert [row["Guest"] for row in rows] == [
            f"'{name}" if name.startswith("=") else name for name in shown
        ]
    assert tab.wrong == []


def saved_text(path: Path) -> str:
    """A CSV file, without the mark at its beginning."""
    return path.read_bytes().decode("utf-8-sig")


def hostile() -> PageData:
    """Guests whose names are as hostile as a definition can make them."""
    some = []
    for name, one in zip(HOSTILE, SMALL, strict=False):
        row = msgspec.structs.replace(one.audited.rows[0], domain=name, target_dev=name)
        about = Ref("nic", name, one.audited.uuid, row.mac, 0)
        findings = tuple(
            msgspec.structs.replace(each, message=name, fix=name, about=about)
            for each in one.audited.findings[:1]
        )
        audited = msgspec.structs.replace(
            one.audited, subject=name, placed=Placed(image=name), rows=(row,), findings=findings
        )
        some.append(one._replace(audited=audited, host=name))
    return fleet(1)._replace(subjects=some)


def luminance(page: Page, part: str, name: str) -> float:
    """Of a computed colour, by WCAG 2: 0 is black, 1 white."""
    script = "([part, name]) => getComputedStyle(document.querySelector(part))[name]"
    text = str(page.evaluate(script, [part, name]))
    values = [int(one) / 255 for one in text[text.index("(") + 1 : -1].split(",")[:3]]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
