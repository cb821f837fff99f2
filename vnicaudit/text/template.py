"""Tell whether a configuration is a template (Jinja, ERB, Go, Terraform), and the lines of one
without its syntax, which :mod:`vnicaudit.text.template_walk` removes."""

from __future__ import annotations

import msgspec

from vnicaudit.text.tags import is_opened

OPENERS = ("{{", "{%", "{#", "<%", "%{")
"""Every tag begins with one of these."""


class TemplateLine(msgspec.Struct, frozen=True):
    """Remainder of one line after its tags are removed. ``section_lost``: from here on the section
    is unknown, because a section may have begun inside a block. ``adrift``: something unknown was
    inserted since the last plain section header, and may have begun another section."""

    text: str
    certain: bool
    section_lost: bool
    adrift: bool = False


def is_template(text: str) -> bool:
    """True for a text with any template syntax in it."""
    if not any(opener in text for opener in OPENERS):
        return False

    return is_opened(text, erb=True)
