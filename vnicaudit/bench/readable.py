"""Guard against output of an endpoint that its parser was not made for.

Parsers take numbers of the sizes that there are and raise MeasureError for the rest. Guests and
tools may print anything, though, and what one of them finds next is to cost a measurement, and
neither the program nor a guest that is in the middle of a change.
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
"""What Python and its libraries raise on a text or a number that cannot be what it should."""
_LONGEST = 200
_USAGE = re.compile(r"usage:|busybox v\d", re.IGNORECASE)
"""How the page begins that a program prints where it does not know an option."""


def one_line(text: str, *, last: bool = False) -> str:
    """The first line of what was said, or the last one, short enough for a sentence and without
    control characters; nothing of a usage page."""
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
    """Raises MeasureError where what is done inside stumbles over what it was given. ``what``: the
    beginning of a sentence."""
    try:
        yield
    except _ODD as error:
        why = f"{type(error).__name__}: {error}"[:_LONGEST]
        raise MeasureError(f"{what} cannot be read ({why})") from error
