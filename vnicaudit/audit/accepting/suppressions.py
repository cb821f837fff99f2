"""Which findings somebody has accepted: the suppressions of the settings and of each domain.

A finding that a valid, unexpired suppression matches is reported as suppressed. Suppressions of
a domain are settled with that domain; those of the settings only when the whole run is over.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.audit.accepting import stale
from vnicaudit.audit.accepting.accepted_findings import without_accepted
from vnicaudit.audit.accepting.file_comments import FileComments
from vnicaudit.audit.accepting.mac_comments import MacComments, with_metadata
from vnicaudit.audit.accepting.own_entries import OwnEntries, texts_of
from vnicaudit.audit.accepting.run_rules import RunRules, covers_any
from vnicaudit.audit.accepting.settings_entries import SettingsEntries
from vnicaudit.audit.judging.catalogue import Catalogue, shipped_catalogue

if TYPE_CHECKING:
    from vnicaudit.audit.accepting.own_entries import OwnTexts
    from vnicaudit.audit.accepting.suppression import Suppression
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.finding import Finding
    from vnicaudit.model.location import AcceptingComment
    from vnicaudit.model.macs import NicSeen
    from vnicaudit.model.refs import Ref
    from vnicaudit.model.report import Audited


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
                found.problems.append(stale.unused(entry, about, judged=True))
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
                stale.unused(entry, comments.about, judged=True)
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
