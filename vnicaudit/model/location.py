"""The place of a fact in a target."""

from __future__ import annotations

import msgspec

# Descriptions that are judged beside domains and hosts: objects that decide which NICs a guest
# will get.


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """A configuration of Nova, an image, a flavor or a KubeVirt preference.
    :mod:`vnicaudit.audit.judging.descriptions` defines how each is judged."""

    comments: tuple[AcceptingComment, ...] = ()
    """Comments of its file that accept findings."""

    def first_line(self) -> int | None:
        """The line on which it begins; None: its file describes nothing else."""
        return None


# Comments of a file that accept findings, as the file's descriptions carry them.


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


class Location(msgspec.Struct, frozen=True):
    """A place in a target.

    ``target`` is the name that the user gave; ``file`` the file inside it (None for a live API);
    ``line`` and ``column`` are 1-based, the column in characters; ``xpath`` points into the
    document, with its number among several (``/domain[2]/devices/interface[1]``) if a file holds
    more than one. In YAML it is a JSON pointer (``/spec/template``, RFC 6901), after the 1-based
    number of the document (``[2]/spec/template``) if there are several.
    """

    target: str
    file: str | None = None
    line: int | None = None
    xpath: str | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = (self.file or self.target, self.line, self.column)
        return ":".join(str(part) for part in parts if part is not None)
