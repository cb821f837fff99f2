"""GitHub-flavoured Markdown, for comments on merge requests: the verdict, then the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.bench.matrix import all_matrices, matrix_table
from vnicaudit.reports.bench.sections import ReportSection, sections
from vnicaudit.reports.safe import markdown
from vnicaudit.reports.table.markdown import table_text
from vnicaudit.reports.writers import Options

FORMAT = "markdown"
SUMMARY = "tables for comments on merge requests"


def render(result: BenchResult, options: Options) -> Iterator[str]:
    """The comment in pieces. ``quiet`` leaves out how it was measured."""
    yield "## vnicaudit bench\n\n"
    for section in sections(result, options):
        yield from _section(section)


def tables(results: Sequence[BenchResult]) -> Iterator[str]:
    """Several measurements as tables, one for each kind of work, by NIC, vCPUs, server option and
    number of generators."""
    for matrix in all_matrices(results):
        yield from table_text(matrix_table(matrix))


def _section(section: ReportSection) -> Iterator[str]:
    title, about = markdown(section.title), markdown(", ".join(section.about))
    if section.aside:
        yield f"<details><summary>{title}</summary>\n\n"
    else:
        yield f"**{title}** {about}".rstrip() + "\n\n"
    if section.lead:
        yield f"{markdown(section.lead)}\n\n"
    for table in section.tables:
        yield from table_text(table)
    pairs = [f"{label}: {value}" for label, value in section.pairs]
    for item in (*section.items, *pairs):
        yield f"* {markdown(item)}\n"
    yield "\n" if (*section.items, *pairs) else ""
    yield "</details>\n" if section.aside else ""
