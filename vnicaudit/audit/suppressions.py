"""Which findings somebody has accepted: the suppressions of the settings and of each domain.

A finding that a valid, unexpired suppression matches is reported as suppressed. Suppressions of
a domain are settled with that domain; those of the settings only when the whole run is over, so
what is known about them can be merged over worker processes.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain

import msgspec

from vnicaudit.audit import macs, stale
from vnicaudit.audit.catalogue import judges, load
from vnicaudit.audit.suppression import Suppression, Whom, from_metadata
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE, Finding, NicRef
from vnicaudit.model.report import Audited, Suppressed
from vnicaudit.model.server import ServerRef

MAX_PER_DOMAIN = 256
"""More suppressions than this in one domain are not read: a definition may come from anywhere."""

IN_METADATA = "the domain's metadata"

_LIVE = ("running", "state", "host.")
"""Beginnings of facts (:mod:`vnicaudit.audit.facts`) that a definition alone never has."""


class Usage(msgspec.Struct, frozen=True):
    """What has come of the settings' suppressions so far, by index; ``|`` merges.

    ``used``: matched a finding. ``judged``: something it is about was audited. ``undecided``: its
    rule could not be judged on something it is about, so nobody knows whether it is needed.
    """

    used: frozenset[int] = frozenset()
    judged: frozenset[int] = frozenset()
    undecided: frozenset[int] = frozenset()

    def __or__(self, other: Usage) -> Usage:
        return Usage(
            self.used | other.used,
            self.judged | other.judged,
            self.undecided | other.undecided,
        )


class Suppressor:
    """Applies suppressions. ``today`` decides what has expired; ``rules`` are the ids that are
    judged in this run. Each worker process has its own."""

    def __init__(
        self, settings: tuple[Suppression, ...], today: datetime.date, rules: Iterable[str]
    ) -> None:
        self._settings = settings
        self._today = today
        self._rules = tuple(rules)
        self._valid = tuple(
            (index, entry)
            for index, entry in enumerate(settings)
            if not entry.expired(today) and self._selected(entry)
        )
        self._used: set[int] = set()
        self._judged: set[int] = set()
        self._undecided: set[int] = set()

    def apply(self, audited: Audited, domain: Domain | None) -> Audited:
        """The same judgement with accepted findings moved to ``suppressed``, and with findings
        about the domain's own suppressions added. ``domain`` None: a host or a configuration.

        Returns ``audited`` itself where there is nothing to do.
        """
        if domain is not None and domain.suppressions:
            audited = self._apply_own(audited, domain)
        if not self._valid:
            return audited
        self._note(audited, domain)
        server = None if domain is None else domain.cloud
        return _moved(audited, self._valid, self._used.add, server)

    def accept(self, audited: Audited, own: tuple[str, ...]) -> Audited:
        """A judgement on several domains, which came when they had been judged: with what the
        metadata of this one accept moved to ``suppressed``. What is wrong with those entries was
        said before."""
        if not own or not audited.findings:
            return audited
        place = audited.findings[0].location
        domain = Domain(audited.subject, DomainConfig(), place, uuid=audited.uuid, suppressions=own)
        entries, _said = self._own(domain)
        return _moved(audited, tuple(enumerate(entries)), _unnoted, None, source=IN_METADATA)

    @property
    def usage(self) -> Usage:
        """What this instance knows of the settings' suppressions so far."""
        return Usage(frozenset(self._used), frozenset(self._judged), frozenset(self._undecided))

    def closing(self, usage: Usage, *, whole: bool = True) -> Audited | None:
        """What is to be said of the settings' suppressions at the end of a run, given the merged
        usage of all workers; None where nothing is. Which are unused is told where the
        ``whole`` of the targets was looked at."""
        findings = (*self.expired(), *(self.unused(usage) if whole else ()))
        if not findings:
            return None
        file = self._settings[0].location.file or self._settings[0].location.target
        return Audited(file, file, owner=stale.OWNER, scope="config", findings=findings, file=file)

    def expired(self) -> tuple[Finding, ...]:
        """SUPP001 for each suppression of the settings that has expired."""
        return tuple(
            stale.expired(entry, _named(entry))
            for entry in self._settings
            if entry.expired(self._today)
        )

    def unused(self, usage: Usage) -> tuple[Finding, ...]:
        """SUPP002 for each suppression of the settings that accepted nothing in the whole run."""
        return tuple(
            stale.unused(entry, _named(entry), judged=index in usage.judged)
            for index, entry in self._valid
            if index not in usage.used and index not in usage.undecided
        )

    def _selected(self, entry: Suppression) -> bool:
        return any(entry.covers(rule) for rule in self._rules)

    def _apply_own(self, audited: Audited, domain: Domain) -> Audited:
        entries, extra = self._own(domain)
        used: set[int] = set()
        audited = _moved(
            audited, tuple(enumerate(entries)), used.add, domain.cloud, source=IN_METADATA
        )
        ref = NicRef(domain.name, domain.uuid)
        for index, entry in enumerate(entries):
            if index in used or not self._selected(entry) or self._may_come_later(entry, domain):
                continue
            if not self._is_undecided(entry, audited, domain):
                extra.append(stale.unused(entry, _nic_of(entry, domain, ref), judged=True))
        if not extra:
            return audited
        return msgspec.structs.replace(audited, findings=(*audited.findings, *extra))

    def _own(self, domain: Domain) -> tuple[list[Suppression], list[Finding]]:
        """The domain's own suppressions that hold, and findings about those that do not."""
        entries: list[Suppression] = []
        extra: list[Finding] = []
        ref = NicRef(domain.name, domain.uuid)
        for raw in domain.suppressions[:MAX_PER_DOMAIN]:
            entry = from_metadata(raw, domain)
            if isinstance(entry, str):
                extra.append(stale.invalid(entry, domain))
            elif entry.expired(self._today):
                extra.append(stale.expired(entry, _nic_of(entry, domain, ref)))
            else:
                entries.append(entry)
        if len(domain.suppressions) > MAX_PER_DOMAIN:
            problem = f"more than {MAX_PER_DOMAIN} in one domain; the others are not read"
            extra.append(stale.invalid(problem, domain))
        return entries, extra

    def _note(self, audited: Audited, domain: Domain | None) -> None:
        """Remember which suppressions of the settings this judgement was about."""
        for index, entry in self._valid:
            if index not in self._used and _regards(entry, audited, domain):
                self._judged.add(index)
                if self._is_undecided(entry, audited, domain):
                    self._undecided.add(index)

    def _may_come_later(self, entry: Suppression, domain: Domain) -> bool:
        """Whether a rule that judges when everything has been read may yet find what it accepts."""
        if not any(entry.covers(rule) and "mac" in judges(rule) for rule in self._rules):
            return False
        compared = macs.seen(domain, domain.location.target)
        return any(entry.mac in (None, nic.mac) for nic in compared)

    def _is_undecided(self, entry: Suppression, audited: Audited, domain: Domain | None) -> bool:
        """A rule it is about could not be judged here: skipped, crashed, or silent because it
        judges only what a live host tells."""
        offline = domain is not None and domain.state is None
        if offline and any(entry.covers(rule) and _needs_live(rule) for rule in self._rules):
            return True
        unjudged = ((item.rule, item.nic.mac) for item in audited.skipped)
        crashed = ((item.rule, item.nic.mac) for item in audited.crashed)
        return any(
            (entry.covers(rule) or rule in (EVERY_RULE, ALL_BUT_THE_MODEL))
            and (not entry.mac or mac in (None, entry.mac))
            for rule, mac in chain(unjudged, crashed)
        )


def _unnoted(index: int) -> None:
    del index


@cache
def _needs_live(rule: str) -> bool:
    return any(need.startswith(_LIVE) for need in load(rule).needs)


def _regards(entry: Suppression, audited: Audited, domain: Domain | None) -> bool:
    """Whether what was judged is among the things an entry is about."""
    if domain is None:
        return entry.mac is None and entry.regards(Whom.of(audited, None), audited.file)
    if not entry.regards(Whom.of(audited, domain.cloud), domain.location.file):
        return False
    return entry.mac is None or any(nic.mac == entry.mac for nic in domain.nics)


def _moved(
    audited: Audited,
    entries: tuple[tuple[int, Suppression], ...],
    note: Callable[[int], None],
    server: ServerRef | None,
    *,
    source: str = "",
) -> Audited:
    """``audited`` with each finding that an entry matches moved; ``note`` gets the indices of all
    entries that match, not only of the first. ``server``: which one of OpenStack was judged.
    ``source`` empty: where the entry stands."""
    whom = Whom.of(audited, server)
    kept: list[Finding] = []
    moved: list[Suppressed] = []
    for finding in audited.findings:
        matching = [(index, entry) for index, entry in entries if entry.matches(finding, whom)]
        for index, _entry in matching:
            note(index)
        if matching:
            entry = matching[0][1]
            moved.append(Suppressed(finding, entry.reason, source or str(entry.location)))
        else:
            kept.append(finding)
    if not moved:
        return audited
    return msgspec.structs.replace(
        audited, findings=tuple(kept), suppressed=(*audited.suppressed, *moved)
    )


def _named(entry: Suppression) -> NicRef:
    """The domain (image, flavor) and NIC it names; a pattern names none."""
    return NicRef(entry.name if entry.about_one else None, entry.uuid, entry.mac)


def _nic_of(entry: Suppression, domain: Domain, ref: NicRef) -> NicRef:
    """The NIC of a domain an entry names by its MAC; else the domain."""
    for nic in domain.nics:
        if entry.mac is not None and nic.mac == entry.mac:
            return NicRef(domain.name, domain.uuid, nic.mac, nic.index, nic.target_dev)
    return ref
