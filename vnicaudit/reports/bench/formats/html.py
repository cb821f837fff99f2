"""One HTML page: the verdict, tables, charts, and how it was measured.

It is self-contained: no script, no font, no external address. It follows the system's dark mode,
and on a narrow page each row of its main table becomes a list. Colours and policy are shared by all
pages (:mod:`vnicaudit.reports.coverage`); its style is in ``templates/bench/``.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.dots import charts
from vnicaudit.reports.bench.rows import rows
from vnicaudit.reports.bench.sections import ReportSection, sections
from vnicaudit.reports.coverage import head, stylesheet
from vnicaudit.reports.safe import safe
from vnicaudit.reports.table.html import table_text, text
from vnicaudit.reports.writers import Options

FORMAT = "html"
SUMMARY = "one HTML page with charts, that needs no other file"


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The page, with everything that is known. Options have no effect."""
    title = safe(f"vnicaudit bench: {result.run.profile}, {result.run.id}")
    yield f"{head(title, stylesheet('bench/report.css'))}<body>\n<main>\n"
    drawn = False
    for number, section in enumerate(sections(result, replace(options, verbose=True, quiet=False))):
        if section.aside and not drawn:
            drawn = True
            for chart in charts(result, list(rows(result))):
                yield f"<figure>{chart}</figure>\n"
        yield from _section(section, "h2" if number else "h1")
    yield f"</main>\n<footer>{text(f'{result.run.tool} {result.run.version}')}</footer>"
    yield "\n</body>\n</html>\n"


def _section(section: ReportSection, heading: str) -> Iterator[str]:
    title, about = text(section.title), text(", ".join(section.about))
    style = f"verdict {section.style}" if section.verdict else "part"
    yield f'<section class="{style}">\n<{heading}><span class="{section.style}">{title}</span> '
    yield f"{about}</{heading}>\n"
    yield f"<p>{text(section.lead)}</p>\n" if section.lead else ""
    for table in section.tables:
        yield from table_text(table)
    if section.items:
        yield "<ul>" + "".join(f"<li>{text(item)}</li>" for item in section.items) + "</ul>\n"
    if section.pairs:
        pairs = (f"<dt>{text(name)}</dt><dd>{text(value)}</dd>\n" for name, value in section.pairs)
        yield f"<dl>\n{''.join(pairs)}</dl>\n"
    yield "</section>\n"
