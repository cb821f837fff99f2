"""The page."""

import re
from html.parser import HTMLParser

import pytest

from tests.reports.bench.golden import written
from tests.reports.bench.samples import (
    ALL,
    applied,
    hostile,
    one_arm,
    side_by_side,
    single_flip,
    switch_dns,
    two_arms,
)
from vnicaudit.model.measurement import BenchResult

VOID = {"meta"}


class Page(HTMLParser):
    """Elements as they are nested; an end tag that does not fit is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def said(self) -> str:
        """All words, as one line."""
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.seen if name == tag]


@pytest.mark.parametrize("result", ALL, ids=lambda result: result.run.design)
def test_it_is_well_formed_and_needs_nothing_else(result: BenchResult) -> None:
    text = written("html", result)
    page = Page(text)
    assert page.open == []
    assert not page.all("script")
    assert not page.all("link")
    for _, attributes in page.seen:
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "default-src 'none'" in text
    ids = [str(attributes["id"]) for _, attributes in page.seen if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_decision_the_design_and_the_numbers_are_said() -> None:
    said = Page(written("html", single_flip())).said()
    assert "WORSE web-01: after against before, 26 min 30 s, 10 runs, none repeated harm" in said
    assert "harm that needs no statistics; roll the change back" in said
    assert "guard rail retransmits is broken" in said
    assert "single flip: all runs before the change, then all after it: drift" in said
    assert "goodput 4.12 Gb/s (4.05 to 4.17) 43.7 % of line 4.30 Gb/s" in said
    assert "about +4.5 % (minus is worse), not judged" in said
    assert "failed: retransmits, after: 31 times as many as before" in said


def test_everything_else_is_said_too() -> None:
    said = Page(written("html", two_arms())).said()
    assert "3 of 63 runs do not count" in said
    assert "2 runs of after: target steal 3.1 % of the run, above 2 %" in said
    assert "two bands in after: 7.67 and 7.90 Gb/s" in said
    assert "(better)" in said
    assert "qdisc unknown: tc is not installed (package iproute2)" in said
    assert "seed 1234" in said
    assert "Where it drops" in Page(written("html", side_by_side())).said()
    assert "virtio, 2 vCPU 46,000 / 49,000" in Page(written("html", switch_dns("2"))).said()


def test_one_arm_has_no_decision_and_no_effect() -> None:
    said = Page(written("html", one_arm())).said()
    assert " effect " not in said
    assert "What was measured" in said


def test_tables_are_tables_with_heads_and_charts_have_words() -> None:
    page = Page(written("html", two_arms()))
    assert len(page.all("table")) == len(page.all("caption")) == 2
    assert {head.get("scope") for head in page.all("th")} == {"col", "row", "rowgroup"}
    assert all(chart.get("role") == "img" for chart in page.all("svg"))
    assert len(page.all("svg")) == len(page.all("desc")) == 4


def test_the_verdict_comes_first() -> None:
    page = Page(written("html", applied()))
    inside = [tag for tag, _ in page.seen]
    assert inside[inside.index("body") :][:4] == ["body", "main", "section", "h1"]
    assert page.all("section")[0]["class"] == "verdict good"
    assert (
        "KEPT web01: rtl8139 → virtio, 26 min 30 s, 28 runs, none repeated better, beyond"
        in page.said()
    )
    assert "TCP to the guest 132 Mb/s 7.82 Gb/s 59x (58x to 60x) better" in page.said()
    assert "per vCPU (of 2) 9.01k q/s 22.9k q/s" in page.said()


def test_it_is_dark_where_the_system_is_charts_too() -> None:
    text = written("html", two_arms())
    assert '<meta name="color-scheme" content="light dark">' in text
    assert "@media (prefers-color-scheme: dark)" in text
    for chart in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert "var(--rule)" in chart
    assert "figure svg text { fill: currentColor; }" in text
    used = set(re.findall(r"var\((--\w+)\)", text))
    assert used
    assert used <= set(re.findall(r"(--\w+):", text))


def test_a_narrow_page_has_a_list_for_each_row_with_the_effect_first() -> None:
    text = written("html", two_arms())
    page = Page(text)
    narrow = text.partition("@media (max-width: 40rem)")[2]
    assert ".stack td[data-head=effect] { order: -1; }" in narrow
    (_table,) = (each for each in page.all("table") if each.get("class") == "stack")
    heads = {each["data-head"] for each in page.all("td") if "data-head" in each}
    assert {"before", "after", "effect"} <= heads


def test_nothing_on_it_is_run() -> None:
    page = Page(written("html", hostile()))
    assert not [name for _, attributes in page.seen for name in attributes if name.startswith("on")]
    (policy,) = (
        each["content"] for each in page.all("meta")
        if each.get("http-equiv") == "Content-Security-Policy"
    )  # fmt: skip
    assert "unsafe" not in str(policy)
    assert "script-src" not in str(policy)
    assert not [tag for tag, attributes in page.seen if "style" in attributes]


def test_no_markup_comes_out_of_names() -> None:
    text = written("html", hostile())
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "$title" not in text
    assert not re.search("[\x00-\x08\x1b\u202e]", text)


def test_a_name_cannot_be_a_placeholder_of_the_template() -> None:
    assert "$body" in written("html", hostile("$body ${title} $$"))
