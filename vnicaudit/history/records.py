"""Stored findings as records, for whoever asks for them: one query, one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, select

from vnicaudit.history.rows import time_text, uuid_text
from vnicaudit.history.tables import AT_ONCE, audit, finding, host, inventory, problem
from vnicaudit.model.decoding import converted
from vnicaudit.model.history import FindingRecord


class FindingInterval(NamedTuple):
    """A stored finding: when and how its interval began and ended, and what it says. ``read``: the
    last audit that read its host."""

    id: int
    host: int
    fingerprint: bytes
    opened: int
    opened_as: str
    closed: int | None
    closed_as: str | None
    accepted: int
    unlooked: int | None
    read: int | None
    rule: str
    values: Sequence[object]

    @property
    def arrival(self) -> str:
        """The state of a finding that appeared; accepted ones are *suppressed*, however they
        appeared."""
        is_new = self.opened_as in ("new", "reopened", "returned", "moved")
        return "suppressed" if self.accepted and is_new else self.opened_as

    def record(self, state: str) -> FindingRecord:
        """The finding in that state. Raises msgspec.ValidationError for values that vnicaudit does
        not store."""
        values = dict(zip(_FIELDS, self.values, strict=True))
        for name in ("first_seen", "until"):
            at = values[name]
            values[name] = time_text(at) if isinstance(at, int) else None
        uuid = values["uuid"]
        values["uuid"] = uuid_text(uuid) if isinstance(uuid, bytes) else None
        values["safe"] = bool(values["safe"])
        mark = bytes(self.fingerprint).hex()
        return converted({**values, "state": state, "fingerprint": mark}, FindingRecord)


def finding_intervals(
    connection: Connection,
    condition: ColumnElement[bool],
    *order: ColumnElement[object],
    most: int | None = None,
) -> Iterator[FindingInterval]:
    """The stored findings that match the condition, at most as many."""
    f, p, h, i = finding.c, problem.c, host.c, inventory.c
    query = (
        select(f.id, f.host, f.fingerprint, f.opened, f.opened_as, f.closed, f.closed_as)
        .add_columns(f.accepted, f.unlooked, h.read, p.rule, *_VALUES.values())
        .join(problem, p.id == f.problem)
        .join(host, h.id == f.host)
        .outerjoin(inventory, and_(i.host == f.host, i.closed.is_(None)))
        .outerjoin(audit, audit.c.number == f.closed)
        .where(condition)
        .order_by(*order)
        .limit(most)
    )
    width = len(FindingInterval._fields) - 1
    for some in connection.execute(query).partitions(AT_ONCE):
        for row in some:
            yield FindingInterval._make((*row[:width], row[width:]))


_VALUES: dict[str, ColumnElement[object]] = {
    "host": host.c.name,
    "site": func.coalesce(inventory.c.site, ""),
    **{
        name: problem.c[name]
        for name in (
            "rule", "name", "severity", "confidence", "owner", "message", "field", "old", "new",
            "safe",
        )
    },
    **{
        name: finding.c[name]
        for name in (
            "reason", "scope", "subject", "uuid", "mac", "nic_index", "file", "first_seen",
            "reopened",
        )
    },
    "until": audit.c.started,
}  # fmt: skip
"""Fields of the record, with their columns."""
_FIELDS = tuple(_VALUES)
