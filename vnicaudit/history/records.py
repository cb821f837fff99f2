"""Rows as records."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, func

from vnicaudit.history.rows import time_text, uuid_text
from vnicaudit.history.tables import finding, host, inventory, problem
from vnicaudit.model.history import FindingRecord


def finding_columns() -> list[ColumnElement[object]]:
    """The columns needed for a record of a finding; the query must join their tables."""
    f, p = finding.c, problem.c
    return [
        host.c.name, func.coalesce(inventory.c.site, ""), p.rule, p.name, p.severity, p.owner,
        p.message, f.subject, f.uuid, f.mac, f.fingerprint, f.first_seen, f.reopened,
    ]  # fmt: skip


def finding_record(state: str, values: Sequence[object]) -> FindingRecord:
    """The record made of those columns."""
    name, site, rule, title, severity, owner, message, subject, *others = values
    uuid, mac, mark, first, again = others
    return FindingRecord(
        state=state,
        host=str(name),
        site=str(site),
        rule=str(rule),
        name=str(title),
        severity=str(severity),
        owner=str(owner),
        message=str(message),
        subject=str(subject),
        uuid=uuid_text(_bytes(uuid)),
        mac=None if mac is None else str(mac),
        fingerprint=(_bytes(mark) or b"").hex(),
        first_seen=time_text(_int(first)),
        reopened=_int(again),
    )


def arrival(opened_as: str, accepted: int) -> str:
    """The state of a finding that appeared; accepted ones are *suppressed*, however they
    appeared."""
    is_new = opened_as in ("new", "reopened", "returned", "moved")
    return "suppressed" if accepted and is_new else opened_as


def _bytes(value: object) -> bytes | None:
    return bytes(value) if isinstance(value, (bytes, memoryview)) else None


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0
