"""The contract of a report writer: an audit is a stream, and so is its report.

A format is a module in this folder that has ``FORMAT`` (its name on the command line),
``SUMMARY`` (one line for ``--help``) and ``writer(options)``. A file in the folder is registered.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from vnicaudit.model.report import Audited, RunEnd, RunInfo


class Options(msgspec.Struct, frozen=True):
    """How to say it. ``width`` in columns; ``color`` False: no escape sequence at all."""

    width: int = 80
    color: bool = False
    verbose: bool = False
    quiet: bool = False


class Writer(Protocol):
    """Turns the events of one audit into text, piece by piece, in bounded memory."""

    def start(self, run: RunInfo) -> str:
        """The beginning; nothing has been audited yet."""

    def add(self, audited: Audited) -> str:
        """What to write for one domain or host; may be empty."""

    def finish(self, end: RunEnd) -> str:
        """The end, with totals and the fate of each target."""
