"""Comments on merge requests."""

import re

import pytest
from markdown_it import MarkdownIt

from tests.reports.bench.golden import expected, written
from tests.reports.bench.samples import (
    hostile,
    one_arm,
    side_by_side,
    single_flip,
    switch_dns,
    two_arms,
)
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.writers import Options


@pytest.mark.parametrize(
    ("name", "result"), [("two-arms.md", two_arms()), ("side-by-side.md", side_by_side())]
)
def test_the_whole_comment(name: str, result: BenchResult) -> None:
    assert written("markdown", result) == expected(name)


def html(result: BenchResult) -> str:
    """As it is shown. GitHub lets little HTML through; here none of the target's may come out."""
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    return str(reader.render(written("markdown", result)))


def test_the_decision_comes_first() -> None:
    text = written("markdown", single_flip())
    assert text.startswith(
        "## vnicaudit bench\n\n"
        "**WORSE** web-01: after against before, 26 min 30 s, 10 runs, none repeated\n\n"
    )
    assert "harm that needs no statistics; roll the change back\n" in text
    assert "* guard rail retransmits is broken\n" in text
    assert "* failed: retransmits, after: 31 times as many as before\n" in text


def test_every_row_has_a_cell_for_every_column() -> None:
    for result in (two_arms(), side_by_side(), one_arm(), switch_dns("2"), hostile()):
        for rows in re.findall(r"<table>.*?</table>", html(result), re.DOTALL):
            cells = [len(re.findall(r"<t[hd][ >]", row)) for row in rows.split("</tr>")[:-1]]
            assert len(set(cells)) == 1


def test_dimensions_are_a_table() -> None:
    text = written("markdown", switch_dns("2"))
    assert "|  | as found | querylog | querylog+dsc |\n" in text
    assert "| virtio, 2 vCPU | 46,000 / 49,000 | 28,600 / 29,600 | 19,600 / 19,600 |\n" in text


def test_no_markup_comes_out_of_names() -> None:
    shown = html(hostile())
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown


def test_quiet_leaves_out_how_it_was_measured() -> None:
    text = written("markdown", two_arms(), Options(quiet=True))
    assert "seed" not in text
    assert "do not count" not in text
    assert "| improved |" not in text
    assert "**better**" in text
