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
        "The stored audits.",
        _columns(
            ("id", "a.id", "as `vnicaudit history show` takes it"),
            ("number", "a.number", "order in which audits were stored"),
            ("started", "time(a.started)", "start"),
            ("finished", "time(a.finished)", "end; NULL: interrupted"),
            ("version", "b.version", "version of vnicaudit"),
            ("rules", "b.rules", "ids of the rules that ran, separated by blanks"),
            ("limit_pattern", "a.limit_pattern", "selected hosts; empty: all"),
            ("host_share", "a.host_share", "share of the hosts drawn; 1: all"),
            ("nic_share", "b.nic_share", "share of the NICs drawn; 1: all"),
            ("hosts", "a.hosts", "hosts in the inventory"),
            ("chosen", "a.chosen", "hosts to be read"),
            ("ok", "a.ok", "hosts read completely"),
            ("partial", "a.partial", "hosts read in part"),
            ("failed", "a.failed", "hosts not read"),
            ("unchanged", "a.unchanged", "hosts read without changes"),
            ("domains", "a.domains", "known then, stale ones included"),
            ("nics", "a.nics", "known then, stale ones included"),
        ),
        "audit a JOIN basis b ON b.id = a.basis",
    ),
    View(
        "hosts",
        "The current state of each host.",
        _columns(
            ("host", "h.name", "name in the inventory"),
            ("site", "i.site", "its site; NULL: no longer in an inventory"),
            ("host_groups", "i.groups", "its groups, separated by blanks"),
            ("uri", "i.uri", "URI at which it is read"),
            ("status", "t.status", "of the last try: ok, partial, failed"),
            ("failure", "t.failure", "unreachable, refused, authentication, deadline, broken, …"),
            ("error", "t.error", "its message"),
            ("tried_at", "time(t.read_at)", "its time"),
            ("read_at", "time(r.read_at)", "last successful reading"),
            ("stale", "CASE WHEN h.tried = h.read THEN 0 ELSE 1 END", "1: the last try failed"),
            ("domains", "r.domains", "domains in the last reading"),
            ("nics", "r.nics", "NICs in the last reading"),
            ("findings", "r.findings", "findings in the last reading"),
            ("accepted", "r.accepted", "suppressed or baselined in it"),
        ),
        """host h
        LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL
        LEFT JOIN reading t ON t.audit = h.tried AND t.host = h.id
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id""",
    ),
    View(
        "readings",
        "The result of reading each host, audit by audit.",
        _columns(
            ("audit", "a.id", "id of the audit"),
            ("time", "time(r.read_at)", "when it was read, or that failed"),
            ("host", "h.name", "name in the inventory"),
            ("status", "r.status", "ok, partial, failed"),
            ("unchanged", "r.unchanged", "1: same as the previous reading"),
            ("late", "r.late", "1: older than the known state, so only recorded"),
            ("failure", "r.failure", "why it failed"),
            ("error", "r.error", "error message"),
            ("tries", "r.tries", "number of tries"),
            ("domains", "r.domains", "domains read"),
            ("nics", "r.nics", "NICs read"),
            ("findings", "r.findings", "findings, without accepted ones"),
            ("accepted", "r.accepted", "suppressed or baselined findings"),
            ("skipped", "r.skipped", "judgements skipped or crashed"),
        ),
        "reading r JOIN audit a ON a.number = r.audit JOIN host h ON h.id = r.host",
    ),
    View(
        "nics",
        "NICs as intervals: one row for each state of a NIC.",
        _columns(
            ("id", "n.id", "id of the row"),
            ("host", "h.name", "name in the inventory"),
            ("site", "i.site", "current site of the host"),
            ("domain", "n.domain", "name of the guest"),
            ("uuid", "uuid(n.uuid)", "UUID of the guest"),
            ("nic_index", "n.nic_index", "position in the guest, from 0"),
            ("mac", "n.mac", "MAC address"),
            ("type", "n.type", "as in domain XML: bridge, network, …"),
            ("origin", "n.origin", "interface, hostdev, …"),
            ("owner", "n.owner", "owner of the definition"),
            ("arch", "n.arch", "architecture of the guest"),
            ("machine", "n.machine", "machine type of the guest"),
            ("vcpus", "n.vcpus", "vCPUs of the guest"),
            ("model_declared", "n.model_declared", "model in the definition"),
            ("model", "n.model", "effective, as all below"),
            ("vhost", "n.vhost", "1: the kernel carries the packets"),
            ("queues", "n.queues", "queue pairs"),
            ("rx_queue_size", "n.rx_queue_size", "ring size in descriptors"),
            ("tx_queue_size", "n.tx_queue_size", "ring size in descriptors"),
            ("starts", "n.starts", "0: known not to start"),
            ("first_seen", "time(n.first_seen)", "first seen at all"),
            ("since", "time(o.started)", "the first audit that saw this state"),
            (
                "until",
                f"time({_CLOSED.format('n')})",
                "the first that did not; NULL: current",
            ),
            ("last_seen", _NIC_SEEN, "last reading of its host; NULL: ended"),
            ("opened_as", "n.opened_as", "new, changed, moved, returned"),
            ("closed_as", "n.closed_as", "changed, moved, gone; NULL: current"),
            ("changed", "n.changed", "columns that differ from the previous state"),
        ),
        f"""nic n {_SITE.format("n")}
        LEFT JOIN audit o ON o.number = n.opened
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id""",
    ),
    View(
        "findings",
        "Findings as intervals: one row for each time a finding was open.",
        _columns(
            ("id", "f.id", "id of the row"),
            ("host", "h.name", "name in the inventory"),
            ("site", "i.site", "current site of the host"),
            ("state", _STATE, _STATES),
            ("rule", "p.rule", "id of the rule"),
            ("name", "p.name", "name of the rule"),
            ("severity", "p.severity", "info, low, medium, high, error"),
            ("confidence", "p.confidence", "low, medium, high"),
            ("owner", "p.owner", "owner of the definition"),
            ("message", "p.message", "message of the finding"),
            ("scope", "f.scope", "domain, host, config, …"),
            ("subject", "f.subject", "name of the domain, host, …"),
            ("uuid", "uuid(f.uuid)", "UUID of the domain"),
            ("mac", "f.mac", "MAC address of its NIC"),
            ("nic_index", "f.nic_index", "position of its NIC"),
            ("file", "f.file", "file of the definition"),
            ("field", "p.field", "field that a change would set"),
            ("old", "p.old", "its current value"),
            ("new", "p.new", "its value after the change"),
            ("safe", "p.safe", "1: the change is safe for the guest"),
            ("fingerprint", "digits(f.fingerprint)", "fingerprint, as in reports"),
            ("first_seen", "time(f.first_seen)", "first seen at all"),
            ("since", "time(o.started)", "the audit that opened it"),
            ("until", f"time({_CLOSED.format('f')})", "the audit that ended it; NULL: open"),
            ("last_seen", _SEEN, "last reading of its host; NULL: not checked"),
            ("reopened", "f.reopened", "how often it came back after a fix"),
            ("reason", "f.reason", "why it is accepted"),
            ("is_open", "CASE WHEN f.closed IS NULL THEN 1 ELSE 0 END", "0: ended"),
        ),
        f"""finding f JOIN problem p ON p.id = f.problem {_SITE.format("f")}
        LEFT JOIN audit o ON o.number = f.opened
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id""",
    ),
    View(
        "trend",
        "Counts of findings of the whole fleet at each audit; no row if all counts are 0.",
        _columns(
            ("time", "time(a.started)", "of the audit"),
            ("audit", "a.id", "id of the audit"),
            ("site", "t.site", "site of the hosts"),
            ("owner", "t.owner", "owner of the definitions"),
            ("rule", "t.rule", "id of the rule"),
            ("severity", "t.severity", "info, low, medium, high, error"),
            ("open", "t.open", "seen by the audit"),
            ("stale", "t.stale", "last known as open, not checked"),
            ("accepted", "t.accepted", "suppressed, or in a baseline"),
            ("new", "t.new", "seen for the first time"),
            ("reopened", "t.reopened", "seen again after a fix"),
            ("fixed", "t.fixed", "no longer seen"),
            ("gone", "t.gone", "NIC, guest or host no longer exists"),
        ),
        "tally t JOIN audit a ON a.number = t.audit",
    ),
    View(
        "benchmarks",
        "Imported results of `vnicaudit bench`: one metric, two arms.",
        _columns(
            ("benchmark", "b.id", "its id"),
            ("started", "time(b.started)", "start"),
            ("profile", "b.profile", "its profile"),
            ("design", "b.design", "order of the arms"),
            ("domain", "b.domain", "name of the guest"),
            ("mac", "b.mac", "MAC address of its NIC"),
            ("workload", "m.workload", "id of the workload"),
            ("metric", "m.metric", "name of the metric"),
            ("unit", "m.unit", "unit of the metric"),
            ("before_arm", "m.before_arm", "name of the arm"),
            ("after_arm", "m.after_arm", "name of the arm"),
            ("before_nic", "m.before_nic", "NIC of the guest in that arm"),
            ("after_nic", "m.after_nic", "NIC of the guest in that arm"),
            ("before_median", "m.before_median", "median"),
            ("after_median", "m.after_median", "median"),
            ("before_n", "m.before_n", "samples that count"),
            ("after_n", "m.after_n", "samples that count"),
            ("percent", "m.percent", "change; positive is better"),
            ("low95", "m.low95", "of its 95 % interval"),
            ("high95", "m.high95", "of its 95 % interval"),
            ("verdict", "m.verdict", "improved, equivalent, regressed, …"),
        ),
        "benchmark b JOIN benchmark_result m ON m.benchmark = b.id",
    ),
)
"""All views."""


def create_views(connection: Connection) -> None:
    """Create all views."""
    for view in VIEWS:
        connection.exec_driver_sql(view_sql(view, connection.dialect.name))


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
