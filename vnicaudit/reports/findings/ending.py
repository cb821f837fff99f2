"""The end of an audit as text: the answer, unread targets, and what was not judged."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.finding import (
    ALL_BUT_THE_MODEL,
    CONFIDENCES,
    EVERY_RULE,
    SEVERITIES,
    Finding,
    Severity,
)
from vnicaudit.model.report import Audited, RunEnd, TargetResult
from vnicaudit.reports.findings.finding_text import SEVERITY
from vnicaudit.reports.safe import Paint, Piece, aligned, fold, hidden, safe, with_lead, wrap
from vnicaudit.reports.wording import (
    WORST_FIRST,
    Tally,
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
from vnicaudit.reports.writers import Options

_SHOWN = 20


class Ending:
    """The end of a text that shows each finding."""

    def __init__(self, tally: Tally, end: RunEnd, options: Options, paint: Paint) -> None:
        self._tally = tally
        self._end = end
        self._options = options
        self._width = options.width
        self._paint = paint

    def whole(self) -> Iterator[str]:
        """Everything, with the answer last."""
        yield from self._unread(_SHOWN)
        if not self._options.quiet:
            yield from self._by_rule()
            yield from self._not_judged()
            yield from self._notes(_SHOWN)
            yield from self._accepted()
        yield from self._answer()

    def left_out(self, number: int) -> Iterator[str]:
        """A line saying how many findings are not shown."""
        if number > 0:
            text = f"… {count(number, 'more problem')} (--max)"
            yield f"{wrap(text, self._width, '', '  ')}\n"

    def _answer(self, *, safe_fixes: bool = False) -> Iterator[str]:
        clean = is_clean(self._tally, self._end)
        if self._options.quiet and not self._end.summary.findings:
            return
        text = closing(self._tally, self._end)
        if safe_fixes and self._tally.safe_fixes:
            text += f"; {self._tally.safe_fixes:,} with a safe fix"
        for line in wrap(text, self._width, "", "  ").splitlines():
            yield self._paint("good" if clean else "bad", line) + "\n"

    def _accepted(self) -> Iterator[str]:
        for text in filter(None, (accepted_sentence(self._end), fixed_sentence(self._end))):
            yield wrap(text, self._width, "", "  ")

    def _unread(self, most: int) -> Iterator[str]:
        broken = [target for target in self._end.targets if target.status != "ok"]
        if not broken:
            return
        yield self._paint("bad", "Could not be read") + "\n"
        for target in broken:
            yield from self._errors(target, most)
        yield "\n"

    def _errors(self, target: TargetResult, most: int) -> Iterator[str]:
        for number, error in enumerate(unread_of(target)):
            if number == most and not self._options.verbose:
                yield wrap(hidden(target.unread - number), self._width, "  ", "    ")
                return
            yield wrap(f"{safe(error.place)}: {safe(error.message)}", self._width, "  ", "    ")

    def _by_rule(self) -> Iterator[str]:
        counts = self._tally.findings
        if not counts:
            return
        yield self._paint("name", "Summary") + "\n"
        keys = sorted(counts, key=lambda key: (rank(key)[0], -counts[key], key[1]))
        rows = aligned(
            [[self._piece("", f"{counts[key]:,}"), self._piece(key[0], key[0]),
              self._piece("", safe(key[1]))] for key in keys],
            least=(0, SEVERITY), numbers={0},
        )  # fmt: skip
        for row, (_severity, _rule, name) in zip(rows, keys, strict=True):
            words = safe(name)
            yield fold([*row, Piece(words, words)], self._width, "  ", "    ", "  ")
        yield "\n"

    def _piece(self, style: str, text: str) -> Piece:
        return Piece(text, self._paint(style, text))

    def _not_judged(self) -> Iterator[str]:
        if not (self._tally.skipped or any(each.not_judged_count for each in self._end.targets)):
            return
        parts = [
            f"{part.place}: {part.message}"
            for each in self._end.targets
            for part in not_judged_of(each)
        ]
        if len(parts) > _SHOWN and not self._options.verbose:
            parts[_SHOWN:] = [hidden(len(parts) - _SHOWN)]
        sentences = [safe(sentence) for sentence in (*parts, *skip_sentences(self._tally))]
        if not sentences:
            return
        yield self._paint("name", "Not judged") + "\n"
        for sentence in sentences:
            yield wrap(sentence, self._width, "  ", "    ")
        yield "\n"

    def _notes(self, most: int) -> Iterator[str]:
        notes = [note for target in self._end.targets for note in notes_of(target)]
        if self._options.verbose:
            notes.extend(filter(None, map(calls_sentence, self._end.targets)))
        elif len(notes) > most:
            notes[most:] = [hidden(len(notes) - most)]
        if not notes:
            return
        yield self._paint("name", "Notes") + "\n"
        for note in notes:
            yield wrap(safe(note), self._width, "  ", "    ")
        yield "\n"


def rank(key: tuple[Severity, str, str]) -> tuple[int, str]:
    """Key that sorts counts of findings, the worst rule first."""
    return WORST_FIRST.index(key[0]), key[1]


# The end of a short report: the answer comes before its findings.


_RULES = {EVERY_RULE: "every rule", ALL_BUT_THE_MODEL: "every rule except on the model"}
_SHOWN_BRIEFLY = 5
_LINES = 2
"""Lines about what was not judged, in a short report."""


class BriefEnding(Ending):
    """The answer, to be put first, and the lines after the findings."""

    def answer(self) -> Iterator[str]:
        """The answer with the number of accepted findings, followed by an empty line."""
        told = [*self._answer(safe_fixes=True), *self._accepted()]
        yield from (*told, "\n") if told else ()

    def brief(self, first_rule: str) -> Iterator[str]:
        """The lines after the findings of a short report, which begins with ``first_rule``.
        Everything not shown is counted."""
        yield from self._unread(_SHOWN_BRIEFLY)
        if self._options.quiet:
            return
        if self._options.verbose:
            yield from self._not_judged()
        else:
            yield from self._not_judged_briefly()
        yield from self._notes(_SHOWN_BRIEFLY)
        if self._tally.findings:
            each = "--view full, or --format concise for a line each"
            yield wrap(
                f"Each finding: {each}. Why: vnicaudit rules {first_rule}", self._width, "", "  "
            )

    def _not_judged_briefly(self) -> Iterator[str]:
        """Two lines: as many rules as fit, each with its counts; the others are only counted."""
        words = [
            f"{_RULES.get(rule, rule)} ({', '.join(count(number, kind) for kind, number in kinds)})"
            for rule, kinds in _skipped_by_rule(self._tally)
        ]
        if not words:
            return
        shown = len(words)
        lead = Piece("Not judged", self._paint("name", "Not judged"))
        text = _listed(words, shown)
        while shown > 1 and _lines_of(lead, text, self._width) > _LINES:
            shown -= 1
            text = _listed(words, shown)
        yield with_lead(lead, text, self._width, "", "  ")


def _skipped_by_rule(tally: Tally) -> list[tuple[str, list[tuple[str, int]]]]:
    """Each rule that was not judged, the most frequent first, with the number of subjects of each
    kind, whatever was missing."""
    found: dict[str, Counter[str]] = {}
    for (rule, _needs, kind), number in tally.skipped.items():
        found.setdefault(rule, Counter())[kind] += number
    ordered = sorted(found.items(), key=lambda one: -one[1].total())
    return [(rule, kinds.most_common()) for rule, kinds in ordered]


def _listed(words: list[str], shown: int) -> str:
    more = len(words) - shown
    rest = f" and {more:,} more" if more else ""
    return safe(f": {', '.join(words[:shown])}{rest}; why: --verbose")


def _lines_of(lead: Piece, text: str, width: int) -> int:
    return wrap(lead.plain + text, width, "", "  ").count("\n")


# The worst findings of an audit, for reports that show only some.


class WorstFindings:
    """A limited number of findings from a stream, each with its subject: the most severe; among
    these, those of highest confidence; among these, the earliest. Other findings are not kept in
    memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._number = 0
        self._heap: list[tuple[int, int, int, Audited, Finding]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, audited: Audited) -> None:
        """Add the findings of a subject that are worse than those kept."""
        for finding in audited.findings:
            self._number += 1
            severity = SEVERITIES.index(finding.severity)
            confidence = CONFIDENCES.index(finding.confidence)
            entry = (severity, confidence, -self._number, audited, finding)
            if len(self._heap) < self._most:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heappushpop(self._heap, entry)

    def worst_first(self) -> list[tuple[Audited, Finding]]:
        """The findings kept, worst first."""
        return [entry[-2:] for entry in sorted(self._heap, reverse=True)]

    def by_subject(self) -> list[tuple[Audited, list[Finding]]]:
        """The findings grouped by subject; the subject with the worst one comes first."""
        found: dict[int, tuple[Audited, list[Finding]]] = {}
        for audited, finding in self.worst_first():
            found.setdefault(id(audited), (audited, []))[1].append(finding)
        return list(found.values())
