"""The differences between two audits, in the part that both covered."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from vnicaudit.base.wording import count
from vnicaudit.errors import UsageError
from vnicaudit.history.audits import audit_name, number_of
from vnicaudit.history.database import Database
from vnicaudit.history.drift_findings import finding_drift
from vnicaudit.history.drift_nics import nic_drift
from vnicaudit.history.drift_sides import AuditPair, host_names
from vnicaudit.history.tables import WAS_READ, audit, basis, basis_rule, reading
from vnicaudit.model.history import Drift

_NAMED = 10
"""Maximum rules named in a note."""
_AS_LAST_READ = "compared as last read"


def drift_between(database: Database, before: str, after: str) -> Drift:
    """The differences between two audits, named by id, date, or as ``latest`` or ``previous``.
    Raises UsageError."""
    with database.reading() as connection:
        first = number_of(connection, before, database)
        second = number_of(connection, after, database)
        if first >= second:
            raise UsageError(
                f"{before} is not earlier than {after}: name the earlier audit first; `vnicaudit "
                "history` lists them"
            )
        pair, notes = _common(connection, first, second)
        return Drift(
            before=audit_name(connection, first),
            after=audit_name(connection, second),
            hosts=len(pair.hosts),
            rules=len(pair.rules),
            notes=tuple(notes),
            nics=tuple(nic_drift(connection, pair)),
            findings=tuple(finding_drift(connection, pair)),
        )


def _common(connection: Connection, before: int, after: int) -> tuple[AuditPair, list[str]]:
    """The part that both audits covered, and notes on what only one of them covered."""
    hosts = [_read(connection, number) for number in (before, after)]
    rules = [_rules(connection, number) for number in (before, after)]
    notes = []
    if apart := hosts[0] ^ hosts[1]:
        notes.append(f"{count(len(apart), 'host')} read by only one of them: not compared")
    if only := rules[0] ^ rules[1]:
        more = f" and {len(only) - _NAMED} more" if len(only) > _NAMED else ""
        named = ", ".join(sorted(only)[:_NAMED])
        notes.append(f"run by only one of them, not compared: {named}{more}")
    for number, word in ((before, "first"), (after, "second")):
        notes += _incomplete(connection, number, f"the {word} audit", hosts[0] & hosts[1])
    names = host_names(connection)
    return AuditPair(before, after, hosts[0] & hosts[1], rules[0] & rules[1], names), notes


def _incomplete(
    connection: Connection, number: int, name: str, hosts: frozenset[int]
) -> Iterator[str]:
    """Notes on what an audit did not read of the compared hosts."""
    query = select(basis.c.nic_share).join(audit, audit.c.basis == basis.c.id)
    share = connection.execute(query.where(audit.c.number == number)).scalar()
    if share is not None and share < 1:
        yield f"{name} read a sample of {share:.0%} of the NICs: the others are {_AS_LAST_READ}"
    r = reading.c
    in_part = select(r.host).where(r.audit == number, r.status == "partial")
    partial = hosts.intersection(connection.execute(in_part).scalars())
    if partial:
        text = f"{name} read {count(len(partial), 'host')} only in part: the rest is"
        yield f"{text} {_AS_LAST_READ}"


def _read(connection: Connection, number: int) -> frozenset[int]:
    query = select(reading.c.host).where(reading.c.audit == number, WAS_READ)
    return frozenset(connection.execute(query).scalars())


def _rules(connection: Connection, number: int) -> frozenset[str]:
    here = audit.c.number == number
    query = select(basis_rule.c.rule).join(audit, audit.c.basis == basis_rule.c.basis).where(here)
    return frozenset(connection.execute(query).scalars())
