"""The output formats of an audit. A format's writer is loaded only when the format is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple

from vnicaudit.base.wording import close_to
from vnicaudit.errors import UsageError
from vnicaudit.reports.writers import Options, ReportWriter


class Format(NamedTuple):
    """A format: its module here and the writer in it, and contents of its reports, which the
    command line need not print beside them. ``names_not_judged``: the parts of files that were not
    judged; ``tells_filtered``: the number of findings left out by a filter. ``needs_rows``: it
    shows every NIC, wrong or not."""

    place: str
    names_not_judged: bool = False
    tells_filtered: bool = False
    needs_rows: bool = False


FORMATS: Mapping[str, Format] = {
    "concise": Format("lines:ConciseWriter", tells_filtered=True),
    "csv": Format("lines:CsvWriter"),
    "github": Format("ci:GithubWriter"),
    "gitlab": Format("ci:GitlabWriter", names_not_judged=True),
    "html": Format("html:HtmlWriter", names_not_judged=True, tells_filtered=True, needs_rows=True),
    "json": Format("lines:JsonWriter", names_not_judged=True, tells_filtered=True),
    "junit": Format("junit:JunitWriter", names_not_judged=True),
    "markdown": Format("markdown:MarkdownWriter", names_not_judged=True, tells_filtered=True),
    "prometheus": Format("lines:AuditMetrics"),
    "sarif": Format("sarif:SarifWriter", names_not_judged=True),
    "text": Format("text:TextWriter", names_not_judged=True, tells_filtered=True),
}


def formats() -> tuple[str, ...]:
    """The names of all formats, ordered."""
    return tuple(FORMATS)


def writer(name: str, options: Options) -> ReportWriter:
    """A new writer for that format. Raises UsageError if the format does not exist."""
    if name not in FORMATS:
        hint = close_to(name, formats()) or f": {', '.join(formats())}"
        raise UsageError(f"no format {name!r}{hint}")
    module, _, writer_name = FORMATS[name].place.partition(":")
    found: type[ReportWriter] = getattr(import_module(f"{__name__}.{module}"), writer_name)
    return found(options)
