"""NICs and findings of a reading, as column values, and stored findings as records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, select

from vnicaudit.history.tables import AT_ONCE, audit, finding, host, inventory, problem
from vnicaudit.model.decoding import converted
from vnicaudit.model.history import FindingRecord

try:  # does not load OpenSSL, like fingerprints
    from _blake2 import blake2b
except ImportError:  # a Python built without it
    from hashlib import blake2b

from vnicaudit.base.deadlines import moment
from vnicaudit.model.finding import Finding, name_of
from vnicaudit.model.report import Audited, NicRow

HASH = 16
"""Bytes of a digest."""
_ADDRESS_MAX = 64
_NUMBER_MAX = 2**31 - 1


NicKey = tuple[bytes | str, str | None]
"""UUID or name of a domain, and the MAC address of its NIC. Several NICs may have the same key,
including all without an address."""


def nic_key(uuid: bytes | None, domain: str, mac: str | None) -> NicKey:
    """The key of a NIC."""
    return domain if uuid is None else uuid, mac


class NicColumns(NamedTuple):
    """A NIC, with the columns of :data:`vnicaudit.history.tables.nic`."""

    domain: str
    uuid: bytes | None
    nic_index: int
    mac: str | None
    type: str
    origin: str
    owner: str
    arch: str | None
    machine: str | None
    vcpus: int | None
    model_declared: str | None
    model: str | None
    vhost: int | None
    queues: int | None
    rx_queue_size: int | None
    tx_queue_size: int | None
    starts: int

    @property
    def key(self) -> NicKey:
        """The key by which two states of a NIC are compared."""
        return nic_key(self.uuid, self.domain, self.mac)

    @property
    def state(self) -> NicColumns:
        """All except the index among the domain's NICs, which is not part of a NIC's state."""
        return self._replace(nic_index=0)


class ProblemRow(NamedTuple):
    """A problem as a rule reports it, without the NIC or domain it is about."""

    rule: str
    name: str
    severity: str
    confidence: str
    owner: str
    message: str
    field: str | None
    old: str | None
    new: str | None
    safe: int | None


class FindingFacts(NamedTuple):
    """A finding, with the columns of :data:`vnicaudit.history.tables.finding`, and its problem."""

    fingerprint: bytes
    problem: ProblemRow
    accepted: int
    reason: str | None
    scope: str
    subject: str
    uuid: bytes | None
    mac: str | None
    nic_index: int | None
    file: str | None


def milliseconds(timestamp: str) -> int:
    """A timestamp (ISO 8601) as milliseconds since 1970."""
    return round(moment(timestamp).timestamp() * 1000)


def digest(*parts: str) -> bytes:
    """A 16-byte digest of these texts."""
    data = "\0".join(parts).encode("utf-8", "backslashreplace")
    return blake2b(data, digest_size=HASH).digest()


def printable(text: str) -> str:
    """Text that every database accepts: zero bytes and lone surrogates are escaped."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def uuid_bytes(text: str | None) -> bytes | None:
    """The 16 bytes of a UUID; for any other id, its text as UTF-8."""
    if text is None:
        return None
    try:
        return bytes.fromhex(text.replace("-", ""))
    except ValueError:
        return text.encode("utf-8", "backslashreplace")


def uuid_text(data: bytes | None) -> str | None:
    """The UUID of 16 bytes; any other id unchanged."""
    if data is None:
        return None
    if len(data) != HASH:
        return bytes(data).decode("utf-8", "replace")
    digits = bytes(data).hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def stored_bytes(value: bytes) -> bytes:
    """Bytes of a column. Raises TypeError for anything else, which SQLite also stores there."""
    return memoryview(value).tobytes()


def fingerprint_bytes(text: str) -> bytes:
    """A fingerprint's digits as bytes; anything else is digested."""
    if len(text) > 2 * HASH:
        return digest(text)
    try:
        return bytes.fromhex(text)
    except ValueError:
        return digest(text)


def nics_of(one: Audited) -> list[NicColumns]:
    """The NICs of one domain."""
    return [_nic(row) for row in one.rows]


def _nic(row: NicRow) -> NicColumns:
    vhost, model = row.vhost.effective, row.model
    return NicColumns(
        printable(row.domain), uuid_bytes(row.uuid), row.index, _address(row.mac),
        printable(row.type), printable(row.origin), printable(row.owner), _text(row.arch),
        _text(row.machine), _number(row.vcpus), _text(model.declared), _text(model.effective),
        None if vhost is None else int(vhost), _number(row.queues.effective),
        _number(row.rx_queue_size.effective), _number(row.tx_queue_size.effective), int(row.starts),
    )  # fmt: skip


def _text(text: str | None) -> str | None:
    return None if text is None else printable(text)


def _address(mac: str | None) -> str | None:
    """A MAC address; anything else in its place is cut to the length that an index allows."""
    return None if mac is None else printable(mac)[:_ADDRESS_MAX]


def _number(value: int | None) -> int | None:
    """A number from a definition, limited to the range of the column."""
    return value if value is None else max(-_NUMBER_MAX, min(value, _NUMBER_MAX))


SUPPRESSED = 1
BASELINED = 2


def findings_of(one: Audited) -> list[FindingFacts]:
    """The findings on one domain, host or file, including accepted ones."""
    each: list[tuple[Finding, int, str | None]]
    each = [(finding, 0, None) for finding in one.findings]
    each += [(other.finding, SUPPRESSED, printable(other.reason)) for other in one.suppressed]
    each += [(finding, BASELINED, None) for finding in one.baselined]
    return [_finding(one, *finding) for finding in each]


def _finding(subject: Audited, one: Finding, accepted: int, reason: str | None) -> FindingFacts:
    about = one.about
    mac, index = (about.mac, about.index) if about.kind == "nic" else (None, None)
    return FindingFacts(
        fingerprint_bytes(one.fingerprint), _problem(one), accepted, reason, subject.scope,
        printable(subject.subject), uuid_bytes(subject.uuid), _address(mac), index,
        _text(subject.file),
    )  # fmt: skip


def _problem(one: Finding) -> ProblemRow:
    told = (one.rule, one.name, one.severity, one.confidence, name_of(one.owner), one.message)
    change = one.change
    if change is None:
        return ProblemRow(*told, None, None, None, None)
    return ProblemRow(*told, change.field, change.old, change.new, int(change.safe))


@lru_cache(maxsize=4096)
def time_text(at: int) -> str:
    """Milliseconds since 1970 as RFC 3339 in UTC, to the second."""
    text = datetime.fromtimestamp(at / 1000, timezone.utc).isoformat(timespec="seconds")
    return text.replace("+00:00", "Z")


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
