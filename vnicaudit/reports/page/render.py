"""The page, in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from string import Template

import msgspec

from vnicaudit.reports.html_document import head, stylesheet, template
from vnicaudit.reports.page.answer import AnswerCounts
from vnicaudit.reports.page.columns import packed
from vnicaudit.reports.page.coverage import sample_of
from vnicaudit.reports.page.data import PageAbout, PageData, PageEnd, PageSettled, PageSubject
from vnicaudit.reports.page.summary import body_parts
from vnicaudit.reports.page.tables import PageTables
from vnicaudit.reports.safe import safe

_SCRIPTS = (
    "columns.js", "tables.js", "groups.js", "filter.js", "views.js", "grid.js",
    "details.js", "export.js", "main.js",
)  # fmt: skip
_STYLES = ("page/page.css", "page/table.css")


class HostFact(msgspec.Struct, frozen=True):
    """Facts about a host for the script."""

    name: str
    site: str
    status: str
    stale: str
    error: str


class RuleFact(msgspec.Struct, frozen=True):
    """Facts about a rule for the script."""

    name: str
    summary: str


class PageFacts(msgspec.Struct, frozen=True):
    """Facts for the script in addition to the tables. All text is safe to show."""

    started: str
    host_word: str
    sample: str
    """Empty: everything was to be audited."""
    hosts: tuple[HostFact, ...]
    rules: dict[str, RuleFact]


class HtmlPage:
    """A page that grows: subjects first, then :meth:`finish`."""

    def __init__(self) -> None:
        self._tables = PageTables()
        self._answer = AnswerCounts()

    def add(self, subject: PageSubject) -> None:
        """Add an audited subject."""
        self._tables.add(subject)
        self._answer.add(subject)

    def add_settled(self, one: PageSettled) -> None:
        """Add a finding that is not open: fixed, gone, or accepted."""
        self._tables.add_settled(one)

    def finish(self, about: PageAbout, end: PageEnd) -> Iterator[str]:
        """The whole page, in pieces; called once. The answer comes before the data, so that a
        browser shows it while loading the rest."""
        script = page_script()
        yield head(safe(about.title), stylesheet(*_STYLES), script)
        parts = body_parts(about, end, self._answer, self._tables.settled.count)
        yield Template(template("page/body.html")).substitute(parts)
        yield '<script type="application/octet-stream" id="data">\n'
        yield from packed(self._tables.columns(), _facts(about, end))
        yield f"</script>\n<script>{script}</script>\n</body>\n</html>\n"


def render_page(data: PageData) -> Iterator[str]:
    """The page of this data, from an audit or from a fleet's history."""
    page = HtmlPage()
    for subject in data.subjects:
        page.add(subject)
    for one in data.settled:
        page.add_settled(one)
    yield from page.finish(data.about, data.end)


@cache
def page_script() -> str:
    """The script: one function around all its files."""
    parts = "\n".join(template(f"page/{name}") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();'


def _facts(about: PageAbout, end: PageEnd) -> PageFacts:
    hosts = (
        HostFact(safe(one.name), safe(one.site), one.status, one.stale_since, safe(one.error))
        for one in end.hosts
    )
    rules = {safe(one.id): RuleFact(safe(one.name), safe(one.summary)) for one in end.rules}
    return PageFacts(
        about.started, about.host_word.capitalize(), safe(sample_of(about)), tuple(hosts), rules
    )
