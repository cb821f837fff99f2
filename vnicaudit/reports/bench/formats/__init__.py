"""The formats of a measurement: each module in this folder is one.

A format has ``FORMAT`` (its name on the command line, and the name of its module), ``SUMMARY`` (one
line for ``--help``) and ``render(result, options)``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from vnicaudit.base.registry import Registry
from vnicaudit.reports.writers import Options

if TYPE_CHECKING:
    from vnicaudit.model.measurement import BenchResult


class BenchFormat(Protocol):
    """The attributes of a module in this folder."""

    FORMAT: str
    SUMMARY: str

    def render(self, result: BenchResult, options: Options) -> Iterator[str]:
        """The report in pieces, all of which can be encoded as UTF-8."""


if TYPE_CHECKING:
    from vnicaudit.reports.bench.formats import csv, html, json, markdown, prometheus, text

    _CHECKED: tuple[BenchFormat, ...] = (csv, html, json, markdown, prometheus, text)

_FORMATS: Registry[BenchFormat] = Registry("format", sys.modules[__name__], BenchFormat)
formats, load = _FORMATS.names, _FORMATS.load
