"""The end of an audit as text: the answer, unread targets, and what was not judged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.report import RunEnd, TargetResult
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.findings import SEVERITY
from vnicaudit.reports.model import Part
from vnicaudit.reports.safe import fold, hidden, wrap
from vnicaudit.reports.totals import Tally
from vnicaudit.reports.wording import (
    WORST_FIRST,
    accepted_sentence,
    calls_sentence,
    closing,
    fixed_sentence,
    gathered,
    is_clean,
    not_judged_of,
    notes_of,
    skip_sentences,
    unread_of,
)
from vnicaudit.reports.writers import Options

_SHOWN = 20
_SHOWN_BRIEFLY = 5
_EXPLAINED = re.compile(r"[:;] | \(")
"""Ends the name of a fact in the sentence on what would tell it."""
_LINES = 2
"""Lines about what was not judged, in a short report."""


class Ending:
    """The end of a text: of one that shows each finding (:meth:`whole`), or of a short one, whose
    answer comes before its findings (:meth:`answer`, :meth:`brief`)."""

    def __init__(self, tally: Tally, end: RunEnd, options: Options) -> None:
        self._tally = tally
        self._end = end
        self._options = options
        self._pen = Pen(options)

    def whole(self, *, with_answer: bool) -> Iterator[str]:
        """Everything, with the answer last if it did not come first."""
        yield from self._unread(_SHOWN)
        if not self._options.quiet:
            yield from self._by_rule()
            yield from self._not_judged()
            yield from self._notes(_SHOWN)
            if with_answer:
                yield from self._accepted()
        if with_answer:
            yield from self._answer()

    def left_out(self, number: int) -> Iterator[str]:
        """A line saying how many findings are not shown."""
        if number > 0:
            yield self._pen.say(f"… {count(number, 'more problem')} (--max)") + "\n"

    def answer(self) -> Iterator[str]:
        """The answer with the number of accepted findings, followed by an empty line."""
        told = [*self._answer(), *self._accepted()]
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
            for line in self._parts_not_judged(_SHOWN_BRIEFLY):
                yield self._pen.labelled("Not judged", line, "name", indent=0)
            yield self._not_judged_briefly()
        yield from self._notes(_SHOWN_BRIEFLY)
        if self._tally.findings:
            each = "--view full, or --format concise for a line each"
            yield self._pen.say(f"Each finding: {each}. Why: vnicaudit rules {first_rule}")

    def _answer(self) -> Iterator[str]:
        if self._options.quiet and not self._end.summary.findings:
            return
        text = closing(self._tally, self._end)
        style = "good" if is_clean(self._tally, self._end) else "bad"
        for line in wrap(text, self._pen.width, "", "  ").splitlines():
            yield self._pen.paint(style, line) + "\n"
        for what, command in self._fixes():
            line = self._pen.say(f"{what}: {command}")
            beside = line.count("\n") == 1
            yield line if beside else self._pen.say(f"{what}:") + self._pen.say(command, 2)

    def _fixes(self) -> Iterator[tuple[str, str]]:
        """How many problems are safe to fix and the command for it; if none is, the command that
        shows the other fixes."""
        planned, in_files = self._tally.by_plan, self._tally.in_files
        targets, domains = self._options.targets, self._options.domain_words
        plan = f"vnicaudit plan {targets or planned.words('TARGET')}{domains}"
        fix = f"vnicaudit audit {targets or in_files.words('FILE')}{domains} --diff"
        if planned.safe:
            yield f"{_are(planned.safe)} safe to fix", f"{plan} -o plan.json"
        if in_files.safe:
            yield f"{_are(in_files.safe)} safe to fix in files", fix
        if not planned.safe and planned.unsafe:
            yield f"{_fixes_need(planned.unsafe)} care", f"{plan} --include-unsafe -o plan.json"
        if not in_files.safe and in_files.unsafe:
            yield f"{_fixes_need(in_files.unsafe)} care in files", f"{fix} --include-unsafe"

    def _accepted(self) -> Iterator[str]:
        told = (accepted_sentence(self._end), fixed_sentence(self._end))
        yield from map(self._pen.say, filter(None, told))

    def _unread(self, most: int) -> Iterator[str]:
        broken = [target for target in self._end.targets if target.status != "ok"]
        if broken:
            lines = (line for target in broken for line in self._errors(target, most))
            yield from self._listed("Could not be read", lines, "bad")

    def _errors(self, target: TargetResult, most: int) -> Iterator[str]:
        for number, error in enumerate(unread_of(target)):
            if number == most and not self._options.verbose:
                yield hidden(target.unread - number)
                return
            yield f"{error.place}: {error.message}"

    def _by_rule(self) -> Iterator[str]:
        counts = self._tally.findings
        if not counts:
            return
        yield self._pen.title("Summary")
        keys = sorted(counts, key=lambda one: (WORST_FIRST.index(one[0]), -counts[one], one[1]))
        rows = ((f"{counts[key]:,}", Part(key[0], style=key[0]), key[1]) for key in keys)
        cells = self._pen.columns(rows, least=(0, SEVERITY), numbers={0})
        for row, (_severity, _rule, name) in zip(cells, keys, strict=True):
            yield fold([*row, self._pen.part(name)], self._pen.width, "  ", "    ", "  ")
        yield "\n"

    def _not_judged(self) -> Iterator[str]:
        parts = self._parts_not_judged(_SHOWN)
        yield from self._listed("Not judged", (*parts, *skip_sentences(self._tally)))

    def _parts_not_judged(self, most: int) -> list[str]:
        """The parts of files that were noticed but not judged: equal ones in one line, unless each
        is asked for."""
        parts = [part for each in self._end.targets for part in not_judged_of(each)]
        if self._options.verbose:
            return [f"{part.place}: {part.message}" for part in parts]
        lines = list(gathered(parts))
        return lines if len(lines) <= most else [*lines[:most], hidden(len(lines) - most)]

    def _notes(self, most: int) -> Iterator[str]:
        notes = [note for target in self._end.targets for note in notes_of(target)]
        if self._options.verbose:
            notes.extend(filter(None, map(calls_sentence, self._end.targets)))
        elif len(notes) > most:
            notes[most:] = [hidden(len(notes) - most)]
        yield from self._listed("Notes", notes)

    def _listed(self, title: str, sentences: Iterable[str], style: str = "name") -> Iterator[str]:
        """The sentences below their title, with an empty line after them; nothing if there are
        none."""
        lines = [self._pen.say(sentence, 2) for sentence in sentences]
        yield from (self._pen.title(title, style), *lines, "\n") if lines else ()

    def _not_judged_briefly(self) -> str:
        """Two lines: as many of the missing facts as fit, each with the number of subjects; the
        others are only counted."""
        words = [f"{fact} ({count(number, kind)})" for fact, kind, number in _unknown(self._tally)]
        for shown in range(len(words), 0, -1):
            more = len(words) - shown
            rest = f" and {more:,} more" if more else ""
            there = "; more as root on the hypervisor" if self._tally.needs_host else ""
            listed = f"{', '.join(words[:shown])}{rest}{there}; why: --verbose"
            text = self._pen.labelled("Unknown", listed, "name", indent=0)
            if shown == 1 or text.count("\n") <= _LINES:
                return text
        return ""


def _unknown(tally: Tally) -> list[tuple[str, str, int]]:
    """Each fact that rules lacked, in short, the most frequent first, with the kind of subjects and
    how many of them a rule was not judged for: the most of any one rule, as several may lack it."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for (rule, needs, kind), number in tally.skipped.items():
        fact = _EXPLAINED.split(needs, maxsplit=1)[0]
        found.setdefault((fact, kind), Counter())[rule] += number
    counted = [(fact, kind, max(rules.values())) for (fact, kind), rules in found.items()]
    return sorted(counted, key=lambda one: -one[2])


def _are(number: int) -> str:
    return f"{number:,} {'is' if number == 1 else 'are'}"


def _fixes_need(number: int) -> str:
    return f"{number:,} {'fix needs' if number == 1 else 'fixes need'}"
