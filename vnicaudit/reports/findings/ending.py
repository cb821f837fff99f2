"""The end of an audit as text: the answer, unread targets, and what was not judged."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.finding import Severity
from vnicaudit.model.report import RunEnd, TargetResult
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.tally import Tally
from vnicaudit.reports.wording import (
    WORST_FIRST,
    accepted_sentence,
    closing,
    fixed_sentence,
    is_clean,
    notes_of,
)
from vnicaudit.reports.wrap import Piece, aligned, fold, hidden, wrap
from vnicaudit.reports.writer import Options

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
        from vnicaudit.reports.unjudged import unread_of  # most targets are read in full

        for number, error in enumerate(unread_of(target)):
            if number == most and not self._options.verbose:
                yield wrap(hidden(target.unread - number), self._width, "  ", "    ")
                return
            yield wrap(f"{safe(error.place)}: {safe(error.message)}", self._width, "  ", "    ")

    def _by_rule(self) -> Iterator[str]:
        counts = self._tally.findings
        if not counts:
            return
        from vnicaudit.reports.findings.finding_text import SEVERITY

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
        from vnicaudit.reports.unjudged import not_judged_of, skip_sentences

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
            from vnicaudit.reports.unjudged import calls_sentence

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
