"""Which lines a comment that accepts findings is about."""

import pytest

from tests.rows import rows, rows_of_tuples
from tests.text.parsers import parser as parser
from vnicaudit.text.comment_walk import LAST, Form, accepting_comments, reason_and_settings
from vnicaudit.text.yaml_nodes import yaml_comments

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


@rows_of_tuples
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines(text: str, form: Form, lines: dict[str, tuple[int, int, int]], end: str) -> None:
    found = accepting_comments(text.replace("\n", end), form)
    assert {dict(one.entry)["rule"]: one[:3] for one in found} == lines


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028", "\u2029"])
@rows
def test_a_comment_beside_another_line_break_accepts_nothing_and_is_told(
    text: str, end: str
) -> None:
    """To some readers of YAML the line ends there, and another begins."""
    (found,) = accepting_comments(text.format(end=end), "yaml")
    assert "another line break" in dict(found.entry)["problem"]


def test_a_comment_above_a_directive_of_yaml_is_at_the_top() -> None:
    (found,) = accepting_comments("# vnicaudit: suppress V1 r\n%YAML 1.2\n---\na: 1\n", "yaml")
    assert found[:3] == (1, 0, LAST)


def test_in_code_a_comment_needs_no_blank_before_it() -> None:
    (found,) = accepting_comments("x = 1\ny = 2# vnicaudit: suppress V1 r\n", "code")
    assert found[:3] == (2, 2, 2)


def test_what_stands_in_a_text_is_no_comment() -> None:
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
    assert len(accepting_comments("a: 1 # vnicaudit: suppress V1 r\n" * 5000, "yaml")) == 1001


def _entries(text: str, form: Form) -> dict[str, tuple[int, int]]:
    return {
        dict(one.entry)["rule"]: (one.first, one.last) for one in accepting_comments(text, form)
    }


def test_an_indented_line_of_an_ini_file_is_part_of_the_value_above() -> None:
    text = "[a]\nb = 1\n  # vnicaudit: suppress V1 r\nc = 2\n# vnicaudit: suppress V2 r\nd = 3\n"
    assert _entries(text, "ini") == {"V2": (6, 6)}


def test_a_comment_at_the_end_of_a_document_is_not_about_the_next_one() -> None:
    text = "a: 1\n# vnicaudit: suppress V1 r\n---\nb: 2\n"
    assert _entries(text, "yaml") == {"V1": (LAST + 1, LAST + 1)}


def test_what_stands_behind_three_dashes_is_of_the_document() -> None:
    text = "--- {a: 1}\n# vnicaudit: suppress V1 r\n---\nb: 2\n"
    assert _entries(text, "yaml") == {"V1": (LAST + 1, LAST + 1)}


def test_five_dashes_begin_no_document() -> None:
    text = "a: 1\n-----\n# vnicaudit: suppress V1 r\nb: 2\n"
    assert _entries(text, "yaml") == {"V1": (4, 4)}


@pytest.mark.parametrize(
    "text",
    ["ok; until=2020-01-31;", "ok; UNTIL = 2020-01-31", "ok ; owner=a; until=2020-01-31 ;;"],
)
def test_a_date_is_read(text: str) -> None:
    found = reason_and_settings(text)
    assert (found["reason"], found["until"]) == ("ok", "2020-01-31")


@rows
def test_a_setting_that_would_be_lost_makes_the_date_invalid(text: str, until: str) -> None:
    assert reason_and_settings(text)["until"] == until
