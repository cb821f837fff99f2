"""Stored counts, so that a trend reads few rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, and_, case, delete, func, select

from vnicaudit.history.database import Row, insert_rows
from vnicaudit.history.known import chunks
from vnicaudit.history.tables import (
    basis_rule,
    finding,
    host,
    host_tally,
    inventory,
    problem,
    tally,
)

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
