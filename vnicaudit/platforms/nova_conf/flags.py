"""Files of flags (``--name=value``), from the time before oslo.config.

Nova read them as its configuration up to Essex; the flag file was taken out for Folsom (2012.2,
commit 7e3e9b8e9c "default_flagfile has been removed"). oslo.config refuses one: no section begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vnicaudit.model.nova import NovaOption
from vnicaudit.text.placeholders import whole

_FLAG = r"--([a-z][a-z0-9_-]*)(?:\s*=\s*|\s+|$)(.*)"


def is_flags(text: str) -> bool:
    """Whether the first thing in it, but for comments, is a flag."""
    for line in text.split("\n"):
        line = line.strip()
        if line and not line.startswith(("#", "{%", "{#")):
            return line.startswith("--")
    return False


def flags_of(text: str, file: str) -> Iterator[NovaOption]:
    """Each flag as the option of [DEFAULT] that it was; lines that are none are passed over."""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.fullmatch(_FLAG, line.strip())
        if match is None:
            continue
        column = line.index("--") + 1
        value = match.group(2)
        place = line.rindex(value) + 1 if value else None
        name = match.group(1).replace("-", "_")
        certain = not whole(value)
        yield NovaOption("DEFAULT", name, value, file, number, certain, column, place)
