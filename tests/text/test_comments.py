"""Which lines a comment that accepts findings is about."""

from __future__ import annotations

from typing import Literal

import pytest

from vnicaudit.text.comments import LAST, accepting_comments

_INI = """\
# licence
# vnicaudit: suppress VNIC080: whole; until=2027-01-31
[DEFAULT]
a = 1
; vnicaudit: suppress VNIC033 one; owner=me; until=x

#more
b = 2  # vnicaudit: suppress VNIC001 part of the value
# vnicaudit: suppress VNIC002 nothing below
"""
_YAML = """\
# vnicaudit: suppress V1 r
---
# vnicaudit: suppress V2 r
a:
 # vnicaudit: suppress V3
 b: 1 # vnicaudit: suppress V4 x; y
---
c: "# vnicaudit"
--- # x
# vnicaudit: suppress V5 r
d: 1
"""


@pytest.mark.parametrize(
    ("text", "form", "lines"),
    [
        (_INI, "ini", {
            "VNIC080": (2, 0, LAST), "VNIC033": (5, 8, 8), "VNIC002": (9, LAST + 1, LAST + 1),
        }),
        (_YAML, "yaml", {
            "V1": (1, 0, 6), "V2": (3, 0, 6), "V3": (5, 6, 6), "V4": (6, 6, 6),
            "V5": (10, 9, LAST),
        }),
        ("a: 1\n", "yaml", {}),
        ("", "ini", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines(
    text: str, form: Literal["ini", "yaml"], lines: dict[str, tuple[int, int, int]], end: str
) -> None:
    found = accepting_comments(text.replace("\n", end), form)
    assert {dict(one.entry)["rule"]: one[:3] for one in found} == lines


def test_words() -> None:
    found = [dict(one.entry) for one in accepting_comments(_INI + _YAML, "yaml")]
    assert {"rule": "VNIC080", "reason": "whole", "until": "2027-01-31"} in found
    assert {"rule": "VNIC033", "reason": "one", "owner": "me", "until": "x"} in found
    assert {"rule": "V3", "reason": ""} in found
    assert {"rule": "V4", "reason": "x; y"} in found


def test_no_more_than_anybody_writes() -> None:
    assert len(accepting_comments("a: 1 # vnicaudit: suppress V1 r\n" * 5000, "yaml")) == 1000
