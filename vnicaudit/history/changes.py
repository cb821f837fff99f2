"""Writes the changes of NICs and findings found by an audit, for some hosts at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Table, and_, case, delete, func, select

from vnicaudit.history.database import Row, insert_rows, set_by_id
from vnicaudit.history.hosts import HostWork, KnownHost, chunks, open_findings, open_nics
from vnicaudit.history.origins import NEW, EarlierInterval, Origin, Origins
from vnicaudit.history.rows import (
    FindingFacts,
    NicFacts,
    NicKey,
    ProblemRow,
    digest,
    findings_of,
    milliseconds,
    nics_of,
    printable,
)
from vnicaudit.history.tables import (
    basis_rule,
    finding,
    host,
    host_tally,
    inventory,
    nic,
    problem,
    tally,
)
from vnicaudit.history.transitions import (
    Closed,
    FindingTransitions,
    LookedAt,
    NicTransitions,
    OpenedFinding,
    OpenedNic,
    OpenFinding,
    OpenNic,
    finding_changes,
    nic_changes,
)
from vnicaudit.model.fleet import Coverage, HostReading

# Stored counts, so that a trend reads few rows.


Group = tuple[str, str, str]
"""Owner, rule, severity."""
Flow = tuple[str, str, str, str]
"""Site and group."""
FLOWS = ("new", "reopened", "fixed", "gone")


class HostTally:
    """Counts of open findings on one host."""

    def __init__(self) -> None:
        self.open: Counter[Group] = Counter()
        self.unlooked: Counter[Group] = Counter()
        self.accepted: Counter[Group] = Counter()

    def add(self, group: Group, *, accepted: bool, looked: bool) -> None:
        """Count one finding."""
        kind = self.accepted if accepted else self.open if looked else self.unlooked
        kind[group] += 1

    def rows(self, number: int) -> list[tuple[int | str, ...]]:
        """The rows of a host's counts."""
        groups = {**self.open, **self.unlooked, **self.accepted}
        return [
            (number, *each, self.open[each], self.unlooked[each], self.accepted[each])
            for each in groups
        ]


def replace_host_tallies(connection: Connection, tallies: Mapping[int, HostTally]) -> None:
    """Replace the stored counts of these hosts."""
    for some in chunks(list(tallies)):
        connection.execute(delete(host_tally).where(host_tally.c.host.in_(some)))
    rows = [row for number, one in tallies.items() for row in one.rows(number)]
    insert_rows(connection, host_tally, rows)


def ended_flows(connection: Connection, audit: int) -> Iterator[tuple[str, Flow, int]]:
    """Number of findings that an audit fixed or found gone, without accepted ones."""
    f, p, i = finding.c, problem.c, inventory.c
    group = (func.coalesce(i.site, ""), p.owner, p.rule, p.severity)
    query = (
        select(f.closed_as, *group, func.count())
        .join(problem, p.id == f.problem)
        .outerjoin(inventory, (i.host == f.host) & i.closed.is_(None))
        .where(f.closed == audit, f.closed_as.in_(("fixed", "gone")), f.accepted == 0)
        .group_by(f.closed_as, *group)
    )
    for how, site, owner, rule, severity, number in connection.execute(query):
        yield how, (site, owner, rule, severity), number


def write_tally(
    connection: Connection, audit: int, basis: int, flows: Mapping[str, Counter[Flow]]
) -> None:
    """Store the counts of an audit: those of all hosts of the inventory, and its changes."""
    now = dict(_now(connection, audit, basis))
    keys = {*now, *(key for counts in flows.values() for key in counts)}
    rows: list[Row] = []
    for key in sorted(keys):
        changed = [flows[name][key] for name in FLOWS]
        rows.append((audit, *key, *now.get(key, (0, 0, 0)), *changed))
    insert_rows(connection, tally, rows)


def _now(
    connection: Connection, audit: int, basis: int
) -> Iterator[tuple[Flow, tuple[int, int, int]]]:
    """Site and group, each with the numbers of open, stale and accepted findings."""
    t = host_tally.c
    asked = (basis_rule.c.basis == basis) & (basis_rule.c.rule == t.rule)
    looked = and_(host.c.read == audit, basis_rule.c.rule.is_not(None))
    count = func.sum(case((looked, t.open), else_=0))
    stale = func.sum(t.unlooked + case((looked, 0), else_=t.open))
    group = (inventory.c.site, t.owner, t.rule, t.severity)
    query = (
        select(*group, count, stale, func.sum(t.accepted))
        .select_from(host_tally)
        .join(host, host.c.id == t.host)
        .join(inventory, (inventory.c.host == t.host) & inventory.c.closed.is_(None))
        .outerjoin(basis_rule, asked)
        .group_by(*group)
    )
    for site, owner, rule, severity, *counts in connection.execute(query):
        opened, unlooked, accepted = map(int, counts)  # PostgreSQL returns sums as decimals
        yield (site, owner, rule, severity), (opened, unlooked, accepted)


# Problems known to the history, by number.


class Problems:
    """Numbers of problems; a new problem gets the next number."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers: dict[ProblemRow, int] = {}
        self._last: int = connection.execute(select(func.max(problem.c.id))).scalar() or 0
        self._knows_none = self._last == 0

    def learn(self, problems: Iterable[ProblemRow]) -> dict[ProblemRow, int]:
        """The numbers of all problems requested so far, including these."""
        unknown = {_key(one): one for one in set(problems) if one not in self._numbers}
        if unknown:
            if not self._knows_none:
                self._look_up(unknown)
            self._insert(unknown)
        return self._numbers

    def _look_up(self, unknown: dict[bytes, ProblemRow]) -> None:
        query = select(problem.c.key, problem.c.id)
        for some in chunks(list(unknown)):
            for key, number in self._connection.execute(query.where(problem.c.key.in_(some))):
                self._numbers[unknown.pop(bytes(key))] = number

    def _insert(self, unknown: dict[bytes, ProblemRow]) -> None:
        rows = []
        for key, one in unknown.items():
            self._last += 1
            self._numbers[one] = self._last
            rows.append((self._last, key, *map(_printable, one)))
        insert_rows(self._connection, problem, rows)


def _key(one: ProblemRow) -> bytes:
    return digest(*("" if value is None else f"={value}" for value in one))


def _printable(value: str | int | None) -> str | int | None:
    return printable(value) if isinstance(value, str) else value


Flows = dict[str, Counter[Flow]]
Seen = dict[bytes, FindingFacts]


class _Changed(NamedTuple):
    """A host, and the changes of its NICs and findings."""

    known: KnownHost
    read_at: int
    nics: NicTransitions
    findings: FindingTransitions

    @property
    def host(self) -> int:
        return self.known.id


class ChangeWriter:
    """Writes the intervals that an audit ends and begins. ``flows``: number of findings by kind of
    change, site and group."""

    def __init__(
        self, connection: Connection, audit: int, coverage: Coverage, *, compared: bool = False
    ) -> None:
        self._all_compared = compared
        self._connection = connection
        self._audit = audit
        self._all_nics = coverage.nic_share == 1.0
        self._rules = frozenset(coverage.rules)
        self._origins = Origins(connection, audit)
        self._problems = Problems(connection)
        self.flows: Flows = {name: Counter() for name in FLOWS}
        self._nics = _NicWriter(connection, audit, self._origins)
        self._findings = _FindingWriter(connection, audit, self._origins, self.flows)

    def write(self, work: Sequence[HostWork]) -> None:
        """Write the changes of these hosts."""
        new = [(one.known, one.reading) for one in work if one.reading is not None]
        changes = list(self._changes(new))
        # something gone from one host may have moved to another one of these
        self._nics.close(changes)
        self._findings.close(changes)
        self._nics.open(changes)
        self._findings.open(changes)
        replace_host_tallies(self._connection, {one.host: _tally(one) for one in changes})

    def finish(self) -> None:
        """Call this when all hosts are written: something that is gone may have moved."""
        if self._nics.has_ended or self._findings.has_ended or self._origins.have_moved:
            self._origins.settle_moves()
        if self._findings.has_ended:
            for how, flow, number in ended_flows(self._connection, self._audit):
                self.flows[how][flow] += number

    def _changes(self, new: Sequence[tuple[KnownHost, HostReading]]) -> Iterator[_Changed]:
        before = [known.id for known, _one in new if known.read is not None]
        nics = open_nics(self._connection, before)
        findings = open_findings(self._connection, before)
        seen = [_findings_seen(one) for _known, one in new]
        numbers = self._problems.learn(each.problem for one in seen for each in one.values())
        for (known, one), found in zip(new, seen, strict=True):
            numbered = {key: (facts, numbers[facts.problem]) for key, facts in found.items()}
            had = nics.get(known.id, ()), findings.get(known.id, ())
            yield _Changed(known, milliseconds(one.finished), *self._compared(one, had, numbered))

    def _compared(
        self,
        one: HostReading,
        had: tuple[Sequence[OpenNic], Sequence[OpenFinding]],
        seen: dict[bytes, tuple[FindingFacts, int]],
    ) -> tuple[NicTransitions, FindingTransitions]:
        nics, findings = had
        looked = LookedAt(
            one.audited,
            self._rules,
            is_whole=one.status == "ok" and self._all_nics,
            compared=self._all_compared,
        )
        rows: list[NicFacts] = []
        for each in one.audited:
            rows += nics_of(each)
        return nic_changes(nics, rows, looked), finding_changes(findings, seen, looked)


def _findings_seen(reading: HostReading) -> Seen:
    """The findings of a host. Duplicates count once; if one of them is not accepted, that one
    counts."""
    seen: Seen = {}
    for one in reading.audited:
        for facts in findings_of(one):
            had = seen.get(facts.fingerprint)
            if had is None or (had.accepted and not facts.accepted):
                seen[facts.fingerprint] = facts
    return seen


def _tally(one: _Changed) -> HostTally:
    tally = HostTally()
    for known, looked in one.findings.known:
        group = (known.owner, known.rule, known.severity)
        tally.add(group, accepted=bool(known.accepted), looked=looked)
    for opened in one.findings.opened:
        tally.add(_group(opened.facts), accepted=bool(opened.facts.accepted), looked=True)
    return tally


def _group(facts: FindingFacts) -> tuple[str, str, str]:
    problem = facts.problem
    return problem.owner, problem.rule, problem.severity


class _NicWriter:
    def __init__(self, connection: Connection, audit: int, origins: Origins) -> None:
        self._connection = connection
        self._audit = audit
        self._origins = origins
        self._next = _next_id(connection, nic)
        self.has_ended = False

    def close(self, changes: Sequence[_Changed]) -> None:
        closed = [each for one in changes for each in one.nics.closed]
        self.has_ended |= bool(closed)
        _close(self._connection, nic, self._audit, closed)
        shifted = [each for one in changes for each in one.nics.shifted]
        set_by_id(self._connection, nic, shifted, "nic_index")

    def open(self, changes: Sequence[_Changed]) -> None:
        before = {} if self._origins.no_nics else self._before(changes)
        rows: list[Row] = []
        for one in changes:
            keys = before.keys() & {each.facts.key for each in _appeared(one)} if before else ()
            origins = {key: self._origins.origin(one.host, before[key]) for key in keys}
            rows += [self._row(one, each, origins) for each in one.nics.opened]
        insert_rows(self._connection, nic, rows)

    def _before(self, changes: Sequence[_Changed]) -> dict[NicKey, list[EarlierInterval]]:
        return self._origins.nics({each.facts.key for one in changes for each in _appeared(one)})

    def _row(self, host: _Changed, one: OpenedNic, origins: dict[NicKey, Origin]) -> Row:
        origin = origins.get(one.facts.key, NEW) if origins else NEW
        if one.first_seen is not None:
            origin = Origin("changed", one.first_seen)
        first = host.read_at if origin.first_seen is None else origin.first_seen
        self._next += 1
        head = (self._next - 1, host.host, self._audit, None, origin.opened_as, None)
        return (*head, one.changed, first, *one.facts)


def _appeared(one: _Changed) -> Iterator[OpenedNic]:
    return (each for each in one.nics.opened if each.first_seen is None)


class _FindingWriter:
    def __init__(
        self, connection: Connection, audit: int, origins: Origins, flows: Flows
    ) -> None:  # fmt: skip
        self._connection = connection
        self._audit = audit
        self._origins = origins
        self._flows = flows
        self._next = _next_id(connection, finding)
        self.has_ended = False

    def close(self, changes: Sequence[_Changed]) -> None:
        closed = [each for one in changes for each in one.findings.closed]
        self.has_ended |= bool(closed)
        _close(self._connection, finding, self._audit, closed)
        unlooked = [(each, self._audit) for one in changes for each in one.findings.unlooked]
        looked = [(each, None) for one in changes for each in one.findings.looked]
        set_by_id(self._connection, finding, [*unlooked, *looked], "unlooked")

    def open(self, changes: Sequence[_Changed]) -> None:
        before = {} if self._origins.no_findings else self._before(changes)
        rows: list[Row] = []
        for one in changes:
            at = one.read_at
            for each in one.findings.opened:
                rows.append(self._row(one, each, before, at))
        insert_rows(self._connection, finding, rows)

    def _before(self, changes: Sequence[_Changed]) -> dict[bytes, list[EarlierInterval]]:
        appeared = [
            each.facts.fingerprint
            for one in changes
            for each in one.findings.opened
            if each.opened_as is None
        ]
        return self._origins.findings(appeared)

    def _row(
        self,
        host: _Changed,
        one: OpenedFinding,
        before: dict[bytes, list[EarlierInterval]],
        at: int,
    ) -> Row:
        facts = one.facts
        origin = NEW
        if one.opened_as is not None:
            origin = Origin(one.opened_as, one.first_seen, one.reopened)
        elif before:
            origin = self._origins.origin(host.host, before.get(facts.fingerprint, ()))
        if not facts.accepted and origin.opened_as in ("new", "reopened"):
            self._count(origin.opened_as, host, _group(facts))
        first = at if origin.first_seen is None else origin.first_seen
        self._next += 1
        head = (self._next - 1, host.host, facts.fingerprint, one.problem, self._audit, None)
        told = (origin.opened_as, None, first, origin.reopened, None)
        return head + told + facts[2:]

    def _count(self, flow: str, one: _Changed, group: tuple[str, str, str]) -> None:
        inventoried = one.known.inventoried
        site = "" if inventoried is None else inventoried.site
        key: Flow = (site, *group)
        self._flows[flow][key] += 1


def _close(connection: Connection, table: Table, audit: int, closed: Iterable[Closed]) -> None:
    rows = [(each.id, audit, each.closed_as) for each in closed]
    set_by_id(connection, table, rows, "closed", "closed_as")


def _next_id(connection: Connection, table: Table) -> int:
    return 1 + (connection.execute(select(func.max(table.c.id))).scalar() or 0)
