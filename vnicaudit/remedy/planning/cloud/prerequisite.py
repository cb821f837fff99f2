"""One thing that has to be so before a port is moved."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Prerequisite(NamedTuple):
    """One thing that has to be so. ``text`` of one that is ``unknown`` says what would tell."""

    verdict: Literal["ok", "missing", "unknown"]
    text: str
