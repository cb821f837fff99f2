"""Views for SQL users of the history (Grafana, psql, sqlite3): names and meanings are stable, even
if tables change. ``docs/reference/history-schema.md`` is generated from this module."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection


class ViewColumn(NamedTuple):
    """A column of a view. In the expression, ``time(X)``, ``uuid(X)`` and ``digits(X)`` are
    expanded for each database."""

    name: str
    expression: str
    meaning: str


class View(NamedTuple):
    """A view, and its purpose."""

    name: str
    meaning: str
    columns: tuple[ViewColumn, ...]
    source: str


def _columns(*rows: tuple[str, str, str]) -> tuple[ViewColumn, ...]:
    return tuple(ViewColumn(*row) for row in rows)


_LOOKED = """(h.tried = h.read AND f.unlooked IS NULL AND EXISTS (
    SELECT 1 FROM audit a JOIN basis_rule b ON b.basis = a.basis AND b.rule = p.rule
    WHERE a.number = h.read))"""
_STATE = f"""CASE
    WHEN f.closed IS NOT NULL THEN f.closed_as
    WHEN f.accepted <> 0 THEN 'suppressed'
    WHEN NOT {_LOOKED} THEN 'not looked at'
    WHEN f.opened = h.read AND f.opened_as IN ('new', 'reopened', 'returned', 'moved')
        THEN f.opened_as
    ELSE 'known' END"""
_STATES = (
    "new, known, reopened, returned, moved, suppressed, not looked at; of those that ended: fixed, "
    "gone, moved, changed, suppressed, unsuppressed"
)
_SEEN = f"CASE WHEN f.closed IS NULL AND {_LOOKED} THEN time(r.read_at) END"
_NIC_SEEN = "CASE WHEN n.closed IS NULL THEN time(r.read_at) END"
_CLOSED = "(SELECT x.started FROM audit x WHERE x.number = {}.closed)"
_SITE = "JOIN host h ON h.id = {0}.host LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL"

VIEWS = (
    View(
        "audits",
        "The audits that are stored.",
        _columns(
            ("id", "a.id", "as `vnicaudit history show` takes it"),
            ("number", "a.number", "in the order in which they were stored"),
            ("started", "time(a.started)", "time (UTC)"),
            ("finished", "time(a.finished)", "time (UTC); NULL: it was interrupted"),
            ("version", "b.version", "of vnicaudit"),
            ("rules", "b.rules", "ids of the rules that were asked, separated by blanks"),
            ("limit_pattern", "a.limit_pattern", "that chose hosts; empty: all"),
            ("host_share", "a.host_share", "part of the hosts that was drawn; 1: all"),
            ("nic_share", "b.nic_share", "part of the NICs that was drawn; 1: all"),
            ("hosts", "a.hosts", "in the inventory"),
            ("chosen", "a.chosen", "hosts that were to be read"),
            ("ok", "a.ok", "hosts that were read whole"),
            ("partial", "a.partial", "hosts of which something was not read"),
            ("failed", "a.failed", "hosts that were not read"),
            ("unchanged", "a.unchanged", "hosts that were read, with nothing new"),
            ("domains", "a.domains", "known then, stale ones included"),
            ("nics", "a.nics", "known then, stale ones included"),
        ),
        "audit a JOIN basis b ON b.id = a.basis",
    ),
    View(
        "hosts",
        "Each host as it is known now.",
        _columns(
            ("host", "h.name", "name in the inventory"),
            ("site", "i.site", "NULL: no inventory has it any more"),
            ("host_groups", "i.groups", "separated by blanks"),
            ("uri", "i.uri", "that it is read by"),
            ("status", "t.status", "of the last try: ok, partial, failed"),
            ("failure", "t.failure", "unreachable, refused, authentication, deadline, broken, …"),
            ("error", "t.error", "message of the last try"),
            ("tried_at", "time(t.read_at)", "time of the last try"),
            ("read_at", "time(r.read_at)", "time of the last reading that came about"),
            ("stale", "CASE WHEN h.tried = h.read THEN 0 ELSE 1 END", "1: the last try failed"),
            ("domains", "r.domains", "of the last reading"),
            ("nics", "r.nics", "of the last reading"),
            ("findings", "r.findings", "of the last reading"),
            ("accepted", "r.accepted", "findings of it that are suppressed or in a baseline"),
        ),
        """host h
        LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL
        LEFT JOIN reading t ON t.audit = h.tried AND t.host = h.id
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id""",
    ),
    View(
        "readings",
        "How the reading of each host went, audit by audit.",
        _columns(
            ("audit", "a.id", "id of the audit"),
            ("time", "time(r.read_at)", "when the host was read, or given up"),
            ("host", "h.name", "name in the inventory"),
            ("status", "r.status", "ok, partial, failed"),
            ("unchanged", "r.unchanged", "1: as the reading before"),
            ("late", "r.late", "1: older than what was known already, so only noted"),
            ("failure", "r.failure", "why it failed"),
            ("error", "r.error", "message"),
            ("tries", "r.tries", "how often it was tried"),
            ("domains", "r.domains", "that were read"),
            ("nics", "r.nics", "that were read"),
            ("findings", "r.findings", "that came up and are not accepted"),
            ("accepted", "r.accepted", "that are suppressed or in a baseline"),
            ("skipped", "r.skipped", "judgements that lacked a fact, or crashed"),
        ),
        "reading r JOIN audit a ON a.number = r.audit JOIN host h ON h.id = r.host",
    ),
    View(
        "nics",
        "NICs as intervals: a row for each state that a NIC was in.",
        _columns(
            ("id", "n.id", "of the row"),
            ("host", "h.name", "name in the inventory"),
            ("site", "i.site", "of the host now"),
            ("domain", "n.domain", "name of the guest"),
            ("uuid", "uuid(n.uuid)", "of the guest"),
            ("nic_index", "n.nic_index", "its place in the guest, from 0, when the row began"),
            ("mac", "n.mac", "address"),
            ("type", "n.type", "as in domain XML: bridge, network, …"),
            ("origin", "n.origin", "interface, hostdev, …"),
            ("owner", "n.owner", "who keeps the definition"),
            ("arch", "n.arch", "of the guest"),
            ("machine", "n.machine", "type of machine"),
            ("vcpus", "n.vcpus", "of the guest"),
            ("model_declared", "n.model_declared", "in the definition"),
            ("model", "n.model", "effective, as all below"),
            ("vhost", "n.vhost", "1: packets go through the kernel"),
            ("queues", "n.queues", "queue pairs"),
            ("rx_queue_size", "n.rx_queue_size", "descriptors"),
            ("tx_queue_size", "n.tx_queue_size", "descriptors"),
            ("starts", "n.starts", "0: it is known not to start"),
            ("first_seen", "time(n.first_seen)", "ever: never changes"),
            ("since", "time(o.started)", "the audit that met this state first"),
            ("until", f"time({_CLOSED.format('n')})", "the audit that no longer met it; NULL: now"),
            ("last_seen", _NIC_SEEN, "the last reading of its host; NULL: it is no more"),
            ("opened_as", "n.opened_as", "new, changed, moved, returned"),
            ("closed_as", "n.closed_as", "changed, moved, gone; NULL: it still holds"),
            ("changed", "n.changed", "columns that differ from the state before"),
        ),
        f"""nic n {_SITE.format("n")}
        LEFT JOIN audit o ON o.number = n.opened
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id""",
    ),
    View(
        "findings",
        "Findings as intervals: a row for each time that one was open.",
        _columns(
            ("id", "f.id", "of the row"),
            ("host", "h.name", "name in the inventory"),
            ("site", "i.site", "of the host now"),
            ("state", _STATE, _STATES),
            ("rule", "p.rule", "id"),
            ("name", "p.name", "of the rule"),
            ("severity", "p.severity", "info, low, medium, high, error"),
            ("confidence", "p.confidence", "low, medium, high"),
            ("owner", "p.owner", "who keeps the definition"),
            ("message", "p.message", "what is wrong"),
            ("scope", "f.scope", "domain, host, config, …"),
            ("subject", "f.subject", "name of the domain, host, …"),
            ("uuid", "uuid(f.uuid)", "of the domain"),
            ("mac", "f.mac", "of the NIC it is about"),
            ("nic_index", "f.nic_index", "of the NIC it is about"),
            ("file", "f.file", "where a description stands"),
            ("field", "p.field", "that a change would set"),
            ("old", "p.old", "its value"),
            ("new", "p.new", "its value after a change"),
            ("safe", "p.safe", "1: the change is safe for the guest"),
            ("fingerprint", "digits(f.fingerprint)", "as in reports"),
            ("first_seen", "time(f.first_seen)", "ever: never changes"),
            ("since", "time(o.started)", "the audit that this row begins with"),
            ("until", f"time({_CLOSED.format('f')})", "the audit that ended it; NULL: open"),
            ("last_seen", _SEEN, "the last reading of its host; NULL: that did not look"),
            ("reopened", "f.reopened", "how often it came back after a fix"),
            ("reason", "f.reason", "why it is accepted"),
            ("is_open", "CASE WHEN f.closed IS NULL THEN 1 ELSE 0 END", "0: it ended"),
        ),
        f"""finding f JOIN problem p ON p.id = f.problem {_SITE.format("f")}
        LEFT JOIN audit o ON o.number = f.opened
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id""",
    ),
    View(
        "trend",
        "Findings of the whole fleet at each audit, counted; no row where all counts are 0.",
        _columns(
            ("time", "time(a.started)", "of the audit"),
            ("audit", "a.id", "id of the audit"),
            ("site", "t.site", "of the hosts"),
            ("owner", "t.owner", "who keeps the definitions"),
            ("rule", "t.rule", "id"),
            ("severity", "t.severity", "info, low, medium, high, error"),
            ("open", "t.open", "findings that the audit met"),
            ("stale", "t.stale", "open as far as is known, and the audit did not look"),
            ("accepted", "t.accepted", "suppressed, or in a baseline"),
            ("new", "t.new", "met for the first time"),
            ("reopened", "t.reopened", "met again after a fix"),
            ("fixed", "t.fixed", "not met any more"),
            ("gone", "t.gone", "what they were about is not there any more"),
        ),
        "tally t JOIN audit a ON a.number = t.audit",
    ),
    View(
        "benchmarks",
        "Results of `vnicaudit bench` that were imported: one metric, two arms.",
        _columns(
            ("benchmark", "b.id", "id of the measurement"),
            ("started", "time(b.started)", "time (UTC)"),
            ("profile", "b.profile", "that was measured by"),
            ("design", "b.design", "how the arms were mixed"),
            ("domain", "b.domain", "the guest, where it was one"),
            ("mac", "b.mac", "of its NIC"),
            ("workload", "m.workload", "id"),
            ("metric", "m.metric", "name"),
            ("unit", "m.unit", "of the metric"),
            ("before_arm", "m.before_arm", "name"),
            ("after_arm", "m.after_arm", "name"),
            ("before_nic", "m.before_nic", "NIC of the guest in that arm"),
            ("after_nic", "m.after_nic", "NIC of the guest in that arm"),
            ("before_median", "m.before_median", "of the samples that count"),
            ("after_median", "m.after_median", "of the samples that count"),
            ("before_n", "m.before_n", "samples that count"),
            ("after_n", "m.after_n", "samples that count"),
            ("percent", "m.percent", "after against before; positive is better"),
            ("low95", "m.low95", "95 % interval of it"),
            ("high95", "m.high95", "95 % interval of it"),
            ("verdict", "m.verdict", "improved, equivalent, regressed, …"),
        ),
        "benchmark b JOIN benchmark_result m ON m.benchmark = b.id",
    ),
)
"""All views; they are dropped and created again when the schema is upgraded."""


def create_views(connection: Connection) -> None:
    """Create all views."""
    for view in VIEWS:
        connection.exec_driver_sql(view_sql(view, connection.dialect.name))


def drop_views(connection: Connection) -> None:
    """Drop all existing views."""
    for view in VIEWS:
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {view.name}")


def view_sql(view: View, dialect: str) -> str:
    """The statement that creates a view in that database."""
    columns = ",\n    ".join(f'{one.expression} AS "{one.name}"' for one in view.columns)
    text = f"CREATE VIEW {view.name} AS\nSELECT\n    {columns}\nFROM {view.source}"
    for name, write in _FUNCTIONS[dialect == "postgresql"].items():
        text = _written_out(text, name, write)
    return text


def _written_out(text: str, name: str, template: str) -> str:
    """The text with each ``name(ARGUMENT)`` expanded by the template."""
    head, found, rest = text.partition(f"{name}(")
    while found:
        end = _closing(rest)
        head += template.replace("@", rest[:end])
        more, found, rest = rest[end + 1 :].partition(f"{name}(")
        head += more
    return head


def _closing(text: str) -> int:
    """Position of the parenthesis that closes the one opened before the text."""
    depth = 1
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place
    raise ValueError(f"unbalanced: {text}")


def _dashed(digits: str) -> str:
    pieces = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 99))
    return "||'-'||".join(f"substr({digits},{begin},{length})" for begin, length in pieces)


_FUNCTIONS = (
    {
        "time": "strftime('%Y-%m-%dT%H:%M:%fZ', (@)/1000.0, 'unixepoch')",
        "uuid": _dashed("lower(hex(@))"),
        "digits": "lower(hex(@))",
    },
    {
        "time": "to_timestamp((@)/1000.0)",
        "uuid": _dashed("encode(@,'hex')"),
        "digits": "encode(@,'hex')",
    },
)
"""Functions of SQLite and of PostgreSQL."""
