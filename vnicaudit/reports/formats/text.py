"""For people: findings grouped by domain, then what the whole run adds up to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from vnicaudit.model.owner import name_of
from vnicaudit.model.report import Audited, RunEnd, RunInfo, TargetResult
from vnicaudit.reports.findings.grouped import groups_of
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.tally import Tally
from vnicaudit.reports.wording import (
    WORST_FIRST,
    about_domain,
    accepted_sentence,
    calls_sentence,
    closing,
    fixed_sentence,
    is_clean,
    not_judged_of,
    notes_of,
    skip_sentences,
    unread_of,
)
from vnicaudit.reports.wrap import Piece, fold, hidden, title_line, wrap
from vnicaudit.reports.writer import Options, ReportWriter

if TYPE_CHECKING:
    from vnicaudit.reports.findings.finding_text import FindingText

FORMAT = "text"
SUMMARY = "for people: by domain, then a summary by rule"
NAMES_NOT_JUDGED = True
NEEDS_ROWS = False

_SHOWN_ERRORS = 20
_NAMES_REPEAT = "openstack:"
"""How targets begin where many domains may have one name, and the UUID is what tells them apart."""

_WHAT = {
    "config": "configuration", "image": "image", "flavor": "flavor", "preference": "preference",
    "site": "compute node", "mac": "shared MAC address",
}  # fmt: skip


def writer(options: Options) -> ReportWriter:
    """A text writer for a terminal of that width, with colour or without."""
    return _AuditText(options)


class _AuditText:
    def __init__(self, options: Options) -> None:
        self._options = options
        self._width = options.width
        self._paint = Paint(color=options.color)
        self._tally = Tally()
        self._groups = groups_of(options)

    @cached_property
    def _entry(self) -> FindingText:
        from vnicaudit.reports.findings.finding_text import (
            FindingText,  # loaded when there is an entry
        )

        return FindingText(self._width, self._paint, verbose=self._options.verbose)

    def start(self, run: RunInfo) -> str:
        del run
        return ""

    def add(self, audited: Audited) -> str:
        self._tally.add(audited)
        if self._groups is not None:
            self._groups.add(audited)
            if not audited.crashed:
                return ""
            crashed = "".join(map(self._entry.crashed, audited.crashed))
            return f"{self._header(audited)}{crashed}\n"
        entries = "".join(self._entries(audited))
        if not entries and not self._options.verbose:
            return ""
        return f"{self._header(audited)}{entries or '  no findings' + chr(10)}\n"

    def finish(self, end: RunEnd) -> Iterator[str]:
        yield from self._grouped()
        yield from self._unread(end)
        if self._options.quiet:
            return
        yield from self._by_rule()
        yield from self._not_judged(end)
        yield from self._notes(end)
        if accepted := accepted_sentence(end):
            yield wrap(accepted, self._width, "", "  ")
        if fixed := fixed_sentence(end):
            yield wrap(fixed, self._width, "", "  ")
        style = "good" if is_clean(self._tally, end) else "bad"
        for line in wrap(closing(self._tally, end), self._width, "", "  ").splitlines():
            yield self._paint(style, line) + "\n"

    def _grouped(self) -> Iterator[str]:
        for name, about, rules in () if self._groups is None else self._groups.groups():
            shown = safe(name)
            yield title_line(Piece(shown, self._paint("name", shown)), about, self._width)
            yield from (self._entry.group(key, same) for key, same in rules)
            yield "\n"

    def _entries(self, audited: Audited) -> Iterator[str]:
        if audited.findings or audited.crashed:
            yield from map(self._entry.finding, audited.findings)
            yield from map(self._entry.crashed, audited.crashed)
        if self._options.verbose:
            yield from map(self._entry.suppressed, audited.suppressed)
            yield from map(self._entry.skipped, audited.skipped)

    def _header(self, audited: Audited) -> str:
        name = safe(audited.subject)
        about = safe(", ".join(_about(audited, verbose=self._options.verbose)))
        return title_line(Piece(name, self._paint("name", name)), about, self._width)

    def _unread(self, end: RunEnd) -> Iterator[str]:
        broken = [target for target in end.targets if target.status != "ok"]
        if not broken:
            return
        yield self._paint("bad", "Could not be read") + "\n"
        for target in broken:
            yield from self._errors(target)
        yield "\n"

    def _errors(self, target: TargetResult) -> Iterator[str]:
        for number, error in enumerate(unread_of(target)):
            if number == _SHOWN_ERRORS and not self._options.verbose:
                yield wrap(hidden(target.unread - number), self._width, "  ", "    ")
                return
            yield wrap(f"{safe(error.place)}: {safe(error.message)}", self._width, "  ", "    ")

    def _by_rule(self) -> Iterator[str]:
        counts = self._tally.findings
        if not counts:
            return
        from vnicaudit.reports.findings.finding_text import SEVERITY
        from vnicaudit.reports.table.columns import columns
        from vnicaudit.reports.table.model import Part

        yield self._paint("name", "Summary") + "\n"
        keys = sorted(counts, key=lambda key: (WORST_FIRST.index(key[0]), -counts[key], key[1]))
        cells = (
            (Part(f"{counts[key]:,}"), Part(key[0], style=key[0]), Part(key[1])) for key in keys
        )
        rows = columns(cells, self._paint, least=(0, SEVERITY), numbers={0})
        for row, (_severity, _rule, name) in zip(rows, keys, strict=True):
            words = safe(name)
            yield fold([*row, Piece(words, words)], self._width, "  ", "    ", "  ")
        yield "\n"

    def _not_judged(self, end: RunEnd) -> Iterator[str]:
        parts = [
            f"{part.place}: {part.message}" for each in end.targets for part in not_judged_of(each)
        ]
        if len(parts) > _SHOWN_ERRORS and not self._options.verbose:
            parts[_SHOWN_ERRORS:] = [hidden(len(parts) - _SHOWN_ERRORS)]
        sentences = [safe(sentence) for sentence in (*parts, *skip_sentences(self._tally))]
        if not sentences:
            return
        yield self._paint("name", "Not judged") + "\n"
        for sentence in sentences:
            yield wrap(sentence, self._width, "  ", "    ")
        yield "\n"

    def _notes(self, end: RunEnd) -> Iterator[str]:
        notes = [note for target in end.targets for note in notes_of(target)]
        if self._options.verbose:
            notes.extend(filter(None, map(calls_sentence, end.targets)))
        if not notes:
            return
        yield self._paint("name", "Notes") + "\n"
        for note in notes:
            yield wrap(safe(note), self._width, "  ", "    ")
        yield "\n"


def _about(audited: Audited, *, verbose: bool) -> Iterator[str]:
    """Parts of the header line after the name."""
    if audited.scope == "domain":
        yield from about_domain(audited)
        if audited.uuid and (verbose or audited.target.startswith(_NAMES_REPEAT)):
            yield audited.uuid
    else:
        owner = name_of(audited.owner)
        yield "host" if audited.scope == "host" else f"{owner}, {_WHAT[audited.scope]}"
        if audited.uuid:
            yield audited.uuid
