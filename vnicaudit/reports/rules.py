"""The catalogue of rules, and one rule's manual page."""

from __future__ import annotations

import io
from collections.abc import Sequence

from vnicaudit.model.report import RULES_SCHEMA, RuleInfo
from vnicaudit.reports.encode import encode_items
from vnicaudit.reports.facts_text import beside
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.writer import Options

_READABLE = 100
"""Running text is not set wider than this."""


def catalogue_json(rules: Sequence[RuleInfo]) -> str:
    """``vnicaudit.rules/1``, one rule per line; no line break at the end."""
    return f'{{"schema":"{RULES_SCHEMA}",\n"rules":[\n{encode_items(rules)}]}}'


def catalogue_text(rules: Sequence[RuleInfo], options: Options) -> str:
    """One entry per rule: id, severity, name and summary; no line break at the end."""
    paint = Paint(color=options.color)
    names = max((len(rule.name) for rule in rules), default=0)
    ids = max((len(rule.id) for rule in rules), default=0)
    lines = []
    for rule in rules:
        left = f"{rule.id:{ids}}  {rule.severity:6}  {rule.name:{names}}  "
        text = beside(left, rule.summary, options.width, "    ")
        text = text.replace(rule.severity, paint(rule.severity, rule.severity), 1)
        lines.append(text.replace(rule.id, paint("name", rule.id), 1))
    return "".join(lines).removesuffix("\n")


def manual_text(rule: RuleInfo, options: Options) -> str:
    """A rule's manual page: rendered for a terminal with colour, else the Markdown as it is; no
    line break at the end."""
    page = f"# {rule.id} {rule.name}\n\nSeverity: {rule.severity}. {rule.manual}"
    return _rendered(page, options.width).rstrip() if options.color else page


def _rendered(page: str, width: int) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    text = io.StringIO()
    console = Console(
        file=text, width=min(width, _READABLE), force_terminal=True, color_system="standard"
    )
    console.print(Markdown(page, code_theme="ansi_dark"))
    return text.getvalue()
