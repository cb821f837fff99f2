"""The suppressions of the settings: the findings they accept, and the entries that are unused.

These are known only at the end of the run, so their uses can be merged over worker processes.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from vnicaudit.audit.accepting.suppression import (
    SubjectIdentity,
    Suppression,
    without_accepted,
)
from vnicaudit.audit.judging.judgement import fingerprint_of
from vnicaudit.base.wording import shortened
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import INVALID_SUPPRESSION as INVALID
from vnicaudit.model.finding import (
    SETTINGS,
    Finding,
    Location,
    Ref,
    Severity,
)
from vnicaudit.model.names import RuleInfo
from vnicaudit.model.report import Audited

if TYPE_CHECKING:
    from vnicaudit.audit.accepting.suppression import RunRules

# Findings about suppressions that need attention: expired, unused, or not valid.
#
# They have rule ids of their own, which no suppression covers: an expired entry cannot hide that it
# has expired.


_NAMES: dict[str, tuple[str, Severity, str]] = {
    "SUPP001": ("expired-suppression", "low", "A suppression whose last day is over"),
    "SUPP002": ("unused-suppression", "low", "A suppression that accepts nothing any more"),
    INVALID: ("invalid-suppression", "medium", "A suppression that is not valid"),
}

_MANUAL = {
    "SUPP001": "The `until` of a suppression has passed. What it used to accept is reported again. "
    "Fix the cause, or agree on a new date.",
    "SUPP002": "A suppression of the settings matched no finding, although its rule was judged. It "
    "is *low* where the very domain or NIC it names was audited, and *info* where that was not "
    "among the targets, or where it names none (a run over a part of the fleet proves nothing). It "
    "is not reported when its rule was not selected, or was skipped for what it is about.",
    INVALID: "A `<vnicaudit:suppress>` in a domain's metadata, an annotation or a comment that "
    "cannot be used: no reason, no such rule, a rule that compares several guests or nodes, a date "
    "that is none, a misspelt word. It suppresses nothing. (A mistake in the settings is a usage "
    "error instead.)",
}

INFO: tuple[RuleInfo, ...] = tuple(
    RuleInfo(rule, name, severity, "suppression", summary, f"{summary}.\n\n{_MANUAL[rule]}")
    for rule, (name, severity, summary) in _NAMES.items()
)
"""The rule entries of these ids for catalogues and for SARIF."""


Form = Literal["metadata", "annotation", "comment"]
_FORMS: dict[Form, str] = {
    "metadata": "<vnicaudit:suppress rule='…' reason='…' until='2027-01-31'/>",
    "annotation": "suppress.vnicaudit/RULE: reason; until=2027-01-31",
    "comment": "# vnicaudit: suppress RULE reason; until=2027-01-31",
}
"""The notation of suppressions outside the settings."""


def expired(entry: Suppression, about: Ref) -> Finding:
    """SUPP001 for one entry."""
    return _finding(
        "SUPP001",
        entry,
        about,
        f"the suppression of {entry} expired on {entry.until} ({_reason_and_owner(entry)}): "
        "what it accepted is reported again",
        "Fix the cause, or agree on a new date.",
    )


def _unused(entry: Suppression, *, judged: bool) -> Finding:
    """SUPP002 for one entry. ``judged``: the object it names was audited, and had no such
    finding."""
    reason = "there is no such finding (any more)" if judged else "nothing it is about was audited"
    if judged and not entry.about_one:
        reason = "there is no such finding among what was audited"
    return _finding(
        "SUPP002",
        entry,
        _ref(entry),
        f"the suppression of {entry} is not used: {reason} ({_reason_and_owner(entry)})",
        "Remove it." if judged and entry.about_one else "Remove it if it is not needed elsewhere.",
        severity="low" if judged and entry.about_one else "info",
    )


def invalid(problem: str, about: Ref, place: Location, form: Form) -> Finding:
    """SUPP003 for one entry at that place."""
    where = "a comment" if form == "comment" else "the metadata"
    message = f"a suppression in {where} is not valid, and suppresses nothing: {problem}"
    fix = f"Correct it: {_FORMS[form]}. `vnicaudit rules` lists the rules."
    who = about.id or place.file or f"{place.target}#{about.name}"
    return _new_finding(INVALID, about, place, message, fix, fingerprint_of(INVALID, who, problem))


def _finding(
    rule: str, entry: Suppression, about: Ref, message: str, fix: str,
    severity: Severity | None = None,
) -> Finding:  # fmt: skip
    place = entry.location
    if place.xpath is None and entry.lines is None:
        # in the settings, whose path differs between machines: by name only
        who = (place.file or place.target).rpartition("/")[2]
    else:
        who = about.id or place.file or f"{place.target}#{about.name}"
    fingerprint = fingerprint_of(rule, who, f"{entry}\0{entry.reason}")
    return _new_finding(rule, about, place, message, fix, fingerprint, severity)


def _new_finding(
    rule: str, about: Ref, place: Location, message: str, fix: str, fingerprint: str,
    severity: Severity | None = None,
) -> Finding:  # fmt: skip
    name, usual, _summary = _NAMES[rule]
    return Finding(
        rule, name, severity or usual, "high", message, about, place, SETTINGS, None, fingerprint,
        fix,
    )  # fmt: skip


def _reason_and_owner(entry: Suppression) -> str:
    owner = "" if entry.owner is None else f", owner {shortened(entry.owner)}"
    return f"reason: {shortened(entry.reason)}{owner}"


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
            index
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

        for index in self._valid:
            entry = self._entries[index]
            if index not in self._used and _regards(entry, audited, domain):
                self._judged.add(index)
                if self._rules.is_undecided(entry, audited, domain):
                    self._undecided.add(index)
        valid = [self._entries[index] for index in self._valid]
        audited, used = without_accepted(audited, valid, domain)
        self._used.update(self._valid[at] for at in used)
        return audited

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
            _unused(self._entries[index], judged=index in usage.judged_entries)
            for index in self._valid
            if index not in usage.used and index not in usage.undecided
        )

    def _expired(self) -> tuple[Finding, ...]:
        return tuple(
            expired(entry, _ref(entry)) for entry in self._entries if entry.expired(self._today)
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
        return Ref("nic", name, entry.uuid, entry.mac)
    if (name is None and entry.uuid is None) or entry.host is not None:
        return Ref("config")
    if entry.domain is None and entry.image is not None:
        return Ref("image", name, entry.uuid)
    if entry.domain is None and entry.flavor is not None:
        return Ref("flavor", name, entry.uuid)
    return Ref("domain", name, entry.uuid)
