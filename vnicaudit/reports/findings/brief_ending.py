"""The end of a short report: the answer comes before its findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE
from vnicaudit.reports.findings.ending import Ending
from vnicaudit.reports.safe import safe
from vnicaudit.reports.tally import Tally
from vnicaudit.reports.wrap import Piece, with_lead, wrap

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
