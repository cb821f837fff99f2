"""GitHub-flavoured Markdown, for comments on pull requests and for issues: one table per domain."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Crashed, Finding, NicRef, Severity
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.grouped import Same, groups_of, named
from vnicaudit.reports.safe import markdown, markdown_code
from vnicaudit.reports.tally import Tally
from vnicaudit.reports.wording import (
    about_domain,
    accepted_sentence,
    closing,
    fix_label,
    message_of,
    not_judged_of,
    notes_of,
    skip_sentences,
    unread,
)
from vnicaudit.reports.writer import Options, Writer

FORMAT = "markdown"
SUMMARY = "tables for comments and issues"
NAMES_NOT_JUDGED = True

_GROUP = "| Severity | Rule | Number | Problem | On |\n|---|---|---|---|---|\n"
_TABLE = "| Severity | Rule | NIC | Problem | Place |\n|---|---|---|---|---|\n"


def writer(options: Options) -> Writer:
    """A Markdown writer, of findings each by itself or put together."""
    return _Markdown(options)


class _Markdown:
    def __init__(self, options: Options) -> None:
        self._tally = Tally()
        self._groups = groups_of(options)

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
        if not rows:
            return ""
        about = ", ".join(about_domain(audited))
        note = markdown(about if audited.scope == "domain" else audited.scope)
        return f"### {markdown_code(audited.subject)} ({note})\n\n{_TABLE}{''.join(rows)}\n"

    def finish(self, end: RunEnd) -> Iterator[str]:
        for name, about, rules in () if self._groups is None else self._groups.groups():
            yield f"### {markdown_code(name)} ({markdown(about)})\n\n{_GROUP}"
            yield from (_group(key, same) for key, same in rules)
            yield "\n"
        errors = [error for target in end.targets for error in unread(target)]
        if errors:
            yield "### Could not be read\n\n"
            for error in errors:
                yield f"* {markdown_code(error.place)}: {markdown(error.message)}\n"
            yield "\n"
        sentences = list(skip_sentences(self._tally))
        parts = [part for target in end.targets for part in not_judged_of(target)]
        if sentences or parts:
            yield "<details><summary>Not judged</summary>\n\n"
            for part in parts:
                yield f"* {markdown_code(part.place)}: {markdown(part.message)}\n"
            yield from (f"* {markdown(sentence)}\n" for sentence in sentences)
            yield "\n</details>\n\n"
        notes = [note for target in end.targets for note in notes_of(target)]
        if notes:
            yield "<details><summary>Notes</summary>\n\n"
            yield from (f"* {markdown(note)}\n" for note in notes)
            yield "\n</details>\n\n"
        if accepted := accepted_sentence(end):
            yield f"{markdown(accepted)}\n\n"
        yield f"**{markdown(closing(self._tally, end))}**\n"


def _group(key: tuple[Severity, str, str], same: Same) -> str:
    severity, rule, _name = key
    texts = []
    for (message, label, fix), number in same.wordings.items():
        many = f"{number:,}: " if len(same.wordings) > 1 or same.others else ""
        texts.append(markdown(f"{many}{message}") + (fix and f"<br>{label}: {markdown(fix)}"))
    if same.others:
        texts.append(f"{same.others:,}: in other words")
    cells = (f"**{severity}**", rule, f"{same.count:,}", "<br>".join(texts), markdown(named(same)))
    return f"| {' | '.join(cells)} |\n"


def _finding(finding: Finding) -> str:
    text = markdown(message_of(finding))
    if finding.fix:
        text += f"<br>{markdown(fix_label(finding))}: {markdown(finding.fix)}"
    cells = (
        f"**{finding.severity}**",
        f"{markdown(finding.rule)} {markdown(finding.name)}",
        _nic(finding.nic),
        text,
        markdown_code(str(finding.location)),
    )
    return f"| {' | '.join(cells)} |\n"


def _crash(crashed: Crashed) -> str:
    text = f"crashed, not judged: {markdown(crashed.error)}"
    return f"| **crash** | {markdown(crashed.rule)} | {_nic(crashed.nic)} | {text} | |\n"


def _nic(ref: NicRef) -> str:
    index = "" if ref.index is None else str(ref.index)
    return f"{index} {markdown_code(ref.mac or ref.target_dev or '')}".strip()
