SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.audit (
    number integer NOT NULL,
    id text NOT NULL,
    started bigint NOT NULL,
    finished bigint,
    basis integer NOT NULL,
    limit_pattern text NOT NULL,
    host_share double precision NOT NULL,
    hosts integer NOT NULL,
    chosen integer NOT NULL,
    ok integer NOT NULL,
    partial integer NOT NULL,
    failed integer NOT NULL,
    unchanged integer NOT NULL,
    domains integer NOT NULL,
    nics integer NOT NULL
);
COMMENT ON TABLE public.audit IS 'One row per audit.';
COMMENT ON COLUMN public.audit.number IS 'order of storing';
COMMENT ON COLUMN public.audit.id IS 'as commands name it';
COMMENT ON COLUMN public.audit.limit_pattern IS 'that chose hosts; empty: all';
COMMENT ON COLUMN public.audit.host_share IS 'part of the hosts that was drawn';
COMMENT ON COLUMN public.audit.hosts IS 'in the inventory';
COMMENT ON COLUMN public.audit.chosen IS 'that were to be read';
COMMENT ON COLUMN public.audit.ok IS 'hosts that were read whole';
COMMENT ON COLUMN public.audit.partial IS '… of which something was not read';
COMMENT ON COLUMN public.audit.failed IS '… that were not read';
COMMENT ON COLUMN public.audit.unchanged IS '… read, with nothing new';
COMMENT ON COLUMN public.audit.domains IS 'known then, of all hosts';
COMMENT ON COLUMN public.audit.nics IS 'known then, of all hosts';
CREATE TABLE public.basis (
    id integer NOT NULL,
    key bytea NOT NULL,
    version text NOT NULL,
    rules text NOT NULL,
    nic_share double precision NOT NULL,
    seed bigint
);
COMMENT ON TABLE public.basis IS 'What audits went by: equal readings on one basis have equal results.';
COMMENT ON COLUMN public.basis.key IS 'digest of what is below';
COMMENT ON COLUMN public.basis.version IS 'of vnicaudit';
COMMENT ON COLUMN public.basis.rules IS 'ids of the rules that were asked, by blanks';
COMMENT ON COLUMN public.basis.nic_share IS 'part of the NICs that was drawn';
COMMENT ON COLUMN public.basis.seed IS 'it was drawn with';
CREATE VIEW public.audits AS
 SELECT a.id,
    a.number,
    to_timestamp((((a.started)::numeric / 1000.0))::double precision) AS started,
    to_timestamp((((a.finished)::numeric / 1000.0))::double precision) AS finished,
    b.version,
    b.rules,
    a.limit_pattern,
    a.host_share,
    b.nic_share,
    a.hosts,
    a.chosen,
    a.ok,
    a.partial,
    a.failed,
    a.unchanged,
    a.domains,
    a.nics
   FROM (public.audit a
     JOIN public.basis b ON ((b.id = a.basis)));
CREATE TABLE public.basis_rule (
    basis integer NOT NULL,
    rule text NOT NULL
);
COMMENT ON TABLE public.basis_rule IS 'The rules of a basis, one each.';
CREATE TABLE public.benchmark (
    id text NOT NULL,
    started bigint NOT NULL,
    version text NOT NULL,
    profile text NOT NULL,
    design text NOT NULL,
    domain text,
    mac text,
    verdict text
);
COMMENT ON TABLE public.benchmark IS 'Measurements of vnicaudit bench.';
COMMENT ON COLUMN public.benchmark.id IS 'of the measurement';
COMMENT ON COLUMN public.benchmark.design IS 'how the arms were mixed';
COMMENT ON COLUMN public.benchmark.domain IS 'the guest, where it was one';
CREATE TABLE public.benchmark_result (
    benchmark text NOT NULL,
    workload text NOT NULL,
    metric text NOT NULL,
    before_arm text NOT NULL,
    after_arm text NOT NULL,
    unit text NOT NULL,
    before_nic text,
    after_nic text,
    is_primary smallint NOT NULL,
    before_n integer,
    before_median double precision,
    after_n integer,
    after_median double precision,
    percent double precision,
    low95 double precision,
    high95 double precision,
    verdict text NOT NULL
);
COMMENT ON TABLE public.benchmark_result IS 'Their comparisons: one metric of one workload, two arms.';
COMMENT ON COLUMN public.benchmark_result.before_nic IS 'what the guest''s NIC is in that arm';
COMMENT ON COLUMN public.benchmark_result.percent IS 'after against before; positive is better';
CREATE VIEW public.benchmarks AS
 SELECT b.id AS benchmark,
    to_timestamp((((b.started)::numeric / 1000.0))::double precision) AS started,
    b.profile,
    b.design,
    b.domain,
    b.mac,
    m.workload,
    m.metric,
    m.unit,
    m.before_arm,
    m.after_arm,
    m.before_nic,
    m.after_nic,
    m.before_median,
    m.after_median,
    m.before_n,
    m.after_n,
    m.percent,
    m.low95,
    m.high95,
    m.verdict
   FROM (public.benchmark b
     JOIN public.benchmark_result m ON ((m.benchmark = b.id)));
CREATE TABLE public.finding (
    id bigint NOT NULL,
    host integer NOT NULL,
    fingerprint bytea NOT NULL,
    problem integer NOT NULL,
    opened integer NOT NULL,
    closed integer,
    opened_as text NOT NULL,
    closed_as text,
    first_seen bigint NOT NULL,
    reopened integer NOT NULL,
    unlooked integer,
    accepted smallint NOT NULL,
    reason text,
    scope text NOT NULL,
    subject text NOT NULL,
    uuid bytea,
    mac text,
    nic_index integer,
    file text
);
COMMENT ON TABLE public.finding IS 'Findings, as intervals.';
COMMENT ON COLUMN public.finding.opened_as IS 'new, reopened, returned, moved, changed, suppressed, unsuppressed';
COMMENT ON COLUMN public.finding.closed_as IS 'fixed, gone, moved, changed, suppressed, unsuppressed';
COMMENT ON COLUMN public.finding.first_seen IS 'ever: never changes';
COMMENT ON COLUMN public.finding.reopened IS 'how often it came back after a fix';
COMMENT ON COLUMN public.finding.unlooked IS 'the first audit of its host that did not look at it';
COMMENT ON COLUMN public.finding.accepted IS '1 suppressed, 2 in the baseline';
COMMENT ON COLUMN public.finding.reason IS 'why it is accepted';
COMMENT ON COLUMN public.finding.scope IS 'domain, host, config, …';
COMMENT ON COLUMN public.finding.subject IS 'name of the domain, the host, …';
CREATE TABLE public.host (
    id integer NOT NULL,
    name text NOT NULL,
    tried integer,
    read integer,
    whole integer
);
COMMENT ON TABLE public.host IS 'One row per host that was ever in an inventory.';
COMMENT ON COLUMN public.host.tried IS 'the last audit that was to read it';
COMMENT ON COLUMN public.host.read IS 'the last audit that read it, whole or in part';
COMMENT ON COLUMN public.host.whole IS 'the last audit that read all of it';
CREATE TABLE public.inventory (
    host integer NOT NULL,
    opened integer NOT NULL,
    closed integer,
    uri text NOT NULL,
    site text NOT NULL,
    groups text NOT NULL,
    source text NOT NULL
);
COMMENT ON TABLE public.inventory IS 'The inventory as it was: intervals.';
COMMENT ON COLUMN public.inventory.groups IS 'by blanks';
COMMENT ON COLUMN public.inventory.source IS 'file and line, or command, that named it';
CREATE TABLE public.problem (
    id integer NOT NULL,
    key bytea NOT NULL,
    rule text NOT NULL,
    name text NOT NULL,
    severity text NOT NULL,
    confidence text NOT NULL,
    owner text NOT NULL,
    message text NOT NULL,
    field text,
    old text,
    new text,
    safe smallint
);
COMMENT ON TABLE public.problem IS 'What is wrong, once for all findings that say the same.';
COMMENT ON COLUMN public.problem.key IS 'digest of what is below';
COMMENT ON COLUMN public.problem.field IS 'that a change would set';
CREATE TABLE public.reading (
    audit integer NOT NULL,
    host integer NOT NULL,
    status text NOT NULL,
    late smallint NOT NULL,
    unchanged smallint NOT NULL,
    failure text,
    error text,
    tries smallint NOT NULL,
    read_at bigint NOT NULL,
    digest bytea NOT NULL,
    domains integer NOT NULL,
    nics integer NOT NULL,
    findings integer NOT NULL,
    accepted integer NOT NULL,
    skipped integer NOT NULL
);
COMMENT ON TABLE public.reading IS 'One row per audit and host that was to be read.';
COMMENT ON COLUMN public.reading.status IS 'ok, partial, failed';
COMMENT ON COLUMN public.reading.late IS '1: older than what was known: noted only';
COMMENT ON COLUMN public.reading.unchanged IS '1: as the reading before';
COMMENT ON COLUMN public.reading.failure IS 'unreachable, refused, authentication, deadline, …';
COMMENT ON COLUMN public.reading.digest IS 'of all that was read and judged';
COMMENT ON COLUMN public.reading.accepted IS 'suppressed, or in the baseline';
COMMENT ON COLUMN public.reading.skipped IS 'judgements that lacked a fact';
CREATE VIEW public.findings AS
 SELECT f.id,
    h.name AS host,
    i.site,
        CASE
            WHEN (f.closed IS NOT NULL) THEN f.closed_as
            WHEN (f.accepted <> 0) THEN 'suppressed'::text
            WHEN (NOT ((h.tried = h.read) AND (f.unlooked IS NULL) AND (EXISTS ( SELECT 1
               FROM (public.audit a
                 JOIN public.basis_rule b ON (((b.basis = a.basis) AND (b.rule = p.rule))))
              WHERE (a.number = h.read))))) THEN 'not looked at'::text
            WHEN ((f.opened = h.read) AND (f.opened_as = ANY (ARRAY['new'::text, 'reopened'::text, 'returned'::text, 'moved'::text]))) THEN f.opened_as
            ELSE 'known'::text
        END AS state,
    p.rule,
    p.name,
    p.severity,
    p.confidence,
    p.owner,
    p.message,
    f.scope,
    f.subject,
    ((((((((substr(encode(f.uuid, 'hex'::text), 1, 8) || '-'::text) || substr(encode(f.uuid, 'hex'::text), 9, 4)) || '-'::text) || substr(encode(f.uuid, 'hex'::text), 13, 4)) || '-'::text) || substr(encode(f.uuid, 'hex'::text), 17, 4)) || '-'::text) || substr(encode(f.uuid, 'hex'::text), 21, 99)) AS uuid,
    f.mac,
    f.nic_index,
    f.file,
    p.field,
    p.old,
    p.new,
    p.safe,
    encode(f.fingerprint, 'hex'::text) AS fingerprint,
    to_timestamp((((f.first_seen)::numeric / 1000.0))::double precision) AS first_seen,
    to_timestamp((((o.started)::numeric / 1000.0))::double precision) AS since,
    to_timestamp((((( SELECT x.started
           FROM public.audit x
          WHERE (x.number = f.closed)))::numeric / 1000.0))::double precision) AS until,
        CASE
            WHEN ((f.closed IS NULL) AND ((h.tried = h.read) AND (f.unlooked IS NULL) AND (EXISTS ( SELECT 1
               FROM (public.audit a
                 JOIN public.basis_rule b ON (((b.basis = a.basis) AND (b.rule = p.rule))))
              WHERE (a.number = h.read))))) THEN to_timestamp((((r.read_at)::numeric / 1000.0))::double precision)
            ELSE NULL::timestamp with time zone
        END AS last_seen,
    f.reopened,
    f.reason,
        CASE
            WHEN (f.closed IS NULL) THEN 1
            ELSE 0
        END AS is_open
   FROM (((((public.finding f
     JOIN public.problem p ON ((p.id = f.problem)))
     JOIN public.host h ON ((h.id = f.host)))
     LEFT JOIN public.inventory i ON (((i.host = h.id) AND (i.closed IS NULL))))
     LEFT JOIN public.audit o ON ((o.number = f.opened)))
     LEFT JOIN public.reading r ON (((r.audit = h.read) AND (r.host = h.id))));
CREATE TABLE public.host_tally (
    host integer NOT NULL,
    owner text NOT NULL,
    rule text NOT NULL,
    severity text NOT NULL,
    open integer NOT NULL,
    unlooked integer NOT NULL,
    accepted integer NOT NULL
);
COMMENT ON TABLE public.host_tally IS 'Findings that are open on a host now, counted.';
COMMENT ON COLUMN public.host_tally.open IS 'looked at by its last reading';
COMMENT ON COLUMN public.host_tally.unlooked IS 'open, not looked at by it';
CREATE VIEW public.hosts AS
 SELECT h.name AS host,
    i.site,
    i.groups AS host_groups,
    i.uri,
    t.status,
    t.failure,
    t.error,
    to_timestamp((((t.read_at)::numeric / 1000.0))::double precision) AS tried_at,
    to_timestamp((((r.read_at)::numeric / 1000.0))::double precision) AS read_at,
        CASE
            WHEN (h.tried = h.read) THEN 0
            ELSE 1
        END AS stale,
    r.domains,
    r.nics,
    r.findings,
    r.accepted
   FROM (((public.host h
     LEFT JOIN public.inventory i ON (((i.host = h.id) AND (i.closed IS NULL))))
     LEFT JOIN public.reading t ON (((t.audit = h.tried) AND (t.host = h.id))))
     LEFT JOIN public.reading r ON (((r.audit = h.read) AND (r.host = h.id))));
CREATE TABLE public.nic (
    id bigint NOT NULL,
    host integer NOT NULL,
    opened integer NOT NULL,
    closed integer,
    opened_as text NOT NULL,
    closed_as text,
    changed text,
    first_seen bigint NOT NULL,
    domain text NOT NULL,
    uuid bytea,
    nic_index integer NOT NULL,
    mac text,
    type text NOT NULL,
    origin text NOT NULL,
    owner text NOT NULL,
    arch text,
    machine text,
    vcpus integer,
    model_declared text,
    model text,
    vhost smallint,
    queues integer,
    rx_queue_size integer,
    tx_queue_size integer,
    starts smallint NOT NULL
);
COMMENT ON TABLE public.nic IS 'NICs, as intervals.';
COMMENT ON COLUMN public.nic.opened_as IS 'new, changed, moved, returned';
COMMENT ON COLUMN public.nic.closed_as IS 'changed, moved, gone';
COMMENT ON COLUMN public.nic.changed IS 'the columns that changed when it was opened, by blanks';
COMMENT ON COLUMN public.nic.first_seen IS 'ever: never changes';
COMMENT ON COLUMN public.nic.model IS 'effective, as all that follow';
CREATE VIEW public.nics AS
 SELECT n.id,
    h.name AS host,
    i.site,
    n.domain,
    ((((((((substr(encode(n.uuid, 'hex'::text), 1, 8) || '-'::text) || substr(encode(n.uuid, 'hex'::text), 9, 4)) || '-'::text) || substr(encode(n.uuid, 'hex'::text), 13, 4)) || '-'::text) || substr(encode(n.uuid, 'hex'::text), 17, 4)) || '-'::text) || substr(encode(n.uuid, 'hex'::text), 21, 99)) AS uuid,
    n.nic_index,
    n.mac,
    n.type,
    n.origin,
    n.owner,
    n.arch,
    n.machine,
    n.vcpus,
    n.model_declared,
    n.model,
    n.vhost,
    n.queues,
    n.rx_queue_size,
    n.tx_queue_size,
    n.starts,
    to_timestamp((((n.first_seen)::numeric / 1000.0))::double precision) AS first_seen,
    to_timestamp((((o.started)::numeric / 1000.0))::double precision) AS since,
    to_timestamp((((( SELECT x.started
           FROM public.audit x
          WHERE (x.number = n.closed)))::numeric / 1000.0))::double precision) AS until,
        CASE
            WHEN (n.closed IS NULL) THEN to_timestamp((((r.read_at)::numeric / 1000.0))::double precision)
            ELSE NULL::timestamp with time zone
        END AS last_seen,
    n.opened_as,
    n.closed_as,
    n.changed
   FROM ((((public.nic n
     JOIN public.host h ON ((h.id = n.host)))
     LEFT JOIN public.inventory i ON (((i.host = h.id) AND (i.closed IS NULL))))
     LEFT JOIN public.audit o ON ((o.number = n.opened)))
     LEFT JOIN public.reading r ON (((r.audit = h.read) AND (r.host = h.id))));
CREATE TABLE public.notified (
    channel text NOT NULL,
    day text NOT NULL,
    fingerprint bytea NOT NULL
);
COMMENT ON TABLE public.notified IS 'Findings that a channel was told of within the last week.';
COMMENT ON COLUMN public.notified.channel IS 'as channels.toml names it';
COMMENT ON COLUMN public.notified.day IS 'UTC, 2026-11-26';
CREATE VIEW public.readings AS
 SELECT a.id AS audit,
    to_timestamp((((r.read_at)::numeric / 1000.0))::double precision) AS "time",
    h.name AS host,
    r.status,
    r.unchanged,
    r.late,
    r.failure,
    r.error,
    r.tries,
    r.domains,
    r.nics,
    r.findings,
    r.accepted,
    r.skipped
   FROM ((public.reading r
     JOIN public.audit a ON ((a.number = r.audit)))
     JOIN public.host h ON ((h.id = r.host)));
CREATE TABLE public.tally (
    audit integer NOT NULL,
    site text NOT NULL,
    owner text NOT NULL,
    rule text NOT NULL,
    severity text NOT NULL,
    open integer NOT NULL,
    stale integer NOT NULL,
    accepted integer NOT NULL,
    new integer NOT NULL,
    reopened integer NOT NULL,
    fixed integer NOT NULL,
    gone integer NOT NULL
);
COMMENT ON TABLE public.tally IS 'Findings of the fleet when an audit was stored, counted: what trends are made of.';
COMMENT ON COLUMN public.tally.open IS 'the audit looked, and there they were';
COMMENT ON COLUMN public.tally.stale IS 'open as known, the audit did not look';
CREATE VIEW public.trend AS
 SELECT to_timestamp((((a.started)::numeric / 1000.0))::double precision) AS "time",
    a.id AS audit,
    t.site,
    t.owner,
    t.rule,
    t.severity,
    t.open,
    t.stale,
    t.accepted,
    t.new,
    t.reopened,
    t.fixed,
    t.gone
   FROM (public.tally t
     JOIN public.audit a ON ((a.number = t.audit)));
INSERT INTO public.alembic_version VALUES ('3');
INSERT INTO public.audit VALUES (1, '20260101-000000-0000', 1767312000000, 1767312864000, 1, '', 1, 2, 2, 2, 0, 0, 0, 3, 3);
INSERT INTO public.audit VALUES (2, '20260102-000000-0000', 1767398400000, 1767399264000, 1, '', 1, 2, 2, 1, 0, 1, 0, 3, 3);
INSERT INTO public.audit VALUES (3, '20260103-000000-0000', 1767484800000, 1767485664000, 1, '', 1, 2, 2, 2, 0, 0, 0, 3, 3);
INSERT INTO public.basis VALUES (1, '\xf47ec6242f5c8462fd5ee3deca43d874', '0.1.0', 'TEST01 TEST02 TEST03 TEST04', 1, NULL);
INSERT INTO public.basis_rule VALUES (1, 'TEST01');
INSERT INTO public.basis_rule VALUES (1, 'TEST02');
INSERT INTO public.basis_rule VALUES (1, 'TEST03');
INSERT INTO public.basis_rule VALUES (1, 'TEST04');
INSERT INTO public.finding VALUES (1, 1, '\xffc8c0d90bb6fe91980da113', 2, 1, NULL, 'new', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm1', '\x00000000000040008000000000000001', '52:54:00:00:00:01', 0, NULL);
INSERT INTO public.finding VALUES (2, 1, '\x52f76de896a1c246a858578a', 3, 1, NULL, 'new', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm1', '\x00000000000040008000000000000001', '52:54:00:00:00:01', 0, NULL);
INSERT INTO public.finding VALUES (3, 1, '\x415ddd68cfdd0969d0718fbe', 1, 1, NULL, 'new', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm1', '\x00000000000040008000000000000001', NULL, NULL, NULL);
INSERT INTO public.finding VALUES (7, 2, '\x54be6f20f3648f60ab38129c', 2, 1, NULL, 'new', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm3', '\x00000000000040008000000000000003', '52:54:00:00:00:03', 0, NULL);
INSERT INTO public.finding VALUES (8, 2, '\x295cf297e646e897085a8118', 3, 1, NULL, 'new', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm3', '\x00000000000040008000000000000003', '52:54:00:00:00:03', 0, NULL);
INSERT INTO public.finding VALUES (9, 2, '\x5446059b74b54691454aa738', 1, 1, NULL, 'new', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm3', '\x00000000000040008000000000000003', NULL, NULL, NULL);
INSERT INTO public.finding VALUES (4, 1, '\x7ad4793482a289581dac4656', 2, 1, 2, 'new', 'gone', 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm2', '\x00000000000040008000000000000002', '52:54:00:00:00:02', 0, NULL);
INSERT INTO public.finding VALUES (5, 1, '\x1b9a0dce97ee0001e0ee376b', 3, 1, 2, 'new', 'gone', 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm2', '\x00000000000040008000000000000002', '52:54:00:00:00:02', 0, NULL);
INSERT INTO public.finding VALUES (6, 1, '\x29bf15d48772aa42da8753ec', 1, 1, 2, 'new', 'gone', 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm2', '\x00000000000040008000000000000002', NULL, NULL, NULL);
INSERT INTO public.finding VALUES (10, 1, '\x63108aa55e6c409c2d0384ac', 2, 2, 3, 'new', 'gone', 1767398400000, 0, NULL, 0, NULL, 'domain', 'vm4', '\x00000000000040008000000000000004', '52:54:00:00:00:04', 0, NULL);
INSERT INTO public.finding VALUES (11, 1, '\xed42a9cdd63e8f8f585cc3f6', 3, 2, 3, 'new', 'gone', 1767398400000, 0, NULL, 0, NULL, 'domain', 'vm4', '\x00000000000040008000000000000004', '52:54:00:00:00:04', 0, NULL);
INSERT INTO public.finding VALUES (12, 1, '\x64c54e52f191a6048852eea9', 1, 2, 3, 'new', 'gone', 1767398400000, 0, NULL, 0, NULL, 'domain', 'vm4', '\x00000000000040008000000000000004', NULL, NULL, NULL);
INSERT INTO public.finding VALUES (13, 2, '\x7ad4793482a289581dac4656', 2, 3, NULL, 'returned', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm2', '\x00000000000040008000000000000002', '52:54:00:00:00:02', 0, NULL);
INSERT INTO public.finding VALUES (14, 2, '\x1b9a0dce97ee0001e0ee376b', 3, 3, NULL, 'returned', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm2', '\x00000000000040008000000000000002', '52:54:00:00:00:02', 0, NULL);
INSERT INTO public.finding VALUES (15, 2, '\x29bf15d48772aa42da8753ec', 1, 3, NULL, 'returned', NULL, 1767312000000, 0, NULL, 0, NULL, 'domain', 'vm2', '\x00000000000040008000000000000002', NULL, NULL, NULL);
INSERT INTO public.host VALUES (1, 'kvm1', 3, 3, 3);
INSERT INTO public.host VALUES (2, 'kvm2', 3, 3, 3);
INSERT INTO public.host_tally VALUES (1, 'libvirt', 'TEST01', 'high', 1, 0, 0);
INSERT INTO public.host_tally VALUES (1, 'libvirt', 'TEST02', 'medium', 1, 0, 0);
INSERT INTO public.host_tally VALUES (1, 'libvirt', 'TEST04', 'info', 1, 0, 0);
INSERT INTO public.host_tally VALUES (2, 'libvirt', 'TEST01', 'high', 2, 0, 0);
INSERT INTO public.host_tally VALUES (2, 'libvirt', 'TEST02', 'medium', 2, 0, 0);
INSERT INTO public.host_tally VALUES (2, 'libvirt', 'TEST04', 'info', 2, 0, 0);
INSERT INTO public.inventory VALUES (1, 1, NULL, 'qemu+ssh://kvm1/system', 'north', '', 'hosts.toml:1');
INSERT INTO public.inventory VALUES (2, 1, NULL, 'qemu+ssh://kvm2/system', 'south', '', 'hosts.toml:1');
INSERT INTO public.nic VALUES (1, 1, 1, NULL, 'new', NULL, NULL, 1767312000000, 'vm1', '\x00000000000040008000000000000001', 0, '52:54:00:00:00:01', 'bridge', 'interface', 'libvirt', 'x86_64', 'pc', 4, 'e1000', 'e1000', 0, 1, NULL, NULL, 1);
INSERT INTO public.nic VALUES (3, 2, 1, NULL, 'new', NULL, NULL, 1767312000000, 'vm3', '\x00000000000040008000000000000003', 0, '52:54:00:00:00:03', 'bridge', 'interface', 'libvirt', 'x86_64', 'pc', 4, 'e1000', 'e1000', 0, 1, NULL, NULL, 1);
INSERT INTO public.nic VALUES (2, 1, 1, 2, 'new', 'gone', NULL, 1767312000000, 'vm2', '\x00000000000040008000000000000002', 0, '52:54:00:00:00:02', 'bridge', 'interface', 'libvirt', 'x86_64', 'pc', 4, 'e1000', 'e1000', 0, 1, NULL, NULL, 1);
INSERT INTO public.nic VALUES (4, 1, 2, 3, 'new', 'gone', NULL, 1767398400000, 'vm4', '\x00000000000040008000000000000004', 0, '52:54:00:00:00:04', 'bridge', 'interface', 'libvirt', 'x86_64', 'pc', 4, 'e1000', 'e1000', 0, 1, NULL, NULL, 1);
INSERT INTO public.nic VALUES (5, 2, 3, NULL, 'returned', NULL, NULL, 1767312000000, 'vm2', '\x00000000000040008000000000000002', 0, '52:54:00:00:00:02', 'bridge', 'interface', 'libvirt', 'x86_64', 'pc', 4, 'e1000', 'e1000', 0, 1, NULL, NULL, 1);
INSERT INTO public.problem VALUES (1, '\x180150ffec412b7daae32a7df521cc65', 'TEST04', 'test04', 'info', 'high', 'libvirt', 'mixed', NULL, NULL, NULL, NULL);
INSERT INTO public.problem VALUES (2, '\xa8567d9d43123eeab746c15d950f61a8', 'TEST01', 'test01', 'high', 'high', 'libvirt', 'e1000 is slow', NULL, NULL, NULL, NULL);
INSERT INTO public.problem VALUES (3, '\x8cd7cef845de443b66123d7ae5595605', 'TEST02', 'test02', 'medium', 'high', 'libvirt', 'e1000 is slow', NULL, NULL, NULL, NULL);
INSERT INTO public.reading VALUES (1, 1, 'ok', 0, 0, NULL, NULL, 1, 1767312000000, '\x67943283e76813c0f6e9762210646da0', 2, 2, 6, 0, 0);
INSERT INTO public.reading VALUES (1, 2, 'ok', 0, 0, NULL, NULL, 1, 1767312000000, '\x64583537cd5079116af6a28062742da7', 1, 1, 3, 0, 0);
INSERT INTO public.reading VALUES (2, 1, 'ok', 0, 0, NULL, NULL, 1, 1767398400000, '\x3f1b6a9d381914463b3cbcf1962886c1', 2, 2, 6, 0, 0);
INSERT INTO public.reading VALUES (2, 2, 'failed', 0, 0, 'unreachable', 'something was not read', 1, 1767398400000, '\xef54f8b7cdbce7569ba60000c5eca924', 0, 0, 0, 0, 0);
INSERT INTO public.reading VALUES (3, 1, 'ok', 0, 0, NULL, NULL, 1, 1767484800000, '\xda0e2b47bb5d7dafab5c293cb7136e12', 1, 1, 3, 0, 0);
INSERT INTO public.reading VALUES (3, 2, 'ok', 0, 0, NULL, NULL, 1, 1767484800000, '\xa40cad44bbf31f3bd2d352948c8d091d', 2, 2, 6, 0, 0);
INSERT INTO public.tally VALUES (1, 'north', 'libvirt', 'TEST01', 'high', 2, 0, 0, 2, 0, 0, 0);
INSERT INTO public.tally VALUES (1, 'north', 'libvirt', 'TEST02', 'medium', 2, 0, 0, 2, 0, 0, 0);
INSERT INTO public.tally VALUES (1, 'north', 'libvirt', 'TEST04', 'info', 2, 0, 0, 2, 0, 0, 0);
INSERT INTO public.tally VALUES (1, 'south', 'libvirt', 'TEST01', 'high', 1, 0, 0, 1, 0, 0, 0);
INSERT INTO public.tally VALUES (1, 'south', 'libvirt', 'TEST02', 'medium', 1, 0, 0, 1, 0, 0, 0);
INSERT INTO public.tally VALUES (1, 'south', 'libvirt', 'TEST04', 'info', 1, 0, 0, 1, 0, 0, 0);
INSERT INTO public.tally VALUES (2, 'north', 'libvirt', 'TEST01', 'high', 2, 0, 0, 1, 0, 0, 1);
INSERT INTO public.tally VALUES (2, 'north', 'libvirt', 'TEST02', 'medium', 2, 0, 0, 1, 0, 0, 1);
INSERT INTO public.tally VALUES (2, 'north', 'libvirt', 'TEST04', 'info', 2, 0, 0, 1, 0, 0, 1);
INSERT INTO public.tally VALUES (2, 'south', 'libvirt', 'TEST01', 'high', 0, 1, 0, 0, 0, 0, 0);
INSERT INTO public.tally VALUES (2, 'south', 'libvirt', 'TEST02', 'medium', 0, 1, 0, 0, 0, 0, 0);
INSERT INTO public.tally VALUES (2, 'south', 'libvirt', 'TEST04', 'info', 0, 1, 0, 0, 0, 0, 0);
INSERT INTO public.tally VALUES (3, 'north', 'libvirt', 'TEST01', 'high', 1, 0, 0, 0, 0, 0, 1);
INSERT INTO public.tally VALUES (3, 'north', 'libvirt', 'TEST02', 'medium', 1, 0, 0, 0, 0, 0, 1);
INSERT INTO public.tally VALUES (3, 'north', 'libvirt', 'TEST04', 'info', 1, 0, 0, 0, 0, 0, 1);
INSERT INTO public.tally VALUES (3, 'south', 'libvirt', 'TEST01', 'high', 2, 0, 0, 0, 0, 0, 0);
INSERT INTO public.tally VALUES (3, 'south', 'libvirt', 'TEST02', 'medium', 2, 0, 0, 0, 0, 0, 0);
INSERT INTO public.tally VALUES (3, 'south', 'libvirt', 'TEST04', 'info', 2, 0, 0, 0, 0, 0, 0);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_id_key UNIQUE (id);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.basis
    ADD CONSTRAINT basis_key_key UNIQUE (key);
ALTER TABLE ONLY public.basis
    ADD CONSTRAINT basis_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.basis_rule
    ADD CONSTRAINT basis_rule_pkey PRIMARY KEY (basis, rule);
ALTER TABLE ONLY public.benchmark
    ADD CONSTRAINT benchmark_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.benchmark_result
    ADD CONSTRAINT benchmark_result_pkey PRIMARY KEY (benchmark, workload, metric, before_arm, after_arm);
ALTER TABLE ONLY public.finding
    ADD CONSTRAINT finding_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.host
    ADD CONSTRAINT host_name_key UNIQUE (name);
ALTER TABLE ONLY public.host
    ADD CONSTRAINT host_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.host_tally
    ADD CONSTRAINT host_tally_pkey PRIMARY KEY (host, owner, rule, severity);
ALTER TABLE ONLY public.inventory
    ADD CONSTRAINT inventory_pkey PRIMARY KEY (host, opened);
ALTER TABLE ONLY public.nic
    ADD CONSTRAINT nic_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.notified
    ADD CONSTRAINT notified_pkey PRIMARY KEY (channel, day, fingerprint);
ALTER TABLE ONLY public.problem
    ADD CONSTRAINT problem_key_key UNIQUE (key);
ALTER TABLE ONLY public.problem
    ADD CONSTRAINT problem_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reading
    ADD CONSTRAINT reading_pkey PRIMARY KEY (audit, host);
ALTER TABLE ONLY public.tally
    ADD CONSTRAINT tally_pkey PRIMARY KEY (audit, site, owner, rule, severity);
CREATE INDEX finding_closed ON public.finding USING btree (closed) WHERE (closed IS NOT NULL);
CREATE INDEX finding_fingerprint ON public.finding USING btree (fingerprint);
CREATE INDEX finding_open ON public.finding USING btree (host) WHERE (closed IS NULL);
CREATE INDEX finding_opened ON public.finding USING btree (opened);
CREATE INDEX nic_closed ON public.nic USING btree (closed) WHERE (closed IS NOT NULL);
CREATE INDEX nic_mac ON public.nic USING btree (mac);
CREATE INDEX nic_open ON public.nic USING btree (host) WHERE (closed IS NULL);
CREATE INDEX nic_opened ON public.nic USING btree (opened);
