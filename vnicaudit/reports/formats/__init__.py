"""The output formats of an audit, each a module of this folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from vnicaudit.base.registry import Registry
from vnicaudit.reports.writers import Options, ReportWriter

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
        prometheus,
        sarif,
        text,
    )

    _CHECKED: tuple[FormatModule, ...] = (
        concise, csv, github, gitlab, html, json, junit, markdown, prometheus, sarif, text,
    )  # fmt: skip


class FormatModule(Protocol):
    """A module of this folder, with the writer of one report."""

    @property
    def WRITER(self) -> type[ReportWriter]:
        """The class of the writer."""


class Format(NamedTuple):
    """Contents of reports in one format, which the command line need not print beside them.
    ``names_not_judged``: the parts of files that were not judged; ``tells_filtered``: the number of
    findings left out by a filter. ``needs_rows``: it shows every NIC, wrong or not."""

    names_not_judged: bool = False
    tells_filtered: bool = False
    needs_rows: bool = False


FORMATS: Mapping[str, Format] = {
    "concise": Format(tells_filtered=True),
    "csv": Format(),
    "github": Format(),
    "gitlab": Format(names_not_judged=True),
    "html": Format(names_not_judged=True, tells_filtered=True, needs_rows=True),
    "json": Format(names_not_judged=True, tells_filtered=True),
    "junit": Format(names_not_judged=True),
    "markdown": Format(names_not_judged=True, tells_filtered=True),
    "prometheus": Format(),
    "sarif": Format(names_not_judged=True),
    "text": Format(names_not_judged=True, tells_filtered=True),
}

_MODULES: Registry[FormatModule] = Registry("format", sys.modules[__name__], FormatModule)
formats = _MODULES.names


def writer(name: str, options: Options) -> ReportWriter:
    """A new writer for that format. Raises UsageError if the format does not exist."""
    return _MODULES.load(name).WRITER(options)
