"""The part of a host that a reading checked; the rest stays as last known."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal, NamedTuple

from vnicaudit.history.rows import printable, uuid_bytes
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE
from vnicaudit.model.refs import NicRef
from vnicaudit.model.report import Audited

SubjectKey = tuple[str, bytes | str, str | None]
"""Scope, UUID or name, and file if there is no UUID."""

Looked = Literal["yes", "no", "unasked", "gone"]
"""``gone``: the subject of a finding no longer exists. ``unasked``: its rule did not run at all."""

SHARED = "mac"
"""Scope of findings on NICs shared by several domains, possibly on several hosts."""
_ALL = frozenset({EVERY_RULE, ALL_BUT_THE_MODEL})


def subject_key(scope: str, subject: str, uuid: bytes | None, file: str | None) -> SubjectKey:
    """The key of one domain, host or file, unique within its host."""
    return (scope, subject, file) if uuid is None else (scope, uuid, None)


class Place(NamedTuple):
    """The rule and the subject of a finding."""

    rule: str
    key: SubjectKey
    is_nic: bool
    mac: str | None
    nic_index: int | None


class _Subject(NamedTuple):
    """A judged domain, host or file. ``nics`` None: its NICs are not known. ``skipped``: rule ->
    NICs for which it could not be judged; None among them: all NICs."""

    nics: set[str | int] | None
    skipped: dict[str, set[str | int | None]]


class LookedAt:
    """The part of a host that one reading checked. ``rules``: those that ran. ``is_whole``: no
    domain of the host was left out, either by a sample or because it could not be read.
    ``compared``: no host was left out either, so findings on what hosts share are complete."""

    def __init__(
        self,
        audited: Iterable[Audited],
        rules: frozenset[str],
        *,
        is_whole: bool,
        compared: bool = False,
    ) -> None:
        self._compared = compared
        self._rules = rules
        self._is_whole = is_whole
        self._audited = audited

    @cached_property
    def _subjects(self) -> dict[SubjectKey, _Subject]:
        """Built only if something is missing, which is rare."""
        subjects: dict[SubjectKey, _Subject] = {}
        for one in self._audited:
            _add(subjects, one)
        return subjects

    def at_subject(self, key: SubjectKey) -> Looked:
        """Tells if a domain was checked, for NICs that it no longer has."""
        return "yes" if key in self._subjects else "gone" if self._is_whole else "no"

    def at(self, place: Place) -> Looked:
        """Tells if a finding that did not occur was checked."""
        if place.rule not in self._rules:
            return "unasked"
        key = place.key
        if key[0] == SHARED:
            if not self._compared:
                return "no"
            key = ("domain", *key[1:])
        subject = self._subjects.get(key)
        if subject is None:
            return "gone" if self._is_whole else "no"
        if place.is_nic and subject.nics is not None and _nic(place) not in subject.nics:
            return "gone"
        return "no" if self._is_skipped(subject, place) else "yes"

    def _is_skipped(self, subject: _Subject, place: Place) -> bool:
        for rule in (place.rule, *_ALL):
            named = subject.skipped.get(rule)
            if named and (None in named or not place.is_nic or _nic(place) in named):
                return True
        return False


def _add(subjects: dict[SubjectKey, _Subject], one: Audited) -> None:
    file = None if one.file is None else printable(one.file)
    key = subject_key(one.scope, printable(one.subject), uuid_bytes(one.uuid), file)
    had = subjects.get(key)
    nics = _nics_of(one)
    if had is None:
        had = subjects[key] = _Subject(nics, {})
    elif had.nics is not None and nics is not None:
        had.nics.update(nics)
    unjudged = [(each.rule, each.about) for each in one.skipped]
    unjudged += [(each.rule, each.about) for each in one.crashed]
    for rule, about in unjudged:
        named = (about.mac or about.index) if isinstance(about, NicRef) else None
        had.skipped.setdefault(rule, set()).add(named)


def _nic(place: Place) -> str | int | None:
    return place.mac or place.nic_index


def _nics_of(one: Audited) -> set[str | int] | None:
    if one.nics and not one.rows:
        return None
    return {row.mac or row.index for row in one.rows}
