-- The views of the history for SQL users (Grafana, psql, sqlite3). Their names and columns are
-- stable, and new columns are added at the end; the tables under them may change between versions.
-- time(X), uuid(X) and digits(X) stand for functions of each database.

-- The stored audits.
CREATE VIEW audits AS SELECT
    a.id,  -- as `vnicaudit history show` takes it
    a.number,  -- order in which audits were stored
    time(a.started) AS started,  -- start
    time(a.finished) AS finished,  -- end; NULL: interrupted
    b.version,  -- version of vnicaudit
    b.rules,  -- ids of the rules that ran, separated by blanks
    a.limit_pattern,  -- selected hosts; empty: all
    a.host_share,  -- share of the hosts drawn; 1: all
    b.nic_share,  -- share of the NICs drawn; 1: all
    a.hosts,  -- hosts in the inventory
    a.chosen,  -- hosts to be read
    a.ok,  -- hosts read completely
    a.partial,  -- hosts read in part
    a.failed,  -- hosts not read
    a.unchanged,  -- hosts read without changes
    a.domains,  -- known then, stale ones included
    a.nics  -- known then, stale ones included
FROM audit a JOIN basis b ON b.id = a.basis;

-- The current state of each host.
CREATE VIEW hosts AS SELECT
    h.name AS host,  -- name in the inventory
    i.site,  -- its site; NULL: no longer in an inventory
    i.groups AS host_groups,  -- its groups, separated by blanks
    i.uri,  -- URI at which it is read
    t.status,  -- of the last try: ok, partial, failed
    t.failure,  -- unreachable, refused, authentication, deadline, broken, …
    t.error,  -- its message
    time(t.read_at) AS tried_at,  -- its time
    time(r.read_at) AS read_at,  -- last successful reading
    CASE WHEN h.tried = h.read THEN 0 ELSE 1 END AS stale,  -- 1: the last try failed
    r.domains,  -- domains in the last reading
    r.nics,  -- NICs in the last reading
    r.findings,  -- findings in the last reading
    r.accepted  -- suppressed or baselined in it
FROM host h
    LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL
    LEFT JOIN reading t ON t.audit = h.tried AND t.host = h.id
    LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id;

-- The result of reading each host, audit by audit.
CREATE VIEW readings AS SELECT
    a.id AS audit,  -- id of the audit
    time(r.read_at) AS time,  -- when it was read, or that failed
    h.name AS host,  -- name in the inventory
    r.status,  -- ok, partial, failed
    r.unchanged,  -- 1: same as the previous reading
    r.late,  -- 1: older than the known state, so only recorded
    r.failure,  -- why it failed
    r.error,  -- error message
    r.tries,  -- number of tries
    r.domains,  -- domains read
    r.nics,  -- NICs read
    r.findings,  -- findings, without accepted ones
    r.accepted,  -- suppressed or baselined findings
    r.skipped  -- judgements skipped or crashed
FROM reading r JOIN audit a ON a.number = r.audit JOIN host h ON h.id = r.host;

-- NICs as intervals: one row for each state of a NIC.
CREATE VIEW nics AS SELECT
    n.id,  -- id of the row
    h.name AS host,  -- name in the inventory
    i.site,  -- current site of the host
    n.domain,  -- name of the guest
    uuid(n.uuid) AS uuid,  -- UUID of the guest
    n.nic_index,  -- position in the guest, from 0
    n.mac,  -- MAC address
    n.type,  -- as in domain XML: bridge, network, …
    n.origin,  -- interface, hostdev, …
    n.owner,  -- owner of the definition
    n.arch,  -- architecture of the guest
    n.machine,  -- machine type of the guest
    n.vcpus,  -- vCPUs of the guest
    n.model_declared,  -- model in the definition
    n.model,  -- effective, as all below
    n.vhost,  -- 1: the kernel carries the packets
    n.queues,  -- queue pairs
    n.rx_queue_size,  -- ring size in descriptors
    n.tx_queue_size,  -- ring size in descriptors
    n.starts,  -- 0: known not to start
    time(n.first_seen) AS first_seen,  -- first seen at all
    time(o.started) AS since,  -- the first audit that saw this state
    time(c.started) AS until,  -- the first that did not; NULL: current
    CASE WHEN n.closed IS NULL  -- last reading of its host; NULL: ended
        THEN time(r.read_at) END AS last_seen,
    n.opened_as,  -- new, changed, moved, returned
    n.closed_as,  -- changed, moved, gone; NULL: current
    n.changed  -- columns that differ from the previous state
FROM nic n JOIN host h ON h.id = n.host
    LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL
    LEFT JOIN audit o ON o.number = n.opened
    LEFT JOIN audit c ON c.number = n.closed
    LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id;

-- Findings as intervals: one row for each time a finding was open.
CREATE VIEW findings AS SELECT
    f.id,  -- id of the row
    h.name AS host,  -- name in the inventory
    i.site,  -- current site of the host
    -- new, known, reopened, returned, moved, suppressed, not looked at; of those that ended: fixed,
    -- gone, moved, changed, suppressed, unsuppressed
    CASE
        WHEN f.closed IS NOT NULL THEN f.closed_as
        WHEN f.accepted <> 0 THEN 'suppressed'
        WHEN l.rule IS NULL OR f.unlooked IS NOT NULL THEN 'not looked at'
        WHEN f.opened = h.read AND f.opened_as IN ('new', 'reopened', 'returned', 'moved')
            THEN f.opened_as
        ELSE 'known' END AS state,
    p.rule,  -- id of the rule
    p.name,  -- name of the rule
    p.severity,  -- info, low, medium, high, error
    p.confidence,  -- low, medium, high
    p.owner,  -- owner of the definition
    p.message,  -- message of the finding
    f.scope,  -- domain, host, config, …
    f.subject,  -- name of the domain, host, …
    uuid(f.uuid) AS uuid,  -- UUID of the domain
    f.mac,  -- MAC address of its NIC
    f.nic_index,  -- position of its NIC
    f.file,  -- file of the definition
    p.field,  -- field that a change would set
    p.old,  -- its current value
    p.new,  -- its value after the change
    p.safe,  -- 1: the change is safe for the guest
    digits(f.fingerprint) AS fingerprint,  -- fingerprint, as in reports
    time(f.first_seen) AS first_seen,  -- first seen at all
    time(o.started) AS since,  -- the audit that opened it
    time(c.started) AS until,  -- the audit that ended it; NULL: open
    CASE WHEN f.closed IS NULL AND f.unlooked IS NULL AND l.rule IS NOT NULL
        THEN time(r.read_at) END AS last_seen,  -- last reading of its host; NULL: not checked
    f.reopened,  -- how often it came back after a fix
    f.reason,  -- why it is accepted
    CASE WHEN f.closed IS NULL THEN 1 ELSE 0 END AS is_open  -- 0: ended
FROM finding f JOIN problem p ON p.id = f.problem JOIN host h ON h.id = f.host
    LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL
    LEFT JOIN audit o ON o.number = f.opened
    LEFT JOIN audit c ON c.number = f.closed
    -- l: its rule ran in the last reading of its host, which is not stale
    LEFT JOIN audit d ON d.number = h.read AND h.tried = h.read
    LEFT JOIN basis_rule l ON l.basis = d.basis AND l.rule = p.rule
    LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id;

-- Counts of findings of the whole fleet at each audit; no row if all counts are 0.
CREATE VIEW trend AS SELECT
    time(a.started) AS time,  -- of the audit
    a.id AS audit,  -- id of the audit
    t.site,  -- site of the hosts
    t.owner,  -- owner of the definitions
    t.rule,  -- id of the rule
    t.severity,  -- info, low, medium, high, error
    t.open,  -- seen by the audit
    t.stale,  -- last known as open, not checked
    t.accepted,  -- suppressed, or in a baseline
    t.new,  -- seen for the first time
    t.reopened,  -- seen again after a fix
    t.fixed,  -- no longer seen
    t.gone  -- NIC, guest or host no longer exists
FROM tally t JOIN audit a ON a.number = t.audit;

-- Imported results of `vnicaudit bench`: one metric, two arms.
CREATE VIEW benchmarks AS SELECT
    b.id AS benchmark,  -- its id
    time(b.started) AS started,  -- start
    b.profile,  -- its profile
    b.design,  -- order of the arms
    b.domain,  -- name of the guest
    b.mac,  -- MAC address of its NIC
    m.workload,  -- id of the workload
    m.metric,  -- name of the metric
    m.unit,  -- unit of the metric
    m.before_arm,  -- name of the arm
    m.after_arm,  -- name of the arm
    m.before_nic,  -- NIC of the guest in that arm
    m.after_nic,  -- NIC of the guest in that arm
    m.before_median,  -- median
    m.after_median,  -- median
    m.before_n,  -- samples that count
    m.after_n,  -- samples that count
    m.percent,  -- change; positive is better
    m.low95,  -- of its 95 percent interval
    m.high95,  -- of its 95 percent interval
    m.verdict  -- improved, equivalent, regressed, …
FROM benchmark b JOIN benchmark_result m ON m.benchmark = b.id;
