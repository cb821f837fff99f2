"""Unified diffs: what ``patch`` makes of them, and what a terminal is spared."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.shares import examples
from vnicaudit.reports.safe import Paint
from vnicaudit.reports.unified_diff import diff_lines

_PLAIN = Paint(color=False)


def _diff(before: str, after: str) -> str:
    return "".join(diff_lines(before, after, "x", _PLAIN))


def test_two_places_of_a_file() -> None:
    lines = [f"mtu: {number}\n" for number in range(1, 21)]
    other = [*lines[:2], "mtu: 2.5\n", *lines[2:14], *lines[15:]]
    assert _diff("".join(lines), "".join(other)) == (
        "--- x\n+++ x\n@@ -1,5 +1,6 @@\n mtu: 1\n mtu: 2\n+mtu: 2.5\n mtu: 3\n mtu: 4\n mtu: 5\n"
        "@@ -12,7 +13,6 @@\n mtu: 12\n mtu: 13\n mtu: 14\n-mtu: 15\n mtu: 16\n mtu: 17\n mtu: 18\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (
            "id: a",
            "id: b",
            "@@ -1 +1 @@\n-id: a\n\\ No newline at end of file\n"
            "+id: b\n\\ No newline at end of file\n",
        ),
        ("id: a\r\n", "id: b\r\n", "@@ -1 +1 @@\n-id: a\r\n+id: b\r\n"),
        ("\tid: b\n", "", "@@ -1 +0,0 @@\n-\tid: b\n"),
        ("id: a\rid: b\n", "id: c\n", "@@ -1 +1 @@\n-id: a\\rid: b\n+id: c\n"),
    ],
)
def test_lines(before: str, after: str, shown: str) -> None:
    assert _diff(before, after) == f"--- x\n+++ x\n{shown}"


def test_lines_around_a_change_end_where_something_is_not_known_to_be_harmless() -> None:
    before = "id: 1\nx: y\nid: 2\nid: 3\nid: 4\nz\nid: 5\n"
    after = before.replace("3", "33").replace("5", "55")
    assert _diff(before, after) == (
        "--- x\n+++ x\n@@ -3,3 +3,3 @@\n id: 2\n-id: 3\n+id: 33\n id: 4\n"
        "@@ -7 +7 @@\n-id: 5\n+id: 55\n"
    )


def test_equal_texts() -> None:
    assert _diff("a\n", "a\n") == ""


def test_a_name_is_harmless() -> None:
    assert "".join(diff_lines("id: a", "", "\x1b[2J", _PLAIN)).startswith("--- \\x1b[2J\n")


def test_colour() -> None:
    shown = "".join(diff_lines("id: a\n", "id: b\n", "x", Paint(color=True)))
    assert "\x1b[31m-id: a\x1b[0m\n\x1b[32m+id: b\x1b[0m\n" in shown


_TEXTS = st.lists(
    st.sampled_from(["id: a\n", "id: b\n", "id: c\n", "\n", "id: d\r\n"]), max_size=30
).map("".join)


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
