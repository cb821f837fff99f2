"""Which lines a comment that accepts findings is about."""

from __future__ import annotations

import pytest

from vnicaudit.text import yaml_compose
from vnicaudit.text.comments import LAST, Form, accepting_comments
from vnicaudit.text.yaml_comments import yaml_comments

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
...
# vnicaudit: suppress V6 r
e: 1
"""
_TEXTS = """\
a: |  # vnicaudit: suppress V1 r
  # vnicaudit: suppress NOT r
  text
 # vnicaudit: suppress V2 r
b: "in
  # vnicaudit: suppress NOT r
  two lines # vnicaudit: suppress NOT r"  # vnicaudit: suppress V3 r
c: 'it''s # vnicaudit: suppress NOT r'
d:
  ; vnicaudit: suppress NOT r
e: [{f: >-

    text # vnicaudit: suppress NOT r
g: 1 # vnicaudit: suppress NOT r
"""


@pytest.mark.parametrize(
    ("text", "form", "lines"),
    [
        (_INI, "ini", {
            "VNIC080": (2, 0, LAST), "VNIC033": (5, 8, 8), "VNIC002": (9, LAST + 1, LAST + 1),
        }),
        (_YAML, "yaml", {
            "V1": (1, 0, 6), "V2": (3, 0, 6), "V3": (5, 6, 6), "V4": (6, 6, 6),
            "V5": (10, 9, 11), "V6": (13, 12, LAST),
        }),
        ("a: 1\n", "yaml", {}),
        ("", "ini", {}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines(text: str, form: Form, lines: dict[str, tuple[int, int, int]], end: str) -> None:
    found = accepting_comments(text.replace("\n", end), form)
    assert {dict(one.entry)["rule"]: one[:3] for one in found} == lines


@pytest.mark.parametrize("by_c", [True, False])
def test_what_stands_in_a_text_is_no_comment(by_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not by_c:
        monkeypatch.setattr(yaml_compose, "_c_parser", lambda: None)
    broken = _TEXTS.index("e: [")
    for text in (_TEXTS[:broken], _TEXTS[:broken] + "---\n" + _TEXTS[broken:]):
        found = yaml_comments(text.encode(), "f")
        assert {dict(one.entry)["rule"]: one[:3] for one in found} == {
            "V1": (1, 1, 1), "V2": (4, 5, 5), "V3": (7, 7, 7),
        }  # fmt: skip
    assert yaml_comments(_TEXTS.encode(), "f") == ()
    assert yaml_comments(_TEXTS.encode("utf-16"), "f") == ()


def test_words() -> None:
    every = accepting_comments(_INI, "ini") + accepting_comments(_YAML, "yaml")
    found = [dict(one.entry) for one in every]
    assert {"rule": "VNIC080", "reason": "whole", "until": "2027-01-31"} in found
    assert {"rule": "VNIC033", "reason": "one", "owner": "me", "until": "x"} in found
    assert {"rule": "V3", "reason": ""} in found
    assert {"rule": "V4", "reason": "x; y"} in found


def test_no_more_than_anybody_writes() -> None:
    assert len(accepting_comments("a: 1 # vnicaudit: suppress V1 r\n" * 5000, "yaml")) == 1000
