"""Comments of a file that accept findings, as its descriptions carry them."""

from __future__ import annotations

import msgspec

MAX_COMMENTS = 256
"""More comments about one description are not read; it carries one more, which tells that there
are."""


class AcceptingComment(msgspec.Struct, frozen=True):
    """A comment on a ``line`` of a ``file``. It accepts findings on the lines ``first`` to
    ``last`` (0: a finding without a line); ``entry`` is what it says: rule, reason, settings.

    ``reporter``: what is wrong with it is said where this description is judged; ``sole``: the file
    describes nothing else, so that it is known whether the comment is needed.
    """

    file: str
    line: int
    first: int
    last: int
    entry: tuple[tuple[str, str], ...]
    reporter: bool = True
    sole: bool = True
