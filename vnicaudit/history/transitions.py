"""Changes that a reading of a host makes to its known NICs and findings, as pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Literal, NamedTuple, TypeVar

from vnicaudit.history.rows import FindingFacts, NicColumns, printable, uuid_bytes
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE
from vnicaudit.model.report import Audited

# Matches items that look alike between a state before and a state after.


K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
U = TypeVar("U")


def grouped(rows: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Values by key, in their original order."""
    groups: dict[K, list[V]] = {}
    for key, value in rows:
        groups.setdefault(key, []).append(value)
    return groups


def matched(
    old: Sequence[tuple[Hashable, T]], new: Sequence[tuple[Hashable, U]]
) -> Iterator[tuple[T | None, U | None]]:
    """Pair items, each given with its state: first those with equal states, then the others in
    order; None if one side has fewer. The work grows linearly with their number."""
    if not (old and new):
        yield from zip_longest((one for _state, one in old), (one for _state, one in new))
        return
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in reversed(range(len(old))):
        waiting[old[place][0]].append(place)
    others = []
    for state, after in new:
        if same := waiting.get(state):
            yield old[same.pop()][1], after
        else:
            others.append(after)
    left = sorted(place for some in waiting.values() for place in some)
    yield from zip_longest((old[place][1] for place in left), others)


# The part of a host that a reading checked; the rest stays as last known.


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
        named = (about.mac or about.index) if about.kind == "nic" else None
        had.skipped.setdefault(rule, set()).add(named)


def _nic(place: Place) -> str | int | None:
    return place.mac or place.nic_index


def _nics_of(one: Audited) -> set[str | int] | None:
    if one.nics and not one.rows:
        return None
    return {row.mac or row.index for row in one.rows}


Value = str | int | bytes | None

COMPARED = tuple(name for name in NicColumns._fields if name != "nic_index")
"""Columns that make up the state of a NIC."""


class OpenNic(NamedTuple):
    """An open interval of a NIC."""

    id: int
    first_seen: int
    facts: NicColumns


class OpenFinding(NamedTuple):
    """An open interval of a finding. ``problem``: its id. ``unlooked``: the first audit of its host
    that did not check it."""

    id: int
    fingerprint: bytes
    problem: int
    first_seen: int
    reopened: int
    unlooked: int | None
    accepted: int
    subject: str
    rule: str
    severity: str
    owner: str
    scope: str
    uuid: bytes | None
    mac: str | None
    nic_index: int | None
    file: str | None


class Closed(NamedTuple):
    """An interval that ended, and how."""

    id: int
    closed_as: str


class OpenedNic(NamedTuple):
    """An interval that begins. ``first_seen`` None: the NIC was not known on this host."""

    facts: NicColumns
    first_seen: int | None = None
    changed: str | None = None


class OpenedFinding(NamedTuple):
    """An interval that begins. ``opened_as`` None: the finding was not open on this host before."""

    facts: FindingFacts
    problem: int
    opened_as: str | None = None
    first_seen: int | None = None
    reopened: int = 0


class NicTransitions(NamedTuple):
    """Changes of one host. ``shifted``: ids of open intervals, each with the new index of its
    NIC."""

    opened: list[OpenedNic]
    closed: list[Closed]
    shifted: list[tuple[int, int]]


class FindingTransitions(NamedTuple):
    """Changes of one host. ``unlooked``, ``looked``: ids of intervals that are no longer, or again,
    checked."""

    opened: list[OpenedFinding]
    closed: list[Closed]
    unlooked: list[int]
    looked: list[int]


def nic_changes(
    known: Sequence[OpenNic], seen: Iterable[NicColumns], looked: LookedAt
) -> NicTransitions:
    """Compare the known NICs of a host with those seen now."""
    if not known:  # a new host, as all are at first
        return NicTransitions([OpenedNic(facts) for facts in seen], [], [])
    before = grouped((one.facts.key, one) for one in known)
    changes = NicTransitions([], [], [])
    for key, now in grouped((facts.key, facts) for facts in seen).items():
        for old, facts in _pairs(before.pop(key, ()), now):
            _compare_nic(old, facts, looked, changes)
    for some in before.values():
        for old in some:
            _compare_nic(old, None, looked, changes)
    return changes


def _pairs(
    old: Sequence[OpenNic], new: Sequence[NicColumns]
) -> Iterable[tuple[OpenNic | None, NicColumns | None]]:
    """Pairs of NICs with the same key."""
    if len(old) == len(new) == 1:
        return ((old[0], new[0]),)
    in_order = sorted(old, key=lambda one: (one.facts.nic_index, one.id))
    return matched(
        [(one.facts.state, one) for one in in_order], [(facts.state, facts) for facts in new]
    )


def _compare_nic(
    old: OpenNic | None, facts: NicColumns | None, looked: LookedAt, changes: NicTransitions
) -> None:
    """Compare a NIC before and now; None: it did not, or does not, exist."""
    if facts is None:
        if (
            old is not None
            and looked.at_subject(subject_key("domain", old.facts.domain, old.facts.uuid, None))
            != "no"
        ):
            changes.closed.append(Closed(old.id, "gone"))
    elif old is None:
        changes.opened.append(OpenedNic(facts))
    elif different := changed_columns(old.facts, facts):
        changes.closed.append(Closed(old.id, "changed"))
        changes.opened.append(OpenedNic(facts, old.first_seen, " ".join(different)))
    elif old.facts.nic_index != facts.nic_index:
        changes.shifted.append((old.id, facts.nic_index))


def changed_columns(old: NicColumns, new: NicColumns) -> list[str]:
    """Names of the columns in which two states of a NIC differ, not counting its index."""
    return [] if old == new else list(changed_values(old, new))


def changed_values(old: NicColumns, new: NicColumns) -> dict[str, tuple[Value, Value]]:
    """The columns in which two states of a NIC differ, each with both values."""
    columns = zip(NicColumns._fields, old, new, strict=True)
    return {name: (a, b) for name, a, b in columns if a != b and name != "nic_index"}


def finding_changes(
    known: Sequence[OpenFinding], seen: Mapping[bytes, tuple[FindingFacts, int]], looked: LookedAt
) -> FindingTransitions:
    """Compare the known findings of a host with those seen now. ``seen``: fingerprint -> the
    finding and the id of its problem."""
    changes = FindingTransitions([], [], [], [])
    before = {one.fingerprint: one for one in known}
    for fingerprint, (facts, problem) in seen.items():
        old = before.pop(fingerprint, None)
        if old is None:
            changes.opened.append(OpenedFinding(facts, problem))
        else:
            _compare(old, facts, problem, changes)
    for old in before.values():
        _missing(old, looked, changes)
    return changes


def _compare(
    old: OpenFinding, facts: FindingFacts, problem: int, changes: FindingTransitions
) -> None:
    """A finding that was open, and occurs again."""
    if (old.problem, old.accepted, old.subject) == (problem, facts.accepted, facts.subject):
        if old.unlooked is not None:
            changes.looked.append(old.id)
        return
    change = "suppressed" if facts.accepted else "unsuppressed"
    if bool(old.accepted) == bool(facts.accepted):
        change = "changed"
    changes.closed.append(Closed(old.id, change))
    changes.opened.append(OpenedFinding(facts, problem, change, old.first_seen, old.reopened))


def _missing(old: OpenFinding, looked: LookedAt, changes: FindingTransitions) -> None:
    """A finding that was open, and does not occur now."""
    is_nic = old.mac is not None or old.nic_index is not None
    key = subject_key(old.scope, old.subject, old.uuid, old.file)
    answer = looked.at(Place(old.rule, key, is_nic, old.mac, old.nic_index))
    if answer in ("no", "unasked"):
        if answer == "no" and old.unlooked is None:
            changes.unlooked.append(old.id)
        return
    changes.closed.append(Closed(old.id, "fixed" if answer == "yes" else "gone"))
