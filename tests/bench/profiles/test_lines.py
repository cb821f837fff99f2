"""In which line a key stands."""

import pytest

from vnicaudit.bench.profiles.table import TomlLines

TEXT = '''\
# [[workload]]
title = "[[workload]]"
"max-steal" = 3
description = """
[[workload]] # no
engine = 1
"""
sources = ["a",
  "b = 1",
]
margins.goodput = 3

[ states ]
plain = ''
[["workload"]]   # the first
engine = "a"
sizes = [1]
 [[workload]]
	engine='b'
'''


@pytest.mark.parametrize(
    ("table", "nth", "key", "line"),
    [
        ("", 0, "title", 2),
        ("", 0, "max-steal", 3),
        ("", 0, "description", 4),
        ("", 0, "sources", 8),
        ("", 0, "margins", 11),
        ("margins", 0, "goodput", 11),
        ("", 0, "states", 13),
        ("states", 0, "plain", 14),
        ("workload", 0, "engine", 16),
        ("workload", 0, "sizes", 17),
        ("workload", 0, "patterns", 15),
        ("workload", 1, "engine", 19),
        ("workload", 1, "", 18),
        ("workload", 2, "engine", None),
        ("", 0, "looks", None),
    ],
)
def test_a_key_or_its_table(table: str, nth: int, key: str, line: int | None) -> None:
    assert TomlLines(TEXT).of(table, nth, key) == line


def test_an_inline_table_has_the_line_of_its_key() -> None:
    assert (
        TomlLines('title = "t"\nworkload = [{ engine = "a" }]\n').of("workload", 0, "engine") == 2
    )
