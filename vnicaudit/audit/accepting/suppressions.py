"""Which findings somebody has accepted: the suppressions of the settings and of each domain.

A finding that a valid, unexpired suppression matches is reported as suppressed. Suppressions of
a domain are settled with that domain; those of the settings only when the whole run is over, so
what is known about them can be merged over worker processes.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain

import msgspec

from vnicaudit.audit.accepting import stale
from vnicaudit.audit.accepting.file_comments import FileComments
from vnicaudit.audit.accepting.mac_comments import MacComments, with_metadata
from vnicaudit.audit.accepting.own_entries import OwnEntries, OwnTexts, texts_of
from vnicaudit.audit.accepting.suppression import SubjectIdentity, Suppression
from vnicaudit.audit.judging import macs
from vnicaudit.audit.judging.catalogue import Catalogue, shipped_catalogue
from vnicaudit.model.accepting import AcceptingComment
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE, Finding
from vnicaudit.model.location import Location
from vnicaudit.model.macs import NicSeen
from vnicaudit.model.refs import ConfigRef, DomainRef, FlavorRef, ImageRef, NicRef, Ref, mac_of
from vnicaudit.model.report import Audited, Suppressed
from vnicaudit.model.server import CloudServer


class Usage(msgspec.Struct, frozen=True):
    """Uses of the settings' suppressions so far, by index; ``|`` merges.

    ``used``: matched a finding. ``judged_entries``: something it is about was audited.
    ``undecided``: its rule could not be judged on something it is about, so nobody knows whether it
    is needed."""

    used: frozenset[int] = frozenset()
    judged_entries: frozenset[int] = frozenset()
    undecided: frozenset[int] = frozenset()

    def __or__(self, other: Usage) -> Usage:
        return Usage(
            self.used | other.used,
            self.judged_entries | other.judged_entries,
            self.undecided | other.undecided,
        )


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
        self._settings = settings
        self._today = today
        self._rules = tuple(rules)
        self._catalogue = catalogue or shipped_catalogue()
        self._live: dict[str, bool] = {}
        self._comments: FileComments | None = None
        """Of the file whose descriptions come now."""
        self._of_nics: tuple[tuple[AcceptingComment, ...], MacComments] | None = None
        """Of the domain whose NICs were stored last; other domains of its file have the same
        tuple."""
        self._told: set[Location] = set()
        """Comments of which :meth:`accept` has told a doubt."""
        self._valid = tuple(
            (index, entry)
            for index, entry in enumerate(settings)
            if not entry.expired(today) and self._selected(entry)
        )
        self._used: set[int] = set()
        self._judged: set[int] = set()
        self._undecided: set[int] = set()

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
        if not self._valid:
            return audited
        self._note(audited, domain)
        server = None if domain is None else domain.cloud
        return _moved(audited, self._valid, self._used.add, server)

    def accept(self, audited: Audited, own: OwnTexts) -> Audited:
        """A judgement on several domains or nodes, which came when they had been judged: with what
        these texts accept moved to ``suppressed``. What is wrong with those entries was said
        before, except where a comment does not tell which finding of its line it means: that is
        added once for each comment."""
        if not own or not audited.findings:
            return audited
        valid = [*enumerate(OwnEntries(own, self._catalogue, self._today).entries)]
        doubts: list[Finding] = []
        if own.comments:
            comments = FileComments(own, self._catalogue, self._today)
            if audited.scope == "mac":  # with_suppressions() stores no others that are invalid
                doubts.extend(comments.problems)
            for number, entry in comments.near(audited.findings, own.start):
                if doubt := _doubt(entry, audited, None):
                    place = entry.location
                    doubts.append(stale.invalid(doubt, comments.about, place, "comment"))
                else:
                    valid.append((number, entry))
        audited = _moved(audited, tuple(valid), _unnoted, None)
        new = [one for one in doubts if one.location not in self._told]
        if not new or not audited.findings:
            return audited
        self._told.update(one.location for one in new)
        return msgspec.structs.replace(audited, findings=(*audited.findings, *new))

    def with_suppressions(self, nics: tuple[NicSeen, ...], domain: Domain) -> tuple[NicSeen, ...]:
        """The NICs of a domain, each with the entries of its metadata, and with the comments of its
        file, that may accept a finding on its MAC address."""
        if not nics or not (domain.suppressions or domain.comments):
            return nics
        own = texts_of(domain)
        rules = [rule for rule in self._rules if self._compares(rule, "mac")]
        if own.metadata:
            entries = OwnEntries(own, self._catalogue, self._today).entries
            nics = with_metadata(nics, entries, rules)
        if not own.comments:
            return nics
        if self._of_nics is None or self._of_nics[0] is not domain.comments:
            comments = FileComments(own, self._catalogue, self._today)
            self._of_nics = domain.comments, MacComments(comments, rules)
        return self._of_nics[1].added(nics, domain)

    @property
    def usage(self) -> Usage:
        """The uses of the settings' suppressions that this instance counted."""
        return Usage(frozenset(self._used), frozenset(self._judged), frozenset(self._undecided))

    def closing(self, usage: Usage, *, whole: bool = True) -> Audited | None:
        """Findings on the settings' suppressions at the end of a run, given the merged usage of all
        workers; None where there are none. Unused entries are reported where the ``whole`` of the
        targets was read."""
        findings = (*self.expired(), *(self.unused(usage) if whole else ()))
        if not findings:
            return None
        file = self._settings[0].location.file or self._settings[0].location.target
        return Audited(file, file, owner=stale.OWNER, scope="config", findings=findings, file=file)

    def expired(self) -> tuple[Finding, ...]:
        """SUPP001 for each suppression of the settings that has expired."""
        return tuple(
            stale.expired(entry, _ref(entry))
            for entry in self._settings
            if entry.expired(self._today)
        )

    def unused(self, usage: Usage) -> tuple[Finding, ...]:
        """SUPP002 for each suppression of the settings that accepted nothing in the whole run."""
        return tuple(
            stale.unused(entry, _ref(entry), judged=index in usage.judged_entries)
            for index, entry in self._valid
            if index not in usage.used and index not in usage.undecided
        )

    def _selected(self, entry: Suppression) -> bool:
        return any(entry.covers(rule) for rule in self._rules)

    def _apply_own(self, audited: Audited, own: OwnTexts, domain: Domain | None) -> Audited:
        problems: list[Finding] = []
        if own.metadata:
            audited, problems = self._apply_metadata(audited, own, domain)
        if own.comments:
            audited, of_comments = self._apply_comments(audited, own, domain)
            problems.extend(of_comments)
        if not problems:
            return audited
        return msgspec.structs.replace(audited, findings=(*audited.findings, *problems))

    def _apply_metadata(
        self, audited: Audited, own: OwnTexts, domain: Domain | None
    ) -> tuple[Audited, list[Finding]]:
        found = OwnEntries(own, self._catalogue, self._today)
        used: set[int] = set()
        server = None if domain is None else domain.cloud
        audited = _moved(audited, tuple(enumerate(found.entries)), used.add, server)
        for index, entry in enumerate(found.entries):
            if index in used or not self._selected(entry):
                continue
            later = self._may_come_later(entry, domain)
            if not later and not self._is_undecided(entry, audited, domain):
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
        server = None if domain is None else domain.cloud
        problems = [*(comments.problems if first.reporter else ())]
        near: list[tuple[int, Suppression]] = []
        for number, entry in comments.near(audited.findings, own.start):
            if doubt := _doubt(entry, audited, server):
                if number not in comments.refused:
                    problems.append(stale.invalid(doubt, comments.about, entry.location, "comment"))
                comments.refused.add(number)
            else:
                near.append((number, entry))
        audited = _moved(audited, tuple(near), comments.used.add, server)
        comments.undecided |= self._undecided_rules(audited, domain)
        if first.settles and comments.from_first:
            problems.extend(
                stale.unused(entry, comments.about, judged=True)
                for entry in comments.unused()
                if self._selected(entry) and not _covers_any(entry, comments.undecided)
            )
        return audited, problems

    def _undecided_rules(self, audited: Audited, domain: Domain | None) -> set[str]:
        """The rules of which it is not known whether they have more to say of what was judged:
        skipped, crashed, in need of a live host, or judged when everything has been read."""
        found = {one.rule for one in audited.skipped} | {one.rule for one in audited.crashed}
        offline = domain is not None and domain.state is None
        scope = "site" if domain is None else "mac"
        compared = domain is None or bool(macs.nics_seen(domain, domain.location.target))
        found.update(
            rule
            for rule in self._rules
            if (offline and self._needs_live(rule)) or (compared and self._compares(rule, scope))
        )
        return found

    def _note(self, audited: Audited, domain: Domain | None) -> None:
        """Remember which suppressions of the settings this judgement was about."""
        for index, entry in self._valid:
            if index not in self._used and _regards(entry, audited, domain):
                self._judged.add(index)
                if self._is_undecided(entry, audited, domain):
                    self._undecided.add(index)

    def _may_come_later(self, entry: Suppression, domain: Domain | None) -> bool:
        """True where a rule that compares NICs, or compute nodes, after everything has been read
        may still yield a finding that this entry accepts."""
        scope = "site" if domain is None else "mac"
        if not any(entry.covers(rule) and self._compares(rule, scope) for rule in self._rules):
            return False
        if domain is None:
            return True
        compared = macs.nics_seen(domain, domain.location.target)
        return any(entry.mac in (None, nic.mac) for nic in compared)

    def _compares(self, rule: str, scope: str) -> bool:
        """True where a rule judges in this scope, after everything has been read."""
        return scope in self._catalogue.listed(rule).scopes

    def _needs_live(self, rule: str) -> bool:
        """True where a rule needs live facts, which a definition alone cannot give."""
        found = self._live.get(rule)
        if found is None:
            needs = self._catalogue.main_judge(rule).needs
            found = self._live[rule] = any(need.live for need in needs)
        return found

    def _is_undecided(self, entry: Suppression, audited: Audited, domain: Domain | None) -> bool:
        """A rule it is about could not be judged here: skipped, crashed, or silent because it
        judges only what a live host tells."""
        offline = domain is not None and domain.state is None
        if offline and any(entry.covers(rule) and self._needs_live(rule) for rule in self._rules):
            return True
        unjudged = ((item.rule, mac_of(item.about)) for item in audited.skipped)
        crashed = ((item.rule, mac_of(item.about)) for item in audited.crashed)
        return any(
            (entry.covers(rule) or rule in (EVERY_RULE, ALL_BUT_THE_MODEL))
            and (not entry.mac or mac in (None, entry.mac))
            for rule, mac in chain(unjudged, crashed)
        )


def _doubt(entry: Suppression, audited: Audited, server: CloudServer | None) -> str:
    """A sentence where a comment is about one line, which has several findings of one rule; else
    empty."""
    if entry.lines is None or entry.lines[0] != entry.lines[1]:
        return ""
    whom = SubjectIdentity.of(audited, server)
    rules = Counter(one.rule for one in audited.findings if entry.matches(one, whom))
    for rule, number in rules.most_common(1):
        if number > 1:
            return f"its line has {number} findings of {rule}: give each a line of its own"
    return ""


def _covers_any(entry: Suppression, rules: Iterable[str]) -> bool:
    return any(entry.covers(rule) or rule in (EVERY_RULE, ALL_BUT_THE_MODEL) for rule in rules)


def _unnoted(index: int) -> None:
    del index


def _regards(entry: Suppression, audited: Audited, domain: Domain | None) -> bool:
    """True where an entry is about the domain, host, image… that was judged, MAC address
    included."""
    if domain is None:
        return entry.mac is None and entry.regards(SubjectIdentity.of(audited, None), audited.file)
    if not entry.regards(SubjectIdentity.of(audited, domain.cloud), domain.location.file):
        return False
    return entry.mac is None or any(nic.mac == entry.mac for nic in domain.nics)


def _moved(
    audited: Audited,
    entries: tuple[tuple[int, Suppression], ...],
    note: Callable[[int], None],
    server: CloudServer | None,
) -> Audited:
    """``audited`` with each finding that an entry matches moved; ``note`` gets the indices of all
    entries that match, not only of the first. ``server``: which one of OpenStack was judged."""
    whom = SubjectIdentity.of(audited, server)
    kept: list[Finding] = []
    moved: list[Suppressed] = []
    for finding in audited.findings:
        matching = [(index, entry) for index, entry in entries if entry.matches(finding, whom)]
        for index, _entry in matching:
            note(index)
        if matching:
            moved.append(_suppressed(finding, matching[0][1]))
        else:
            kept.append(finding)
    if not moved:
        return audited
    return msgspec.structs.replace(
        audited, findings=tuple(kept), suppressed=(*audited.suppressed, *moved)
    )


def _ref(entry: Suppression) -> Ref:
    """Reference to the NIC, image, flavor or domain that an entry names; where it names a pattern,
    or nothing, a reference to the entry itself as part of its file."""
    name = entry.name if entry.about_one else None
    if entry.mac is not None:
        return NicRef(name, entry.uuid, entry.mac)
    if name is None and entry.uuid is None:
        return ConfigRef()
    if entry.domain is None and entry.image is not None:
        return ImageRef(name, entry.uuid)
    if entry.domain is None and entry.flavor is not None:
        return FlavorRef(name, entry.uuid)
    return DomainRef(name, entry.uuid)


def _suppressed(finding: Finding, entry: Suppression) -> Suppressed:
    until = "" if entry.until is None else entry.until.isoformat()
    in_source = entry.in_metadata or entry.lines is not None
    return Suppressed(finding, entry.reason, entry.source, entry.owner or "", until, in_source)


def _ref_in(entry: Suppression, domain: Domain | None) -> Ref | None:
    """The NIC of a domain that an entry of its own names by its MAC address; None: none."""
    if domain is None or entry.mac is None:
        return None
    return next((domain.ref_of(nic) for nic in domain.nics if nic.mac == entry.mac), None)
