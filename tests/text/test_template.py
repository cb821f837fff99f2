"""Templates of nova.conf: what is plain is read, what is not is uncertain or passed over."""

import re
from typing import Any

import pytest

from vnicaudit.platforms.nova_conf.read import parsed_text
from vnicaudit.text import template_walk

_OPEN = template_walk._OPEN_OR_ERB


def options(text: str) -> list[tuple[str, str, str, int, bool]]:
    """Section, name, value, line and certainty of each option in a text."""
    found = parsed_text(text, "nova.conf.j2", lambda *_: True).options
    return [(o.section, o.name, o.value, o.line, o.certain) for o in found]


def test_what_a_condition_surrounds_is_uncertain() -> None:
    text = (
        "[DEFAULT]\n"
        "a = 1\n"
        "{% if arch == 'aarch64' -%}\n"
        "b = 2\n"
        "{% else -%}\n"
        "c = 3\n"
        "{% endif -%}\n"
        "d = 4\n"
    )
    assert options(text) == [
        ("DEFAULT", "a", "1", 2, True),
        ("DEFAULT", "b", "2", 4, False),
        ("DEFAULT", "c", "3", 6, False),
        ("DEFAULT", "d", "4", 8, True),
    ]


def test_a_condition_on_the_line_itself() -> None:
    text = "[DEFAULT]\na = {% if x %}1{% else %}2{% endif %}\n{% if x %}b = 1{% endif %}\nc = 3\n"
    assert [(found[1], found[4]) for found in options(text)] == [
        ("a", False),
        ("b", False),
        ("c", True),
    ]


def test_an_expression_as_value_is_uncertain_and_the_rest_is_not() -> None:
    assert [(found[1], found[4]) for found in options("[DEFAULT]\na = {{ x }}\nb = 1\n")] == [
        ("a", False),
        ("b", True),
    ]


def test_a_section_that_begins_in_a_block_leaves_the_section_open_after_it() -> None:
    text = (
        "[DEFAULT]\n"
        "{% if vendordata is defined %}\n"
        "[api]\n"
        "inside = 1\n"
        "{% endif %}\n"
        "after = 1\n"
        "[libvirt]\n"
        "sure = 1\n"
    )
    assert options(text) == [
        ("api", "inside", "1", 4, False),
        ("", "after", "1", 6, False),
        ("libvirt", "sure", "1", 8, True),
    ]


def test_an_include_may_set_anything() -> None:
    assert options("[libvirt]\na = 1\n{% include 'more' %}\n[vnc]\nb = 1\n") == [
        ("libvirt", "a", "1", 2, False),
        ("vnc", "b", "1", 5, False),
    ]


def test_so_may_an_expression_on_a_line_of_its_own() -> None:
    assert options("[libvirt]\na = 1\n{{ extra }}\n") == [("libvirt", "a", "1", 2, False)]


def test_so_may_other_template_languages() -> None:
    assert options("[libvirt]\na = 1\n<% if x %>\nb = 1\n<% end %>\n") == [
        ("libvirt", "a", "1", 2, False),
        ("libvirt", "b", "1", 4, False),
    ]


def test_comments_and_assignments_of_the_template_change_nothing() -> None:
    text = (
        "{# a comment\n   over two lines #}\n"
        "{% set x = 1 %}\n"
        "[DEFAULT]\n"
        "# restarted by {{ trigger }}\n"
        "a = 1\n"
    )
    assert options(text) == [("DEFAULT", "a", "1", 6, True)]


def test_a_tag_over_several_lines_keeps_the_count_of_lines() -> None:
    text = "[DEFAULT]\n{% if a and\n      b %}\nx = 1\n{% endif %}\ny = 2\n"
    assert [(found[1], found[3], found[4]) for found in options(text)] == [
        ("x", 4, False),
        ("y", 6, True),
    ]


def test_lines_that_are_no_configuration_are_passed_over() -> None:
    text = (
        "[DEFAULT]\n{% if x %}\nnot an assignment\n  indented = after nothing\n{% endif %}\na = 1\n"
    )
    assert options(text) == [("DEFAULT", "a", "1", 6, True)]


def test_a_tag_that_never_ends_makes_everything_uncertain() -> None:
    assert options("[DEFAULT]\na = 1\n{% if x\nb = 2\n") == [
        ("DEFAULT", "a", "1", 2, False),
        ("DEFAULT", "b", "2", 4, False),
    ]


class _Counted(str):
    """A text that counts the characters it is asked to look through."""

    __slots__ = ("seen",)

    seen: int

    def find(self, sub: str, *bounds: Any) -> int:
        found = super().find(sub, *bounds)
        self.seen += (len(self) if found < 0 else found) - (bounds[0] if bounds else 0)
        return found


class _Search:
    """The search for openings, counted likewise."""

    def search(self, text: str, position: int = 0) -> re.Match[str] | None:
        match = _OPEN.search(text, position)
        if isinstance(text, _Counted):  # and no piece of it, each of which is looked at once
            text.seen += (len(text) if match is None else match.start()) - position
        return match


def test_a_hostile_template_is_looked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_walk, "_OPEN_OR_ERB", _Search())
    for part in (("{%", "%}"), ("{{ x ", "}}"), ("{% if x %}", "{% endif %}"), ("<%", "")):
        text = _Counted(part[0] * 5_000 + part[1] * 5_000)
        text.seen = 0
        template_walk.plain(text)
        assert text.seen <= 3 * len(text)
