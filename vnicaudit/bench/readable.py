"""What came back from an endpoint, where it is nothing that its parser was made for.

Parsers take numbers of the sizes that there are and raise MeasureError for the rest. Guests and
tools may print anything, though, and what one of them finds next is to cost a measurement, and
neither the program nor a guest that is in the middle of a change.
"""

from __future__ import annotations

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


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Raises MeasureError where what is done inside stumbles over what it was given. ``what``: the
    beginning of a sentence."""
    try:
        yield
    except _ODD as error:
        why = f"{type(error).__name__}: {error}"[:_LONGEST]
        raise MeasureError(f"{what} cannot be read ({why})") from error
