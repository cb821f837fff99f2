"""The output formats of an audit: each module in this folder is one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from vnicaudit.base.registry import Registry
from vnicaudit.reports.writers import Format, Options, ReportWriter

if TYPE_CHECKING:
    from vnicaudit.reports.formats import (
        concise,
        csv,
        github,
        gitlab,
        html,
        json,
        junit,
        markdown,
        openmetrics,
        prometheus,
        sarif,
        text,
    )

    _CHECKED: tuple[Format, ...] = (
        concise, csv, github, gitlab, html, json, junit, markdown, openmetrics, prometheus, sarif,
        text,
    )  # fmt: skip

_FORMATS: Registry[Format] = Registry("format", sys.modules[__name__], Format)
formats, load = _FORMATS.names, _FORMATS.load


def writer(name: str, options: Options) -> ReportWriter:
    """A new writer for that format. Raises UsageError if the format does not exist."""
    return load(name).writer(options)
