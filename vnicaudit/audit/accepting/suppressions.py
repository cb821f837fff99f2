"""Which findings somebody has accepted: the suppressions of the settings and of each domain.

A finding that a valid, unexpired suppression matches is reported as suppressed. Suppressions of
a domain are settled with that domain; those of the settings only when the whole run is over.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.audit.accepting import settings_entries
from vnicaudit.audit.accepting.settings_entries import (
    OwnEntries,
    OwnTexts,
    SettingsEntries,
    texts_of,
)
from vnicaudit.audit.accepting.suppression import (
    RunRules,
    SubjectIdentity,
    Suppression,
    covers_any,
    own_suppression,
    without_accepted,
)
from vnicaudit.audit.judging.catalogue import Catalogue, shipped_catalogue
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import AcceptingComment, Finding, Location, Ref
from vnicaudit.model.macs import NicSeen
from vnicaudit.model.report import Audited
from vnicaudit.text.comment_walk import MOST_COMMENTS

# Suppressions in the comments of a file: which ones apply to a finding, and which are unused.
#
# A file may have thousands of descriptions, each of which carries all of the file's comments: they
# are read once, and looked up by line.


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
        self.about: Ref = texts.about if is_one else Ref("config")
        """The description that findings about comments name; the file, if it has several."""
        self._on_line: dict[int, list[int]] = {}
        self._of_documents: list[int] = []
        for comment in texts.comments[:MOST_COMMENTS]:
            place = _place(comment, texts)
            lines = comment.first, comment.last
            entry = own_suppression(dict(comment.entry), place, catalogue, lines)
            if isinstance(entry, str):
                self.problems.append(settings_entries.invalid(entry, self.about, place, "comment"))
            elif entry.expired(today):
                self.problems.append(settings_entries.expired(entry, self.about))
            else:
                self._add(entry, lines)
        for comment in texts.comments[MOST_COMMENTS:]:
            problem = f"more than {MOST_COMMENTS:,} in one file; the others are not read"
            place = _place(comment, texts)
            self.problems.append(settings_entries.invalid(problem, self.about, place, "comment"))

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
                doubts.append(
                    settings_entries.invalid(doubt, self.about, entry.location, "comment")
                )
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


# The suppressions that are stored with each NIC, for findings on shared MAC addresses: comments of
# its file, and entries in the metadata of its domain.
#
# NICs are compared when everything has been read, and each is stored by itself. To bound the memory
# for a file, a NIC has at most one suppression of each kind for each rule that compares NICs, with
# a reason of bounded length.


K = TypeVar("K")
_LONGEST = 500
"""Maximum number of characters of a reason or an owner that are stored with a NIC."""


class _NicsMeant(NamedTuple):
    """The NICs that a comment is for: those on the lines ``first`` to ``last`` with that MAC
    address (None: with any)."""

    first: int
    last: int
    mac: str | None


class MacComments:
    """The comments of a file for the NICs of its domains. ``rules``: those of this run that compare
    NICs by their MAC address."""

    def __init__(self, comments: FileComments, rules: Iterable[str]) -> None:
        self._file = comments.first
        self._by_rule = [_first_entries(comments.entries, rule, _nics_meant) for rule in rules]
        keys = {key[:2] for first in self._by_rule for key in first}
        self._documents = sorted(lines for lines in keys if lines[0] != lines[1])

    def added(self, nics: Iterable[NicSeen], domain: Domain) -> tuple[NicSeen, ...]:
        """The NICs of a domain of this file, each with the comments that may accept a finding on
        its MAC address."""
        nics_on = Counter(nic.location.line or 0 for nic in domain.nics)
        start = domain.location.line or 0
        documents = [lines for lines in self._documents if lines[0] <= start <= lines[1]]
        return tuple(
            replace(nic, comments=self._on(nic, documents, nics_on[nic.location.line or 0]))
            for nic in nics
        )

    def _on(
        self, nic: NicSeen, documents: list[tuple[int, int]], nics_on_line: int
    ) -> tuple[AcceptingComment, ...]:
        """The comments for one NIC. A comment that may be for another NIC of its line is returned
        as invalid, and only if no other comment accepts the finding."""
        line = nic.location.line or 0
        ranges = [(line, line), *documents]
        keys = [_NicsMeant(*lines, mac) for lines in ranges for mac in (None, nic.mac)]
        found: dict[int, AcceptingComment] = {}
        for first in self._by_rule:
            near = [
                (_doubt_mac_comments(key, nics_on_line), *first[key])
                for key in keys
                if key in first
            ]
            if near:
                doubt, number, entry = min(near, key=lambda one: (bool(one[0]), one[1]))
                found[number] = self._stored(entry, doubt)
        return tuple(found.values())

    def _stored(self, entry: Suppression, doubt: str) -> AcceptingComment:
        words = {"problem": doubt} if doubt else _words(entry)
        first, last = entry.lines or (0, 0)
        place = entry.location
        return AcceptingComment(
            place.file or "",
            place.line or 0,
            first,
            last,
            tuple(words.items()),
            self._file.reporter,
            self._file.settles,
        )


def with_metadata(
    nics: Iterable[NicSeen], entries: Iterable[Suppression], rules: Iterable[str]
) -> tuple[NicSeen, ...]:
    """The NICs of a domain, each with the first entry in the domain's metadata for each of these
    rules."""
    valid = tuple(entries)
    by_rule = [_first_entries(valid, rule, lambda one: one.mac) for rule in rules]
    return tuple(replace(nic, suppressions=_texts_for(nic.mac, by_rule)) for nic in nics)


def _first_entries(
    entries: Iterable[Suppression], rule: str, key: Callable[[Suppression], K]
) -> dict[K, tuple[int, Suppression]]:
    """The first entry with each key that covers the rule, with its number among all entries."""
    first: dict[K, tuple[int, Suppression]] = {}
    for number, entry in enumerate(entries):
        if entry.covers(rule):
            first.setdefault(key(entry), (number, entry))
    return first


def _nics_meant(entry: Suppression) -> _NicsMeant:
    return _NicsMeant(*(entry.lines or (0, 0)), entry.mac)


def _texts_for(
    mac: str, by_rule: Iterable[dict[str | None, tuple[int, Suppression]]]
) -> tuple[str, ...]:
    found: dict[int, Suppression] = {}
    for first in by_rule:
        near = [first[whom] for whom in (None, mac) if whom in first]
        found.update([min(near, key=lambda one: one[0])] if near else [])
    return tuple(msgspec.json.encode(_words(one)).decode() for one in found.values())


def _words(entry: Suppression) -> dict[str, str]:
    """The fields of an entry, with a reason and an owner of bounded length."""
    words = {
        "rule": entry.rule,
        "reason": _cut(entry.reason),
        "owner": _cut(entry.owner or ""),
        "until": "" if entry.until is None else entry.until.isoformat(),
        "mac": entry.mac or "",
    }
    return {name: text for name, text in words.items() if text}


def _doubt_mac_comments(key: _NicsMeant, nics_on_line: int) -> str:
    """A sentence if a comment does not tell which NIC of its line it is for; else empty."""
    if key.first != key.last or key.mac is not None or nics_on_line < 2:
        return ""
    return f"its line has {nics_on_line} NICs: give each a line of its own, or name one with mac="


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


class Suppressor:
    """Applies suppressions. ``today`` decides what has expired; ``rules`` are the ids that are
    judged in this run. Each worker process has its own."""

    def __init__(
        self,
        settings: tuple[Suppression, ...],
        today: datetime.date,
        rules: Iterable[str],
        catalogue: Catalogue | None = None,
    ) -> None:
        self._today = today
        self._catalogue = catalogue or shipped_catalogue()
        self._rules = RunRules(rules, self._catalogue)
        self.settings = SettingsEntries(settings, today, self._rules)
        self._comments: FileComments | None = None
        """Of the file whose descriptions come now."""
        self._of_nics: tuple[tuple[AcceptingComment, ...], MacComments] | None = None
        """Of the domain whose NICs were stored last; other domains of its file have the same
        tuple."""

    def apply(
        self, audited: Audited, domain: Domain | None, own: OwnTexts | None = None
    ) -> Audited:
        """Return the judgement with accepted findings moved to ``suppressed``, and with findings
        about the suppressions added that stand with what was judged. ``domain`` None: a host or a
        description; ``own``: what that says of itself (None: a domain's own words).

        Returns ``audited`` itself where there is nothing to do.
        """
        if own is None and domain is not None and (domain.suppressions or domain.comments):
            own = texts_of(domain)
        if own:
            audited = self._apply_own(audited, own, domain)
        return self.settings.apply(audited, domain)

    def accept(self, audited: Audited, own: OwnTexts) -> Audited:
        """A judgement on several domains or nodes, which came when they had been judged: with what
        these texts accept moved to ``suppressed``. What is wrong with those entries was said
        before, except where a comment does not tell which finding of its line it means."""
        if not own or not audited.findings:
            return audited

        entries = OwnEntries(own, self._catalogue, self._today).entries
        audited = without_accepted(audited, enumerate(entries), set(), None)
        if not own.comments:
            return audited
        comments = FileComments(own, self._catalogue, self._today)
        audited, doubts = comments.applied(audited, own.start, None)
        if audited.scope == "mac":  # with_suppressions() stores no others that are invalid
            doubts = [*comments.problems, *doubts]
        return _with(audited, doubts if audited.findings else [])

    def with_suppressions(self, nics: tuple[NicSeen, ...], domain: Domain) -> tuple[NicSeen, ...]:
        """The NICs of a domain, each with the entries of its metadata, and with the comments of its
        file, that may accept a finding on its MAC address."""
        if not nics or not (domain.suppressions or domain.comments):
            return nics

        own = texts_of(domain)
        rules = self._rules.comparing_nics()
        if own.metadata:
            entries = OwnEntries(own, self._catalogue, self._today).entries
            nics = with_metadata(nics, entries, rules)
        if not own.comments:
            return nics
        if self._of_nics is None or self._of_nics[0] is not domain.comments:
            comments = FileComments(own, self._catalogue, self._today)
            self._of_nics = domain.comments, MacComments(comments, rules)
        return self._of_nics[1].added(nics, domain)

    def _apply_own(self, audited: Audited, own: OwnTexts, domain: Domain | None) -> Audited:
        problems: list[Finding] = []
        if own.metadata:
            audited, problems = self._apply_metadata(audited, own, domain)
        if own.comments:
            audited, of_comments = self._apply_comments(audited, own, domain)
            problems.extend(of_comments)
        return _with(audited, problems)

    def _apply_metadata(
        self, audited: Audited, own: OwnTexts, domain: Domain | None
    ) -> tuple[Audited, list[Finding]]:
        found = OwnEntries(own, self._catalogue, self._today)
        used: set[int] = set()
        audited = without_accepted(audited, enumerate(found.entries), used, domain)
        for index, entry in enumerate(found.entries):
            if index in used or not self._rules.selects(entry):
                continue
            later = self._rules.may_come_later(entry, domain)
            if not later and not self._rules.is_undecided(entry, audited, domain):
                about = _ref_in(entry, domain) or own.about
                found.problems.append(settings_entries.unused(entry, about, judged=True))
        return audited, found.problems

    def _apply_comments(
        self, audited: Audited, own: OwnTexts, domain: Domain | None
    ) -> tuple[Audited, list[Finding]]:
        """Return the judgement without the findings that comments accept, and findings about these:
        invalid ones with the first description of a file, unused ones with the last."""
        first = own.comments[0]
        comments = self._comments
        if comments is None or first.reporter or not comments.is_of(own.comments):
            comments = self._comments = FileComments(own, self._catalogue, self._today)
        audited, doubts = comments.applied(audited, own.start, domain)
        problems = [*(comments.problems if first.reporter else ()), *doubts]
        comments.undecided |= self._rules.undecided(audited, domain)
        if first.settles and comments.from_first:
            problems.extend(
                settings_entries.unused(entry, comments.about, judged=True)
                for entry in comments.unused()
                if self._rules.selects(entry) and not covers_any(entry, comments.undecided)
            )
        return audited, problems


def _with(audited: Audited, findings: Iterable[Finding]) -> Audited:
    added = tuple(findings)
    if not added:
        return audited
    return msgspec.structs.replace(audited, findings=(*audited.findings, *added))


def _ref_in(entry: Suppression, domain: Domain | None) -> Ref | None:
    """The NIC of a domain that an entry of its own names by its MAC address; None: none."""
    if domain is None or entry.mac is None:
        return None
    return next((domain.ref_of(nic) for nic in domain.nics if nic.mac == entry.mac), None)
