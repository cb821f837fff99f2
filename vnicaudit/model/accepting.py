"""Comments of a file that accept findings, as the file's descriptions carry them."""

from __future__ import annotations

import msgspec


class AcceptingComment(msgspec.Struct, frozen=True):
    """A comment on a ``line`` of a ``file``. It accepts findings on the lines ``first`` to ``last``
    (0: a finding without a line); ``entry`` holds its rule, reason and settings.

    All descriptions of a file carry all of its comments. ``reporter``: this is the first
    description, with which mistakes in the comments are reported; ``settles``: the last one, after
    which it is known whether a comment is needed.
    """

    file: str
    line: int
    first: int
    last: int
    entry: tuple[tuple[str, str], ...]
    reporter: bool = True
    settles: bool = True
