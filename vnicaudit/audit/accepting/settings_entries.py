"""The suppressions of the settings: the findings they accept, and the entries that are unused.

These are known only at the end of the run, so their uses can be merged over worker processes.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.audit.accepting import stale
from vnicaudit.audit.accepting.accepted_findings import without_accepted
from vnicaudit.audit.accepting.suppression import SubjectIdentity
from vnicaudit.model.owner import SETTINGS
from vnicaudit.model.refs import ConfigRef, DomainRef, FlavorRef, ImageRef, NicRef, Ref
from vnicaudit.model.report import Audited

if TYPE_CHECKING:
    from vnicaudit.audit.accepting.run_rules import RunRules
    from vnicaudit.audit.accepting.suppression import Suppression
    from vnicaudit.model.domain import Domain
    from vnicaudit.model.finding import Finding


class Usage(msgspec.Struct, frozen=True):
    """Uses of the settings' suppressions so far, by index; ``|`` merges.

    ``used``: matched a finding. ``judged_entries``: an object of the entry was audited.
    ``undecided``: the entry's rule could not be judged on an object of the entry, so nobody knows
    if the entry is needed.
    """

    used: frozenset[int] = frozenset()
    judged_entries: frozenset[int] = frozenset()
    undecided: frozenset[int] = frozenset()

    def __or__(self, other: Usage) -> Usage:
        return Usage(
            self.used | other.used,
            self.judged_entries | other.judged_entries,
            self.undecided | other.undecided,
        )


class SettingsEntries:
    """The suppressions of the settings in one process. ``today`` decides what has expired."""

    def __init__(
        self, entries: tuple[Suppression, ...], today: datetime.date, rules: RunRules
    ) -> None:
        self._entries = entries
        self._today = today
        self._rules = rules
        self._valid = tuple(
            (index, entry)
            for index, entry in enumerate(entries)
            if not entry.expired(today) and rules.selects(entry)
        )
        self._used: set[int] = set()
        self._judged: set[int] = set()
        self._undecided: set[int] = set()

    def apply(self, audited: Audited, domain: Domain | None) -> Audited:
        """Return the judgement with accepted findings moved to ``suppressed``; ``audited`` itself
        if there is nothing to do."""
        if not self._valid:
            return audited

        for index, entry in self._valid:
            if index not in self._used and _regards(entry, audited, domain):
                self._judged.add(index)
                if self._rules.is_undecided(entry, audited, domain):
                    self._undecided.add(index)
        return without_accepted(audited, self._valid, self._used, domain)

    @property
    def usage(self) -> Usage:
        """The uses that this instance counted."""
        return Usage(frozenset(self._used), frozenset(self._judged), frozenset(self._undecided))

    def closing(self, usage: Usage, *, whole: bool = True) -> Audited | None:
        """Findings on these suppressions at the end of a run, given the merged usage of all
        workers; None if there are none. Unused entries are reported only if the ``whole`` of the
        targets was read."""
        if not self._entries:
            return None
        findings = (*self._expired(), *(self.unused(usage) if whole else ()))
        if not findings:
            return None
        file = self._entries[0].location.file or self._entries[0].location.target
        return Audited(file, file, owner=SETTINGS, scope="config", findings=findings, file=file)

    def unused(self, usage: Usage) -> tuple[Finding, ...]:
        """SUPP002 for each suppression that accepted nothing in the whole run."""
        return tuple(
            stale.unused(entry, _ref(entry), judged=index in usage.judged_entries)
            for index, entry in self._valid
            if index not in usage.used and index not in usage.undecided
        )

    def _expired(self) -> tuple[Finding, ...]:
        return tuple(
            stale.expired(entry, _ref(entry))
            for entry in self._entries
            if entry.expired(self._today)
        )


def _regards(entry: Suppression, audited: Audited, domain: Domain | None) -> bool:
    """True if an entry is about the judged domain, host, image…, including its MAC address."""
    if domain is None:
        return entry.mac is None and entry.regards(SubjectIdentity.of(audited, None), audited.file)
    if not entry.regards(SubjectIdentity.of(audited, domain.cloud), domain.location.file):
        return False
    return entry.mac is None or any(nic.mac == entry.mac for nic in domain.nics)


def _ref(entry: Suppression) -> Ref:
    """Reference to the NIC, image, flavor or domain that an entry names; if it names a pattern, or
    nothing, a reference to the entry itself as part of its file."""
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
