"""The output formats of an audit. A format's writer is loaded only when the format is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vnicaudit.base.wording import close_to
from vnicaudit.errors import UsageError
from vnicaudit.reports.writers import Options, ReportWriter


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


def formats() -> tuple[str, ...]:
    """The names of all formats, ordered."""
    return tuple(FORMATS)


def writer(name: str, options: Options) -> ReportWriter:
    """A new writer for that format. Raises UsageError if the format does not exist."""
    if name not in FORMATS:
        hint = close_to(name, formats()) or f": {', '.join(formats())}"
        raise UsageError(f"no format {name!r}{hint}")
    return _writer_class(name)(options)


def _writer_class(name: str) -> type[ReportWriter]:
    """The class of that format."""
    if name == "text":
        from vnicaudit.reports.formats.text import TextWriter

        return TextWriter
    if name == "html":
        from vnicaudit.reports.formats.html import HtmlWriter

        return HtmlWriter
    if name == "junit":
        from vnicaudit.reports.formats.junit import JunitWriter

        return JunitWriter
    if name == "markdown":
        from vnicaudit.reports.formats.markdown import MarkdownWriter

        return MarkdownWriter
    if name == "sarif":
        from vnicaudit.reports.formats.sarif import SarifWriter

        return SarifWriter
    if name in ("github", "gitlab"):
        from vnicaudit.reports.formats import ci

        return ci.WRITERS[name]
    from vnicaudit.reports.formats import lines

    return lines.WRITERS[name]
