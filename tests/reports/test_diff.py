"""Unified diffs: what ``patch`` makes of them, and what a terminal is spared."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.shares import examples
from vnicaudit.reports.safe import Paint
from vnicaudit.reports.wording import diff_lines

_PLAIN = Paint(color=False)


def _diff(before: str, after: str) -> str:
    return "".join(diff_lines(before, after, "x", _PLAIN))


def test_two_places_of_a_file() -> None:
    lines = [f"{number}\n" for number in range(1, 21)]
    other = [*lines[:2], "two and a half\n", *lines[2:14], *lines[15:]]
    assert _diff("".join(lines), "".join(other)) == (
        "--- x\n+++ x\n@@ -1,5 +1,6 @@\n 1\n 2\n+two and a half\n 3\n 4\n 5\n"
        "@@ -12,7 +13,6 @@\n 12\n 13\n 14\n-15\n 16\n 17\n 18\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (
            "a",
            "b",
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
        ),
        ("a\r\n", "b\r\n", "@@ -1 +1 @@\n-a\r\n+b\r\n"),
        ("\tb\n", "", "@@ -1 +0,0 @@\n-\tb\n"),
        ("", "a\x1b[31m\u202e\udcff\x85\n", "@@ -0,0 +1 @@\n+a\\x1b[31m\\u202e\\xff\\x85\n"),
        ("a\rb\n", "c\n", "@@ -1 +1 @@\n-a\\rb\n+c\n"),
    ],
)
def test_lines(before: str, after: str, shown: str) -> None:
    assert _diff(before, after) == f"--- x\n+++ x\n{shown}"


def test_equal_texts() -> None:
    assert _diff("a\n", "a\n") == ""


def test_a_name_is_harmless() -> None:
    assert "".join(diff_lines("a", "", "\x1b[2J", _PLAIN)).startswith("--- \\x1b[2J\n")


def test_colour() -> None:
    shown = "".join(diff_lines("a\n", "b\n", "x", Paint(color=True)))
    assert "\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n" in shown


_TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "d\r\n"]), max_size=30).map("".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(_TEXTS, _TEXTS, st.booleans())
def test_patch_makes_the_one_of_the_other(
    tmp_path: Path, before: str, after: str, cut: bool
) -> None:
    after = after.rstrip("\r\n") if cut else after
    path = tmp_path / "x"
    path.write_bytes(before.encode())
    diff = _diff(before, after)
    subprocess.run(
        ["patch", "--quiet", "--binary", str(path)], input=diff.encode(), check=bool(diff)
    )
    assert (path.read_bytes() if path.exists() else b"") == after.encode()


def test_a_long_file_takes_no_long_time() -> None:
    """Ten thousand places; each is looked for near the one before."""
    before = "".join(f"<a>\n<model type='e1000'/>\n{number}\n</a>\n" for number in range(10_000))
    after = before.replace("e1000", "virtio")
    assert _diff(before, after).count("\n+") == 10_001
