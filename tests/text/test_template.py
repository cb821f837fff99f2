"""Templates of nova.conf: what is plain is read, what is not is uncertain or passed over."""

import pytest

from tests.regressions.hostile_input.growth import MOST, ratio
from tests.rows import rows
from vnicaudit.platforms.nova_conf.read import parsed_text
from vnicaudit.text import template_walk


@rows
def test_options_of_a_template_are_certain_or_not(text: str, options: list[str]) -> None:
    """Each as ``LINE [SECTION] NAME = VALUE``, with ``?`` where it is uncertain."""
    found = parsed_text(text, "nova.conf.j2", lambda *_: True).options
    assert [
        f"{o.line} [{o.section}] {o.name} = {o.value}{'' if o.certain else ' ?'}" for o in found
    ] == options


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("{%", "%}"),
        ("{{ x ", "}}"),
        ("{% if x %}", "{% endif %}"),
        ("<%", ""),
        ('<% if "\\"', '" %>'),
    ],
)
def test_a_hostile_template_is_looked_through_once(opening: str, closing: str) -> None:
    small, large = (opening * count + closing * count for count in (2_000, 16_000))
    assert ratio(template_walk.plain, small, large, tries=2) <= MOST
