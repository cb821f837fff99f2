"""A measurement in, text out: a file in this folder is a format, found by being here.

A format has ``FORMAT`` (its name on the command line and its file's), ``SUMMARY`` (one line for
``--help``) and ``render(result, options)``. What they share stands in the folders beside them:
``words/``, ``tables/``, ``document/`` (``vnicaudit.bench/1`` itself) and ``charts/``, whose files
are pictures and no text.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Protocol, cast

from vnicaudit.errors import UsageError
from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.writer import Options


class Format(Protocol):
    """What a module in the folder offers."""

    FORMAT: str
    SUMMARY: str

    def render(self, result: BenchResult, options: Options) -> Iterator[str]:
        """The report in pieces, all of which can be encoded as UTF-8."""


def formats() -> tuple[str, ...]:
    """The names of all formats, ordered. Reads the folder, imports none of them."""
    names = [name for place in __path__ for name in os.listdir(place)]
    return tuple(sorted(n[:-3] for n in names if n.endswith(".py") and not n.startswith("_")))


def load(name: str) -> Format:
    """One format's module. Raises UsageError, with the names there are, for any other."""
    if name not in formats():
        raise UsageError(f"no format {name!r}; there are {', '.join(formats())}")
    return cast(Format, importlib.import_module(f"{__name__}.{name}"))
