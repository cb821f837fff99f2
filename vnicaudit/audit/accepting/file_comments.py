"""Suppressions in the comments of a file: which ones apply to a finding, and which are unused.

A file may have thousands of descriptions, each of which carries all of the file's comments: they
are read once, and looked up by line.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator

from vnicaudit.audit.accepting import stale
from vnicaudit.audit.accepting.accepted_findings import without_accepted
from vnicaudit.audit.accepting.own_entries import OwnTexts
from vnicaudit.audit.accepting.suppression import SubjectIdentity, Suppression, own_suppression
from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Finding
from vnicaudit.model.location import AcceptingComment, Location
from vnicaudit.model.refs import ConfigRef, Ref
from vnicaudit.model.report import Audited
from vnicaudit.text.comment_walk import MOST_COMMENTS


class FileComments:
    """The valid entries of one file by number, findings about invalid ones, and the uses of the
    entries by the descriptions judged so far."""

    def __init__(self, texts: OwnTexts, catalogue: Catalogue, today: datetime.date) -> None:
        self.entries: list[Suppression] = []
        self.problems: list[Finding] = []
        self._used: set[int] = set()
        self._refused: set[int] = set()
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

    def applied(
        self, audited: Audited, start: int | None, domain: Domain | None
    ) -> tuple[Audited, list[Finding]]:
        """The judgement of a description without the findings that comments accept, and SUPP003 for
        those whose line has several findings of one rule. ``start``: the line on which the
        description begins; ``domain``: the one that was judged."""
        whom = SubjectIdentity.of(audited, None if domain is None else domain.cloud)
        valid: list[tuple[int, Suppression]] = []
        doubts: list[Finding] = []
        for number in self._near(audited.findings, start):
            entry = self.entries[number]
            doubt = _doubt(entry, audited, whom)
            if not doubt:
                valid.append((number, entry))
            elif number not in self._refused:
                self._refused.add(number)
                doubts.append(stale.invalid(doubt, self.about, entry.location, "comment"))
        return without_accepted(audited, valid, self._used, domain), doubts

    def unused(self) -> Iterator[Suppression]:
        """The entries that have accepted nothing so far, and were not refused."""
        needed = self._used | self._refused
        return (one for number, one in enumerate(self.entries) if number not in needed)

    def _near(self, findings: Iterable[Finding], start: int | None) -> list[int]:
        """The numbers of the entries for the line of one of these findings, and of those for the
        whole document that contains ``start``, the first line of their description."""
        lines = {finding.location.line or 0 for finding in findings}
        numbers = {number for line in lines for number in self._on_line.get(line, ())}
        for number in self._of_documents:
            first, last = self.entries[number].lines or (0, 0)
            if first <= (start or 0) <= last:
                numbers.add(number)
        return sorted(numbers)

    def _add(self, entry: Suppression, lines: tuple[int, int]) -> None:
        number = len(self.entries)
        self.entries.append(entry)
        if lines[0] == lines[1]:
            self._on_line.setdefault(lines[0], []).append(number)
        else:
            self._of_documents.append(number)


def _doubt(entry: Suppression, audited: Audited, whom: SubjectIdentity) -> str:
    """A sentence where a comment is about one line, which has several findings of one rule; else
    empty."""
    if entry.lines is None or entry.lines[0] != entry.lines[1]:
        return ""
    rules = Counter(one.rule for one in audited.findings if entry.matches(one, whom))
    for rule, number in rules.most_common(1):
        if number > 1:
            return f"its line has {number} findings of {rule}: give each a line of its own"
    return ""


def _place(comment: AcceptingComment, texts: OwnTexts) -> Location:
    return Location(texts.place.target, comment.file, comment.line)
