"""Where a fact stands."""

from __future__ import annotations

import msgspec


class Location(msgspec.Struct, frozen=True):
    """A place in a target.

    ``target`` is what the user named; ``file`` the file inside it (None for a live API);
    ``line`` is 1-based; ``xpath`` points into the XML document, and into its place among several
    (``/domain[2]/devices/interface[1]``) when a file holds more than one.
    """

    target: str
    file: str | None = None
    line: int | None = None
    xpath: str | None = None

    def __str__(self) -> str:
        place = self.file or self.target
        return place if self.line is None else f"{place}:{self.line}"
