"""Writes the changes of NICs and findings found by an audit, for some hosts at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, Table, and_, case, func, or_, select

from vnicaudit.history.database import Row, insert_rows, set_by_id
from vnicaudit.history.hosts import HostWork, KnownHost, chunks, open_findings, open_nics
from vnicaudit.history.origins import NEW, EarlierInterval, Origin, Origins
from vnicaudit.history.rows import (
    FindingFacts,
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
    finding_changes,
    nic_changes,
)
from vnicaudit.model.fleet import Coverage, HostReading

# Stored counts, so that a trend reads few rows.


FLOWS = ("new", "reopened", "fixed", "gone")


def write_tally(connection: Connection, audit: int, basis: int) -> dict[str, int]:
    """Store the counts of an audit by site, owner, rule and severity: the findings that are open on
    the hosts of the inventory, and those that it changed. Returns the numbers of these."""
    f, p, h, i = finding.c, problem.c, host.c, inventory.c
    looked = and_(h.read == audit, f.unlooked.is_(None), basis_rule.c.rule.is_not(None))
    state = case(
        (or_(f.closed.is_not(None), i.host.is_(None)), "none"),
        (f.accepted != 0, "accepted"),
        (looked, "open"),
        else_="stale",
    )
    flow = case(
        (f.accepted != 0, "none"),
        (f.closed == audit, f.closed_as),
        (f.opened == audit, f.opened_as),
        else_="none",
    )
    group = (func.coalesce(i.site, ""), p.owner, p.rule, p.severity)
    counted = (
        *(func.sum(case((state == name, 1), else_=0)) for name in ("open", "stale", "accepted")),
        *(func.sum(case((flow == name, 1), else_=0)) for name in FLOWS),
    )
    query = (
        select(*group, *counted)
        .select_from(finding)
        .join(problem, p.id == f.problem)
        .join(host, h.id == f.host)
        .outerjoin(inventory, and_(i.host == f.host, i.closed.is_(None)))
        .outerjoin(basis_rule, and_(basis_rule.c.basis == basis, basis_rule.c.rule == p.rule))
        .where(or_(f.closed.is_(None), f.closed == audit))
        .group_by(*group)
    )
    rows: list[Row] = []
    flows: Counter[str] = Counter()
    for row in connection.execute(query):
        counts = [int(number) for number in row[len(group) :]]  # PostgreSQL returns decimals
        flows.update(dict(zip(FLOWS, counts[-len(FLOWS) :], strict=True)))
        if any(counts):
            rows.append((audit, *row[: len(group)], *counts))
    insert_rows(connection, tally, rows)
    return dict(flows)


# Problems known to the history, by number.


class Problems:
    """Numbers of problems; a new problem gets the next number."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers: dict[ProblemRow, int] = {}
        self._last: int = connection.execute(select(func.max(problem.c.id))).scalar() or 0

    def learn(self, problems: Iterable[ProblemRow]) -> dict[ProblemRow, int]:
        """The numbers of all problems requested so far, including these."""
        unknown = {_key(one): one for one in set(problems) if one not in self._numbers}
        if unknown:
            query = select(problem.c.key, problem.c.id)
            for some in chunks(list(unknown)):
                for key, number in self._connection.execute(query.where(problem.c.key.in_(some))):
                    self._numbers[unknown.pop(bytes(key))] = number
            rows: list[Row] = []
            for key, one in unknown.items():
                self._last += 1
                self._numbers[one] = self._last
                rows.append((self._last, key, *map(_printable, one)))
            insert_rows(self._connection, problem, rows)
        return self._numbers


def _key(one: ProblemRow) -> bytes:
    return digest(*("" if value is None else f"={value}" for value in one))


def _printable(value: str | int | None) -> str | int | None:
    return printable(value) if isinstance(value, str) else value


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
    """Writes the intervals that an audit ends and begins."""

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
        self._nics = _NicWriter(connection, audit, self._origins, nic)
        self._findings = _FindingWriter(connection, audit, self._origins, finding)

    def write(self, work: Sequence[HostWork]) -> None:
        """Write the changes of these hosts."""
        new = [(one.known, one.reading) for one in work if one.reading is not None]
        changes = list(self._changes(new))
        # something gone from one host may have moved to another one of these
        self._nics.close(changes)
        self._findings.close(changes)
        self._nics.open(changes)
        self._findings.open(changes)

    def finish(self) -> None:
        """Call this when all hosts are written: something that is gone may have moved."""
        if self._nics.has_ended or self._findings.has_ended or self._origins.have_moved:
            self._origins.settle_moves()

    def _changes(self, new: Sequence[tuple[KnownHost, HostReading]]) -> Iterator[_Changed]:
        before = [known.id for known, _one in new if known.read is not None]
        nics = open_nics(self._connection, before)
        findings = open_findings(self._connection, before)
        seen = [_findings_seen(one) for _known, one in new]
        numbers = self._problems.learn(each.problem for one in seen for each in one.values())
        for (known, one), found in zip(new, seen, strict=True):
            looked = LookedAt(
                one.audited,
                self._rules,
                is_whole=one.status == "ok" and self._all_nics,
                compared=self._all_compared,
            )
            rows = [row for each in one.audited for row in nics_of(each)]
            numbered = {key: (facts, numbers[facts.problem]) for key, facts in found.items()}
            yield _Changed(
                known,
                milliseconds(one.finished),
                nic_changes(nics.get(known.id, ()), rows, looked),
                finding_changes(findings.get(known.id, ()), numbered, looked),
            )


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


class _IntervalWriter:
    """Ends and begins intervals of one table. ``has_ended``: some have ended."""

    def __init__(self, connection: Connection, audit: int, origins: Origins, table: Table) -> None:
        self._connection = connection
        self._audit = audit
        self._origins = origins
        self._table = table
        self._next = 1 + (connection.execute(select(func.max(table.c.id))).scalar() or 0)
        self.has_ended = False

    def _end(self, closed: Iterable[Closed]) -> None:
        rows = [(each.id, self._audit, each.closed_as) for each in closed]
        self.has_ended |= bool(rows)
        set_by_id(self._connection, self._table, rows, "closed", "closed_as")


class _NicWriter(_IntervalWriter):
    def close(self, changes: Sequence[_Changed]) -> None:
        self._end(each for one in changes for each in one.nics.closed)
        shifted = [each for one in changes for each in one.nics.shifted]
        set_by_id(self._connection, nic, shifted, "nic_index")

    def open(self, changes: Sequence[_Changed]) -> None:
        appeared = [{each.facts.key for each in one.nics.opened if each.first_seen is None}
                    for one in changes]  # fmt: skip
        before = self._origins.nics(set().union(*appeared))
        rows: list[Row] = []
        for one, keys in zip(changes, appeared, strict=True):
            known = before.keys() & keys
            origins = {key: self._origins.origin(one.host, before[key]) for key in known}
            rows += [self._row(one, each, origins) for each in one.nics.opened]
        insert_rows(self._connection, nic, rows)

    def _row(self, host: _Changed, one: OpenedNic, origins: dict[NicKey, Origin]) -> Row:
        origin = origins.get(one.facts.key, NEW)
        if one.first_seen is not None:
            origin = Origin("changed", one.first_seen)
        first = host.read_at if origin.first_seen is None else origin.first_seen
        self._next += 1
        head = (self._next - 1, host.host, self._audit, None, origin.opened_as, None)
        return (*head, one.changed, first, *one.facts)


class _FindingWriter(_IntervalWriter):
    def close(self, changes: Sequence[_Changed]) -> None:
        self._end(each for one in changes for each in one.findings.closed)
        unlooked = [(each, self._audit) for one in changes for each in one.findings.unlooked]
        looked = [(each, None) for one in changes for each in one.findings.looked]
        set_by_id(self._connection, finding, [*unlooked, *looked], "unlooked")

    def open(self, changes: Sequence[_Changed]) -> None:
        opened = [(one, each) for one in changes for each in one.findings.opened]
        before = self._origins.findings(
            [each.facts.fingerprint for _one, each in opened if each.opened_as is None]
        )
        rows = [self._row(one, each, before) for one, each in opened]
        insert_rows(self._connection, finding, rows)

    def _row(
        self, host: _Changed, one: OpenedFinding, before: dict[bytes, list[EarlierInterval]]
    ) -> Row:
        facts = one.facts
        if one.opened_as is not None:
            origin = Origin(one.opened_as, one.first_seen, one.reopened)
        else:
            origin = self._origins.origin(host.host, before.get(facts.fingerprint, ()))
        first = host.read_at if origin.first_seen is None else origin.first_seen
        self._next += 1
        head = (self._next - 1, host.host, facts.fingerprint, one.problem, self._audit, None)
        told = (origin.opened_as, None, first, origin.reopened, None)
        return head + told + facts[2:]
