"""The catalogue of rules, and one rule's manual page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from vnicaudit.model.names import RULES_SCHEMA, RuleInfo
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.findings import SEVERITY
from vnicaudit.reports.model import Part
from vnicaudit.reports.safe import encode_items
from vnicaudit.reports.writers import Options

_READABLE = 100
"""Maximum width of running text."""


def catalogue_json(rules: Sequence[RuleInfo]) -> str:
    """``vnicaudit.rules/1``, one rule per line; no line break at the end."""
    return f'{{"schema":"{RULES_SCHEMA}",\n"rules":[\n{encode_items(rules)}]}}'


def catalogue_text(rules: Sequence[RuleInfo], options: Options) -> str:
    """One entry per rule: id, severity, name and summary; no line break at the end."""
    pen = Pen(options)
    rows = pen.columns(
        (
            (Part(rule.id, style="name"), Part(rule.severity, style=rule.severity), rule.name)
            for rule in rules
        ),
        least=(0, SEVERITY),
    )
    lines = (pen.beside(row, rule.summary) for row, rule in zip(rows, rules, strict=True))
    return "".join(lines).removesuffix("\n")


def groups_text(rules: Sequence[RuleInfo], options: Options) -> str:
    """The groups of rules, each with its rules; no line break at the end. Empty if there are
    none."""
    groups = sorted({group for rule in rules for group in rule.groups})
    if not groups:
        return ""
    pen = Pen(options)
    rows = pen.columns((Part(group, style="name"),) for group in groups)
    ids = (", ".join(rule.id for rule in rules if group in rule.groups) for group in groups)
    lines = (pen.beside(row, text, "  ") for row, text in zip(rows, ids, strict=True))
    return f"Groups, for --select and --ignore:\n{''.join(lines)}".removesuffix("\n")


def manual_text(rule: RuleInfo, options: Options) -> str:
    """A rule's manual page: rendered if coloured for a terminal, else plain Markdown; no line break
    at the end."""
    groups = f"Groups: {', '.join(rule.groups)}. " if rule.groups else ""
    manual = without_marks(rule.manual)
    page = f"# {rule.id} {rule.name}\n\nSeverity: {rule.severity}. {groups}{manual}"
    page = page.rstrip() + settings_section(rule)
    return _rendered(page, options.width).rstrip() if options.color else page


def without_marks(manual: str) -> str:
    """A manual without the words after the language of a fence, which are for tests of examples."""
    return re.sub(r"^(```\w+) .*$", r"\1", manual, flags=re.MULTILINE)


def settings_section(rule: RuleInfo) -> str:
    """The settings of a rule as a section of its manual; empty if it has none."""
    if not rule.settings:
        return ""
    rows = "\n".join(
        f"* `{each.name} = {each.default}` (the default): {each.meaning}" for each in rule.settings
    )
    return f"\n\n## Settings\n\nIn `vnicaudit.toml`, below `[rules.{rule.id}]`:\n\n{rows}"


def _rendered(page: str, width: int) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    text = io.StringIO()
    console = Console(
        file=text, width=min(width, _READABLE), force_terminal=True, color_system="standard"
    )
    console.print(Markdown(page, code_theme="ansi_dark"))
    return text.getvalue()
