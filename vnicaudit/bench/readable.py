"""Guard against output of an endpoint that its parser was not made for.

Parsers accept numbers of realistic sizes and raise MeasureError for others. But guests and tools
may print anything, and the next surprise should cost only a measurement, not the program nor a
guest whose change is in progress.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from vnicaudit.errors import MeasureError

_ODD = (
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    LookupError,
    RecursionError,
    msgspec.MsgspecError,
)
"""Exceptions of Python and its libraries for a text or a number that is not as expected."""
_LONGEST = 200
_USAGE = re.compile(r"usage:|busybox v\d", re.IGNORECASE)
"""The beginning of the usage page that a program prints for an unknown option."""


def one_line(text: str, *, last: bool = False) -> str:
    """The first or last line of the output, short enough for a sentence and without control
    characters; empty for a usage page."""
    lines = []
    for line in text.splitlines():
        plain = "".join(one if one.isprintable() else " " for one in line).strip()
        if _USAGE.match(plain):
            break
        if plain:
            lines.append(plain)
    said = lines[-1 if last else 0] if lines else ""
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Raises MeasureError if the code inside fails on its input. ``what``: the beginning of a
    sentence."""
    try:
        yield
    except _ODD as error:
        why = f"{type(error).__name__}: {error}"[:_LONGEST]
        raise MeasureError(f"{what} cannot be read ({why})") from error
