"""nova.conf is read line by line as Nova's own parser reads it."""

from hypothesis import given
from hypothesis import strategies as st
from oslo_config.iniparser import BaseParser, ParseError

from tests.rows import rows
from vnicaudit.platforms.nova_conf.read import IniError, statements

Outcome = tuple[list[object], tuple[str, int] | None]
"""Statements, and the message and line of the error that ended them."""


class _Oslo(BaseParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def assignment(self, key: str, value: list[str]) -> None:
        self.found.append((key, value))

    def new_section(self, section: str) -> None:
        self.found.append(section)


def _by_oslo(lines: list[str]) -> Outcome:
    parser = _Oslo()
    try:
        parser.parse(lines)
    except ParseError as error:
        return parser.found, (error.msg, error.lineno)
    return parser.found, None


def _by_us(lines: list[str]) -> Outcome:
    found: list[object] = []
    try:
        for _number, name, value in statements(lines):
            found.append(name if value is None else (name, value))
    except IniError as error:
        return found, (error.message, error.number)
    return found, None


@rows
def test_each_case_is_that_of_oslo_config(text: str) -> None:
    assert _by_us(text.split("\n")) == _by_oslo(text.split("\n"))


@given(st.lists(st.text(st.sampled_from("[]=:#; \t'\"ab\x0b\xa0\\"), max_size=8), max_size=12))
def test_any_lines_are_those_of_oslo_config(lines: list[str]) -> None:
    assert _by_us(lines) == _by_oslo(lines)
