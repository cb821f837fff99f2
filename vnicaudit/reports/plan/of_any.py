"""Makes text about one guest independent of the guest."""

from __future__ import annotations

from vnicaudit.model.plan import Step
from vnicaudit.model.refs import mac_of

_LONG = 8
"""Minimum length of an id: a shorter one may be part of another word."""


def without_heads(diff: str) -> str:
    """A diff without the lines that name the file."""
    lines = diff.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("--- ", "+++ ")))


def of_any(text: str, step: Step) -> str:
    """Part of a definition or guest configuration, with the guest's UUID and MAC address replaced
    by words."""
    for value, word in ((step.about.id, "UUID"), (mac_of(step.about), "MAC")):
        if value and len(value) >= _LONG:
            text = text.replace(value, word)
    return text
