"""GitHub-flavoured Markdown, for comments on pull requests and for issues: the answer, then one
table per domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.model.finding import Crashed, Finding, Ref
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.as_markdown import table_text
from vnicaudit.reports.grouped import (
    MANY_NAMES,
    NAMES,
    EqualFindings,
    RuleKey,
    groups_of,
    names_of,
)
from vnicaudit.reports.json_parts import TextSpool
from vnicaudit.reports.model import Cell, Part, Row, Table
from vnicaudit.reports.safe import markdown, markdown_code
from vnicaudit.reports.totals import Tally
from vnicaudit.reports.wording import (
    about_domain,
    accepted_sentence,
    closing,
    fix_label,
    gathered,
    message_of,
    not_judged_of,
    notes_of,
    skip_sentences,
    unread_of,
)
from vnicaudit.reports.writers import GROUP_BY, Options, ReportWriter

_GROUP = ("Severity", "Rule", "Number", "Problem", "On")
_WORDINGS = 3
"""Messages and fixes shown per rule and group."""
_TABLE = ("Severity", "Rule", "NIC", "Problem", "Place")


class MarkdownWriter(ReportWriter):
    """Writes single or grouped findings."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._tally = Tally()
        self._body = TextSpool()
        self._groups = groups_of(options) if options.group_by in GROUP_BY else None
        self._names = MANY_NAMES if options.verbose else NAMES

    def start(self, run: RunInfo) -> str:
        del run
        return "## vnicaudit\n\n"

    def add(self, audited: Audited) -> str:
        self._tally.add(audited)
        if self._groups is not None:
            self._groups.add(audited)
        single = audited.findings if self._groups is None else ()
        rows = [_finding(finding) for finding in single]
        rows.extend(map(_crash, audited.crashed))
        if rows:
            about = ", ".join(about_domain(audited))
            note = markdown(about if audited.scope == "domain" else audited.scope)
            self._body.write(_titled(audited.title, note, Table("", _TABLE, tuple(rows))))
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        yield f"**{markdown(closing(self._tally, end))}**\n"
        if accepted := accepted_sentence(end):
            yield f"\n{markdown(accepted)}\n"
        yield from self._body.drain()
        for name, about, rules in () if self._groups is None else self._groups.groups():
            rows = tuple(_group(key, same, self._names) for key, same in rules)
            title = name or f"{rules[0][0][1]} {rules[0][0][2]}"
            yield _titled(title, markdown(about), Table("", _GROUP, rows))
        yield from _unread(end)
        yield from _folded("Not judged", self._not_judged(end))
        yield from _folded("Notes", (markdown(note) for one in end.targets
                                     for note in notes_of(one)))  # fmt: skip

    def _not_judged(self, end: RunEnd) -> Iterator[str]:
        parts = (part for target in end.targets for part in not_judged_of(target))
        yield from map(markdown, gathered(parts))
        yield from map(markdown, skip_sentences(self._tally))


def _unread(end: RunEnd) -> Iterator[str]:
    errors = [error for target in end.targets for error in unread_of(target)]
    if errors:
        yield "\n### Could not be read\n\n"
        yield from (
            f"* {markdown_code(error.place)}: {markdown(error.message)}\n" for error in errors
        )


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A collapsed list; nothing if it is empty."""
    items = [f"* {line}\n" for line in lines]
    if items:
        yield f"\n<details><summary>{title}</summary>\n\n"
        yield from items
        yield "\n</details>\n"


def _titled(name: str, about: str, table: Table) -> str:
    text = "".join(table_text(table, tight=True)).removesuffix("\n\n")
    return f"\n### {markdown_code(name)} ({about})\n\n{text}\n"


def _group(key: RuleKey, same: EqualFindings, names: int) -> Row:
    severity, rule, _name = key
    texts = []
    shown, owners = same.leading(_WORDINGS), same.owners
    others = same.count - sum(number for _words, number in shown)
    for words, number in shown:
        many = f"{number:,}: " if len(shown) > 1 or others else ""
        whose = f" for {words.owner}" if len(owners) > 1 else ""
        texts += [
            Part(f"{many}{words.message}"),
            Part(words.fix and f"{words.label}{whose}: {words.fix}", "note"),
        ]
    if others:
        texts.append(Part(f"and {others:,} like it"))
    return Row(
        (_strong(severity), rule, f"{same.count:,}", tuple(texts), names_of(same, most=names))
    )


def _finding(finding: Finding) -> Row:
    fix = f"{fix_label(finding)}: {finding.fix}" if finding.fix else ""
    text = (Part(message_of(finding)), Part(fix, "note"))
    place = Part(str(finding.location), code=True)
    rule = f"{finding.rule} {finding.name}"
    return Row((_strong(finding.severity), rule, _nic(finding.about), text, place))


def _crash(crashed: Crashed) -> Row:
    text = f"crashed, not judged: {crashed.error}"
    return Row((_strong("crash"), crashed.rule, _nic(crashed.about), text, ""))


def _strong(word: str) -> Cell:
    return Part(word, strong=True)


def _nic(ref: Ref) -> Cell:
    if ref.kind == "link":
        return Part(ref.name or "", code=True)
    if ref.kind != "nic":
        return ""
    index = "" if ref.index is None else str(ref.index)
    return (Part(index), Part(ref.mac or ref.target_dev or "", "aside", code=True))
