"""The place of a fact in a target."""

from __future__ import annotations

import msgspec


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
