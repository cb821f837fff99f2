BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('3');
CREATE TABLE audit (
	number INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	started BIGINT NOT NULL, 
	finished BIGINT, 
	basis INTEGER NOT NULL, 
	limit_pattern TEXT NOT NULL, 
	host_share FLOAT NOT NULL, 
	hosts INTEGER NOT NULL, 
	chosen INTEGER NOT NULL, 
	ok INTEGER NOT NULL, 
	partial INTEGER NOT NULL, 
	failed INTEGER NOT NULL, 
	unchanged INTEGER NOT NULL, 
	domains INTEGER NOT NULL, 
	nics INTEGER NOT NULL, 
	PRIMARY KEY (number), 
	UNIQUE (id)
);
INSERT INTO "audit" VALUES(1,'20260101-000000-0000',1767312000000,1767312864000,1,'',1.0,2,2,2,0,0,0,3,3);
INSERT INTO "audit" VALUES(2,'20260102-000000-0000',1767398400000,1767399264000,1,'',1.0,2,2,1,0,1,0,3,3);
INSERT INTO "audit" VALUES(3,'20260103-000000-0000',1767484800000,1767485664000,1,'',1.0,2,2,2,0,0,0,3,3);
CREATE TABLE basis (
	id INTEGER NOT NULL, 
	"key" BLOB NOT NULL, 
	version TEXT NOT NULL, 
	rules TEXT NOT NULL, 
	nic_share FLOAT NOT NULL, 
	seed BIGINT, 
	PRIMARY KEY (id), 
	UNIQUE ("key")
);
INSERT INTO "basis" VALUES(1,X'F47EC6242F5C8462FD5EE3DECA43D874','0.1.0','TEST01 TEST02 TEST03 TEST04',1.0,NULL);
CREATE TABLE basis_rule (
	basis INTEGER NOT NULL, 
	rule TEXT NOT NULL, 
	PRIMARY KEY (basis, rule)
)
 WITHOUT ROWID

;
INSERT INTO "basis_rule" VALUES(1,'TEST01');
INSERT INTO "basis_rule" VALUES(1,'TEST02');
INSERT INTO "basis_rule" VALUES(1,'TEST03');
INSERT INTO "basis_rule" VALUES(1,'TEST04');
CREATE TABLE benchmark (
	id TEXT NOT NULL, 
	started BIGINT NOT NULL, 
	version TEXT NOT NULL, 
	profile TEXT NOT NULL, 
	design TEXT NOT NULL, 
	domain TEXT, 
	mac TEXT, 
	verdict TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE benchmark_result (
	benchmark TEXT NOT NULL, 
	workload TEXT NOT NULL, 
	metric TEXT NOT NULL, 
	before_arm TEXT NOT NULL, 
	after_arm TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	before_nic TEXT, 
	after_nic TEXT, 
	is_primary SMALLINT NOT NULL, 
	before_n INTEGER, 
	before_median FLOAT, 
	after_n INTEGER, 
	after_median FLOAT, 
	percent FLOAT, 
	low95 FLOAT, 
	high95 FLOAT, 
	verdict TEXT NOT NULL, 
	PRIMARY KEY (benchmark, workload, metric, before_arm, after_arm)
)
 WITHOUT ROWID

;
CREATE TABLE finding (
	id INTEGER NOT NULL, 
	host INTEGER NOT NULL, 
	fingerprint BLOB NOT NULL, 
	problem INTEGER NOT NULL, 
	opened INTEGER NOT NULL, 
	closed INTEGER, 
	opened_as TEXT NOT NULL, 
	closed_as TEXT, 
	first_seen BIGINT NOT NULL, 
	reopened INTEGER NOT NULL, 
	unlooked INTEGER, 
	accepted SMALLINT NOT NULL, 
	reason TEXT, 
	scope TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	uuid BLOB, 
	mac TEXT, 
	nic_index INTEGER, 
	file TEXT, 
	PRIMARY KEY (id)
);
INSERT INTO "finding" VALUES(1,1,X'FFC8C0D90BB6FE91980DA113',2,1,NULL,'new',NULL,1767312000000,0,NULL,0,NULL,'domain','vm1',X'00000000000040008000000000000001','52:54:00:00:00:01',0,NULL);
INSERT INTO "finding" VALUES(2,1,X'52F76DE896A1C246A858578A',3,1,NULL,'new',NULL,1767312000000,0,NULL,0,NULL,'domain','vm1',X'00000000000040008000000000000001','52:54:00:00:00:01',0,NULL);
INSERT INTO "finding" VALUES(3,1,X'415DDD68CFDD0969D0718FBE',1,1,NULL,'new',NULL,1767312000000,0,NULL,0,NULL,'domain','vm1',X'00000000000040008000000000000001',NULL,NULL,NULL);
INSERT INTO "finding" VALUES(4,1,X'7AD4793482A289581DAC4656',2,1,2,'new','gone',1767312000000,0,NULL,0,NULL,'domain','vm2',X'00000000000040008000000000000002','52:54:00:00:00:02',0,NULL);
INSERT INTO "finding" VALUES(5,1,X'1B9A0DCE97EE0001E0EE376B',3,1,2,'new','gone',1767312000000,0,NULL,0,NULL,'domain','vm2',X'00000000000040008000000000000002','52:54:00:00:00:02',0,NULL);
INSERT INTO "finding" VALUES(6,1,X'29BF15D48772AA42DA8753EC',1,1,2,'new','gone',1767312000000,0,NULL,0,NULL,'domain','vm2',X'00000000000040008000000000000002',NULL,NULL,NULL);
INSERT INTO "finding" VALUES(7,2,X'54BE6F20F3648F60AB38129C',2,1,NULL,'new',NULL,1767312000000,0,NULL,0,NULL,'domain','vm3',X'00000000000040008000000000000003','52:54:00:00:00:03',0,NULL);
INSERT INTO "finding" VALUES(8,2,X'295CF297E646E897085A8118',3,1,NULL,'new',NULL,1767312000000,0,NULL,0,NULL,'domain','vm3',X'00000000000040008000000000000003','52:54:00:00:00:03',0,NULL);
INSERT INTO "finding" VALUES(9,2,X'5446059B74B54691454AA738',1,1,NULL,'new',NULL,1767312000000,0,NULL,0,NULL,'domain','vm3',X'00000000000040008000000000000003',NULL,NULL,NULL);
INSERT INTO "finding" VALUES(10,1,X'63108AA55E6C409C2D0384AC',2,2,3,'new','gone',1767398400000,0,NULL,0,NULL,'domain','vm4',X'00000000000040008000000000000004','52:54:00:00:00:04',0,NULL);
INSERT INTO "finding" VALUES(11,1,X'ED42A9CDD63E8F8F585CC3F6',3,2,3,'new','gone',1767398400000,0,NULL,0,NULL,'domain','vm4',X'00000000000040008000000000000004','52:54:00:00:00:04',0,NULL);
INSERT INTO "finding" VALUES(12,1,X'64C54E52F191A6048852EEA9',1,2,3,'new','gone',1767398400000,0,NULL,0,NULL,'domain','vm4',X'00000000000040008000000000000004',NULL,NULL,NULL);
INSERT INTO "finding" VALUES(13,2,X'7AD4793482A289581DAC4656',2,3,NULL,'returned',NULL,1767312000000,0,NULL,0,NULL,'domain','vm2',X'00000000000040008000000000000002','52:54:00:00:00:02',0,NULL);
INSERT INTO "finding" VALUES(14,2,X'1B9A0DCE97EE0001E0EE376B',3,3,NULL,'returned',NULL,1767312000000,0,NULL,0,NULL,'domain','vm2',X'00000000000040008000000000000002','52:54:00:00:00:02',0,NULL);
INSERT INTO "finding" VALUES(15,2,X'29BF15D48772AA42DA8753EC',1,3,NULL,'returned',NULL,1767312000000,0,NULL,0,NULL,'domain','vm2',X'00000000000040008000000000000002',NULL,NULL,NULL);
CREATE TABLE host (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	tried INTEGER, 
	read INTEGER, 
	whole INTEGER, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "host" VALUES(1,'kvm1',3,3,3);
INSERT INTO "host" VALUES(2,'kvm2',3,3,3);
CREATE TABLE host_tally (
	host INTEGER NOT NULL, 
	owner TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	severity TEXT NOT NULL, 
	open INTEGER NOT NULL, 
	unlooked INTEGER NOT NULL, 
	accepted INTEGER NOT NULL, 
	PRIMARY KEY (host, owner, rule, severity)
)
 WITHOUT ROWID

;
INSERT INTO "host_tally" VALUES(1,'libvirt','TEST01','high',1,0,0);
INSERT INTO "host_tally" VALUES(1,'libvirt','TEST02','medium',1,0,0);
INSERT INTO "host_tally" VALUES(1,'libvirt','TEST04','info',1,0,0);
INSERT INTO "host_tally" VALUES(2,'libvirt','TEST01','high',2,0,0);
INSERT INTO "host_tally" VALUES(2,'libvirt','TEST02','medium',2,0,0);
INSERT INTO "host_tally" VALUES(2,'libvirt','TEST04','info',2,0,0);
CREATE TABLE inventory (
	host INTEGER NOT NULL, 
	opened INTEGER NOT NULL, 
	closed INTEGER, 
	uri TEXT NOT NULL, 
	site TEXT NOT NULL, 
	groups TEXT NOT NULL, 
	source TEXT NOT NULL, 
	PRIMARY KEY (host, opened)
)
 WITHOUT ROWID

;
INSERT INTO "inventory" VALUES(1,1,NULL,'qemu+ssh://kvm1/system','north','','hosts.toml:1');
INSERT INTO "inventory" VALUES(2,1,NULL,'qemu+ssh://kvm2/system','south','','hosts.toml:1');
CREATE TABLE nic (
	id INTEGER NOT NULL, 
	host INTEGER NOT NULL, 
	opened INTEGER NOT NULL, 
	closed INTEGER, 
	opened_as TEXT NOT NULL, 
	closed_as TEXT, 
	changed TEXT, 
	first_seen BIGINT NOT NULL, 
	domain TEXT NOT NULL, 
	uuid BLOB, 
	nic_index INTEGER NOT NULL, 
	mac TEXT, 
	type TEXT NOT NULL, 
	origin TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	arch TEXT, 
	machine TEXT, 
	vcpus INTEGER, 
	model_declared TEXT, 
	model TEXT, 
	vhost SMALLINT, 
	queues INTEGER, 
	rx_queue_size INTEGER, 
	tx_queue_size INTEGER, 
	starts SMALLINT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "nic" VALUES(1,1,1,NULL,'new',NULL,NULL,1767312000000,'vm1',X'00000000000040008000000000000001',0,'52:54:00:00:00:01','bridge','interface','libvirt','x86_64','pc',4,'e1000','e1000',0,1,NULL,NULL,1);
INSERT INTO "nic" VALUES(2,1,1,2,'new','gone',NULL,1767312000000,'vm2',X'00000000000040008000000000000002',0,'52:54:00:00:00:02','bridge','interface','libvirt','x86_64','pc',4,'e1000','e1000',0,1,NULL,NULL,1);
INSERT INTO "nic" VALUES(3,2,1,NULL,'new',NULL,NULL,1767312000000,'vm3',X'00000000000040008000000000000003',0,'52:54:00:00:00:03','bridge','interface','libvirt','x86_64','pc',4,'e1000','e1000',0,1,NULL,NULL,1);
INSERT INTO "nic" VALUES(4,1,2,3,'new','gone',NULL,1767398400000,'vm4',X'00000000000040008000000000000004',0,'52:54:00:00:00:04','bridge','interface','libvirt','x86_64','pc',4,'e1000','e1000',0,1,NULL,NULL,1);
INSERT INTO "nic" VALUES(5,2,3,NULL,'returned',NULL,NULL,1767312000000,'vm2',X'00000000000040008000000000000002',0,'52:54:00:00:00:02','bridge','interface','libvirt','x86_64','pc',4,'e1000','e1000',0,1,NULL,NULL,1);
CREATE TABLE notified (
	channel TEXT NOT NULL, 
	day TEXT NOT NULL, 
	fingerprint BLOB NOT NULL, 
	PRIMARY KEY (channel, day, fingerprint)
)
 WITHOUT ROWID

;
CREATE TABLE problem (
	id INTEGER NOT NULL, 
	"key" BLOB NOT NULL, 
	rule TEXT NOT NULL, 
	name TEXT NOT NULL, 
	severity TEXT NOT NULL, 
	confidence TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	message TEXT NOT NULL, 
	field TEXT, 
	old TEXT, 
	new TEXT, 
	safe SMALLINT, 
	PRIMARY KEY (id), 
	UNIQUE ("key")
);
INSERT INTO "problem" VALUES(1,X'180150FFEC412B7DAAE32A7DF521CC65','TEST04','test04','info','high','libvirt','mixed',NULL,NULL,NULL,NULL);
INSERT INTO "problem" VALUES(2,X'A8567D9D43123EEAB746C15D950F61A8','TEST01','test01','high','high','libvirt','e1000 is slow',NULL,NULL,NULL,NULL);
INSERT INTO "problem" VALUES(3,X'8CD7CEF845DE443B66123D7AE5595605','TEST02','test02','medium','high','libvirt','e1000 is slow',NULL,NULL,NULL,NULL);
CREATE TABLE reading (
	audit INTEGER NOT NULL, 
	host INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	late SMALLINT NOT NULL, 
	unchanged SMALLINT NOT NULL, 
	failure TEXT, 
	error TEXT, 
	tries SMALLINT NOT NULL, 
	read_at BIGINT NOT NULL, 
	digest BLOB NOT NULL, 
	domains INTEGER NOT NULL, 
	nics INTEGER NOT NULL, 
	findings INTEGER NOT NULL, 
	accepted INTEGER NOT NULL, 
	skipped INTEGER NOT NULL, 
	PRIMARY KEY (audit, host)
)
 WITHOUT ROWID

;
INSERT INTO "reading" VALUES(1,1,'ok',0,0,NULL,NULL,1,1767312000000,X'67943283E76813C0F6E9762210646DA0',2,2,6,0,0);
INSERT INTO "reading" VALUES(1,2,'ok',0,0,NULL,NULL,1,1767312000000,X'64583537CD5079116AF6A28062742DA7',1,1,3,0,0);
INSERT INTO "reading" VALUES(2,1,'ok',0,0,NULL,NULL,1,1767398400000,X'3F1B6A9D381914463B3CBCF1962886C1',2,2,6,0,0);
INSERT INTO "reading" VALUES(2,2,'failed',0,0,'unreachable','something was not read',1,1767398400000,X'EF54F8B7CDBCE7569BA60000C5ECA924',0,0,0,0,0);
INSERT INTO "reading" VALUES(3,1,'ok',0,0,NULL,NULL,1,1767484800000,X'DA0E2B47BB5D7DAFAB5C293CB7136E12',1,1,3,0,0);
INSERT INTO "reading" VALUES(3,2,'ok',0,0,NULL,NULL,1,1767484800000,X'A40CAD44BBF31F3BD2D352948C8D091D',2,2,6,0,0);
CREATE TABLE tally (
	audit INTEGER NOT NULL, 
	site TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	rule TEXT NOT NULL, 
	severity TEXT NOT NULL, 
	open INTEGER NOT NULL, 
	stale INTEGER NOT NULL, 
	accepted INTEGER NOT NULL, 
	new INTEGER NOT NULL, 
	reopened INTEGER NOT NULL, 
	fixed INTEGER NOT NULL, 
	gone INTEGER NOT NULL, 
	PRIMARY KEY (audit, site, owner, rule, severity)
)
 WITHOUT ROWID

;
INSERT INTO "tally" VALUES(1,'north','libvirt','TEST01','high',2,0,0,2,0,0,0);
INSERT INTO "tally" VALUES(1,'north','libvirt','TEST02','medium',2,0,0,2,0,0,0);
INSERT INTO "tally" VALUES(1,'north','libvirt','TEST04','info',2,0,0,2,0,0,0);
INSERT INTO "tally" VALUES(1,'south','libvirt','TEST01','high',1,0,0,1,0,0,0);
INSERT INTO "tally" VALUES(1,'south','libvirt','TEST02','medium',1,0,0,1,0,0,0);
INSERT INTO "tally" VALUES(1,'south','libvirt','TEST04','info',1,0,0,1,0,0,0);
INSERT INTO "tally" VALUES(2,'north','libvirt','TEST01','high',2,0,0,1,0,0,1);
INSERT INTO "tally" VALUES(2,'north','libvirt','TEST02','medium',2,0,0,1,0,0,1);
INSERT INTO "tally" VALUES(2,'north','libvirt','TEST04','info',2,0,0,1,0,0,1);
INSERT INTO "tally" VALUES(2,'south','libvirt','TEST01','high',0,1,0,0,0,0,0);
INSERT INTO "tally" VALUES(2,'south','libvirt','TEST02','medium',0,1,0,0,0,0,0);
INSERT INTO "tally" VALUES(2,'south','libvirt','TEST04','info',0,1,0,0,0,0,0);
INSERT INTO "tally" VALUES(3,'north','libvirt','TEST01','high',1,0,0,0,0,0,1);
INSERT INTO "tally" VALUES(3,'north','libvirt','TEST02','medium',1,0,0,0,0,0,1);
INSERT INTO "tally" VALUES(3,'north','libvirt','TEST04','info',1,0,0,0,0,0,1);
INSERT INTO "tally" VALUES(3,'south','libvirt','TEST01','high',2,0,0,0,0,0,0);
INSERT INTO "tally" VALUES(3,'south','libvirt','TEST02','medium',2,0,0,0,0,0,0);
INSERT INTO "tally" VALUES(3,'south','libvirt','TEST04','info',2,0,0,0,0,0,0);
CREATE INDEX finding_closed ON finding (closed) WHERE closed IS NOT NULL;
CREATE INDEX finding_fingerprint ON finding (fingerprint);
CREATE INDEX finding_open ON finding (host) WHERE closed IS NULL;
CREATE INDEX finding_opened ON finding (opened);
CREATE INDEX nic_closed ON nic (closed) WHERE closed IS NOT NULL;
CREATE INDEX nic_mac ON nic (mac);
CREATE INDEX nic_open ON nic (host) WHERE closed IS NULL;
CREATE INDEX nic_opened ON nic (opened);
CREATE VIEW audits AS
SELECT
    a.id AS "id",
    a.number AS "number",
    strftime('%Y-%m-%dT%H:%M:%fZ', (a.started)/1000.0, 'unixepoch') AS "started",
    strftime('%Y-%m-%dT%H:%M:%fZ', (a.finished)/1000.0, 'unixepoch') AS "finished",
    b.version AS "version",
    b.rules AS "rules",
    a.limit_pattern AS "limit_pattern",
    a.host_share AS "host_share",
    b.nic_share AS "nic_share",
    a.hosts AS "hosts",
    a.chosen AS "chosen",
    a.ok AS "ok",
    a.partial AS "partial",
    a.failed AS "failed",
    a.unchanged AS "unchanged",
    a.domains AS "domains",
    a.nics AS "nics"
FROM audit a JOIN basis b ON b.id = a.basis;
CREATE VIEW hosts AS
SELECT
    h.name AS "host",
    i.site AS "site",
    i.groups AS "host_groups",
    i.uri AS "uri",
    t.status AS "status",
    t.failure AS "failure",
    t.error AS "error",
    strftime('%Y-%m-%dT%H:%M:%fZ', (t.read_at)/1000.0, 'unixepoch') AS "tried_at",
    strftime('%Y-%m-%dT%H:%M:%fZ', (r.read_at)/1000.0, 'unixepoch') AS "read_at",
    CASE WHEN h.tried = h.read THEN 0 ELSE 1 END AS "stale",
    r.domains AS "domains",
    r.nics AS "nics",
    r.findings AS "findings",
    r.accepted AS "accepted"
FROM host h
        LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL
        LEFT JOIN reading t ON t.audit = h.tried AND t.host = h.id
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id;
CREATE VIEW readings AS
SELECT
    a.id AS "audit",
    strftime('%Y-%m-%dT%H:%M:%fZ', (r.read_at)/1000.0, 'unixepoch') AS "time",
    h.name AS "host",
    r.status AS "status",
    r.unchanged AS "unchanged",
    r.late AS "late",
    r.failure AS "failure",
    r.error AS "error",
    r.tries AS "tries",
    r.domains AS "domains",
    r.nics AS "nics",
    r.findings AS "findings",
    r.accepted AS "accepted",
    r.skipped AS "skipped"
FROM reading r JOIN audit a ON a.number = r.audit JOIN host h ON h.id = r.host;
CREATE VIEW nics AS
SELECT
    n.id AS "id",
    h.name AS "host",
    i.site AS "site",
    n.domain AS "domain",
    substr(lower(hex(n.uuid)),1,8)||'-'||substr(lower(hex(n.uuid)),9,4)||'-'||substr(lower(hex(n.uuid)),13,4)||'-'||substr(lower(hex(n.uuid)),17,4)||'-'||substr(lower(hex(n.uuid)),21,99) AS "uuid",
    n.nic_index AS "nic_index",
    n.mac AS "mac",
    n.type AS "type",
    n.origin AS "origin",
    n.owner AS "owner",
    n.arch AS "arch",
    n.machine AS "machine",
    n.vcpus AS "vcpus",
    n.model_declared AS "model_declared",
    n.model AS "model",
    n.vhost AS "vhost",
    n.queues AS "queues",
    n.rx_queue_size AS "rx_queue_size",
    n.tx_queue_size AS "tx_queue_size",
    n.starts AS "starts",
    strftime('%Y-%m-%dT%H:%M:%fZ', (n.first_seen)/1000.0, 'unixepoch') AS "first_seen",
    strftime('%Y-%m-%dT%H:%M:%fZ', (o.started)/1000.0, 'unixepoch') AS "since",
    strftime('%Y-%m-%dT%H:%M:%fZ', ((SELECT x.started FROM audit x WHERE x.number = n.closed))/1000.0, 'unixepoch') AS "until",
    CASE WHEN n.closed IS NULL THEN strftime('%Y-%m-%dT%H:%M:%fZ', (r.read_at)/1000.0, 'unixepoch') END AS "last_seen",
    n.opened_as AS "opened_as",
    n.closed_as AS "closed_as",
    n.changed AS "changed"
FROM nic n JOIN host h ON h.id = n.host LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL
        LEFT JOIN audit o ON o.number = n.opened
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id;
CREATE VIEW findings AS
SELECT
    f.id AS "id",
    h.name AS "host",
    i.site AS "site",
    CASE
    WHEN f.closed IS NOT NULL THEN f.closed_as
    WHEN f.accepted <> 0 THEN 'suppressed'
    WHEN NOT (h.tried = h.read AND f.unlooked IS NULL AND EXISTS (
    SELECT 1 FROM audit a JOIN basis_rule b ON b.basis = a.basis AND b.rule = p.rule
    WHERE a.number = h.read)) THEN 'not looked at'
    WHEN f.opened = h.read AND f.opened_as IN ('new', 'reopened', 'returned', 'moved')
        THEN f.opened_as
    ELSE 'known' END AS "state",
    p.rule AS "rule",
    p.name AS "name",
    p.severity AS "severity",
    p.confidence AS "confidence",
    p.owner AS "owner",
    p.message AS "message",
    f.scope AS "scope",
    f.subject AS "subject",
    substr(lower(hex(f.uuid)),1,8)||'-'||substr(lower(hex(f.uuid)),9,4)||'-'||substr(lower(hex(f.uuid)),13,4)||'-'||substr(lower(hex(f.uuid)),17,4)||'-'||substr(lower(hex(f.uuid)),21,99) AS "uuid",
    f.mac AS "mac",
    f.nic_index AS "nic_index",
    f.file AS "file",
    p.field AS "field",
    p.old AS "old",
    p.new AS "new",
    p.safe AS "safe",
    lower(hex(f.fingerprint)) AS "fingerprint",
    strftime('%Y-%m-%dT%H:%M:%fZ', (f.first_seen)/1000.0, 'unixepoch') AS "first_seen",
    strftime('%Y-%m-%dT%H:%M:%fZ', (o.started)/1000.0, 'unixepoch') AS "since",
    strftime('%Y-%m-%dT%H:%M:%fZ', ((SELECT x.started FROM audit x WHERE x.number = f.closed))/1000.0, 'unixepoch') AS "until",
    CASE WHEN f.closed IS NULL AND (h.tried = h.read AND f.unlooked IS NULL AND EXISTS (
    SELECT 1 FROM audit a JOIN basis_rule b ON b.basis = a.basis AND b.rule = p.rule
    WHERE a.number = h.read)) THEN strftime('%Y-%m-%dT%H:%M:%fZ', (r.read_at)/1000.0, 'unixepoch') END AS "last_seen",
    f.reopened AS "reopened",
    f.reason AS "reason",
    CASE WHEN f.closed IS NULL THEN 1 ELSE 0 END AS "is_open"
FROM finding f JOIN problem p ON p.id = f.problem JOIN host h ON h.id = f.host LEFT JOIN inventory i ON i.host = h.id AND i.closed IS NULL
        LEFT JOIN audit o ON o.number = f.opened
        LEFT JOIN reading r ON r.audit = h.read AND r.host = h.id;
CREATE VIEW trend AS
SELECT
    strftime('%Y-%m-%dT%H:%M:%fZ', (a.started)/1000.0, 'unixepoch') AS "time",
    a.id AS "audit",
    t.site AS "site",
    t.owner AS "owner",
    t.rule AS "rule",
    t.severity AS "severity",
    t.open AS "open",
    t.stale AS "stale",
    t.accepted AS "accepted",
    t.new AS "new",
    t.reopened AS "reopened",
    t.fixed AS "fixed",
    t.gone AS "gone"
FROM tally t JOIN audit a ON a.number = t.audit;
CREATE VIEW benchmarks AS
SELECT
    b.id AS "benchmark",
    strftime('%Y-%m-%dT%H:%M:%fZ', (b.started)/1000.0, 'unixepoch') AS "started",
    b.profile AS "profile",
    b.design AS "design",
    b.domain AS "domain",
    b.mac AS "mac",
    m.workload AS "workload",
    m.metric AS "metric",
    m.unit AS "unit",
    m.before_arm AS "before_arm",
    m.after_arm AS "after_arm",
    m.before_nic AS "before_nic",
    m.after_nic AS "after_nic",
    m.before_median AS "before_median",
    m.after_median AS "after_median",
    m.before_n AS "before_n",
    m.after_n AS "after_n",
    m.percent AS "percent",
    m.low95 AS "low95",
    m.high95 AS "high95",
    m.verdict AS "verdict"
FROM benchmark b JOIN benchmark_result m ON m.benchmark = b.id;
COMMIT;
