"""The difference between two definitions, as it is reviewed."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache

from vnicaudit.remedy.contract import DOMAIN_XML, writer_of
from vnicaudit.text.secrets import masked


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """A unified diff of two definitions as text, whatever their encoding; undecodable bytes as
    escapes, secrets as stars. Empty where they are the same."""
    old, new = _old_lines(before), _lines(after)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, name, name)
    )


@lru_cache(maxsize=1)
def _old_lines(before: bytes) -> tuple[str, ...]:
    """Of the steps of one domain each begins with the same text."""
    return tuple(_lines(before))


def _lines(data: bytes) -> list[str]:
    text = writer_of(DOMAIN_XML).text_of(data)
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    # by line feeds alone
    return [line for line in re.split(r"(?<=\n)", masked(text)) if line]
