"""Suppressions in the comments of a file: which ones apply to a finding, and which are unused.

A file may have thousands of descriptions, each of which carries all of the file's comments: they
are read once, and looked up by line.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator

from vnicaudit.audit.accepting import stale
from vnicaudit.audit.accepting.own_entries import OwnTexts
from vnicaudit.audit.accepting.suppression import Suppression, own_suppression
from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.model.accepting import AcceptingComment
from vnicaudit.model.finding import Finding
from vnicaudit.model.location import Location
from vnicaudit.model.refs import ConfigRef, Ref
from vnicaudit.text.comments import MOST_COMMENTS


class FileComments:
    """The valid entries of one file by number, findings about invalid ones, and the uses of the
    entries by the descriptions judged so far."""

    def __init__(self, texts: OwnTexts, catalogue: Catalogue, today: datetime.date) -> None:
        self.entries: list[Suppression] = []
        self.problems: list[Finding] = []
        self.used: set[int] = set()
        self.refused: set[int] = set()
        """Entries whose line has several findings of one rule in a description: such an entry is
        reported once, and not as unused too."""
        self.undecided: set[str] = set()
        """Rules that could not be judged on one of the descriptions."""
        self.first = texts.comments[0]
        self.from_first = self.first.reporter
        """True if the first description of the file was judged, and not only later ones."""
        is_one = self.first.reporter and self.first.settles
        self.about: Ref = texts.about if is_one else ConfigRef()
        """The description that findings about comments name; the file, if it has several."""
        self._on_line: dict[int, list[int]] = {}
        self._of_documents: list[int] = []
        for comment in texts.comments[:MOST_COMMENTS]:
            place = _place(comment, texts)
            lines = comment.first, comment.last
            entry = own_suppression(dict(comment.entry), place, catalogue, lines)
            if isinstance(entry, str):
                self.problems.append(stale.invalid(entry, self.about, place, "comment"))
            elif entry.expired(today):
                self.problems.append(stale.expired(entry, self.about))
            else:
                self._add(entry, lines)
        for comment in texts.comments[MOST_COMMENTS:]:
            problem = f"more than {MOST_COMMENTS:,} in one file; the others are not read"
            place = _place(comment, texts)
            self.problems.append(stale.invalid(problem, self.about, place, "comment"))

    def is_of(self, comments: tuple[AcceptingComment, ...]) -> bool:
        """True if these are the comments of another description of the same file."""
        first = comments[0]
        return (first.file, first.line) == (self.first.file, self.first.line)

    def near(
        self, findings: Iterable[Finding], start: int | None
    ) -> Iterator[tuple[int, Suppression]]:
        """The entries, each with its number, for the line of one of these findings, and those for
        the whole document that contains ``start``, the first line of their description."""
        lines = {finding.location.line or 0 for finding in findings}
        numbers = {number for line in lines for number in self._on_line.get(line, ())}
        for number in self._of_documents:
            first, last = self.entries[number].lines or (0, 0)
            if first <= (start or 0) <= last:
                numbers.add(number)
        return ((number, self.entries[number]) for number in sorted(numbers))

    def unused(self) -> Iterator[Suppression]:
        """The entries that have accepted nothing so far, and were not refused."""
        needed = self.used | self.refused
        return (one for number, one in enumerate(self.entries) if number not in needed)

    def _add(self, entry: Suppression, lines: tuple[int, int]) -> None:
        number = len(self.entries)
        self.entries.append(entry)
        if lines[0] == lines[1]:
            self._on_line.setdefault(lines[0], []).append(number)
        else:
            self._of_documents.append(number)


def _place(comment: AcceptingComment, texts: OwnTexts) -> Location:
    return Location(texts.place.target, comment.file, comment.line)
