"""One line per finding."""

from msgspec.structs import replace

from tests.reports.golden import golden
from tests.reports.samples import CLEAN, OK_END, WEB_01, written
from vnicaudit.reports.writers import Options

WHOLE = golden("audit.concise.whole.txt")


def test_a_line_each_whatever_the_width() -> None:
    assert written("concise") == WHOLE
    assert written("concise", Options(width=40)) == WHOLE


def test_quiet_leaves_the_total_away() -> None:
    assert written("concise", Options(quiet=True)) == WHOLE[: WHOLE.index("1 of 2 NICs")]


def test_a_clean_run_is_one_line() -> None:
    text = written("concise", stream=[CLEAN], end=OK_END)
    assert text == "No problems in 1 guest, 1 NIC\n"


def test_at_most_so_many_and_these_are_the_worst() -> None:
    text = written("concise", Options(most=2))
    lines = WHOLE.splitlines()
    shown = [line for line in lines[:4] if line in text.splitlines()]
    assert shown == [lines[0], lines[3]], "high ones, whatever was read before"
    assert "\n… 2 more problems (--max)\n" in text


def test_a_hostile_text_stays_on_its_line() -> None:
    (one, *_others) = WEB_01.findings
    hostile = replace(one, message="a\nb\x1b[2J")
    text = written("concise", stream=[replace(WEB_01, findings=(hostile,))])
    assert all(line.isprintable() for line in text.split("\n"))
    assert "a\\nb\\x1b[2J" in text
