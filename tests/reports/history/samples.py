"""Records of a history, with what a name may be made of."""

from vnicaudit.model.history import (
    AuditDetails,
    AuditName,
    AuditSummary,
    Drift,
    FindingRecord,
    HistoryStatus,
    NicRecord,
    StaleHost,
    Trend,
    TrendPoint,
)

ODD = "a\x1b[31m|b"
AUDIT = AuditSummary(
    id="20261122-101500-3f2a", started="2026-11-22T10:15:00Z", finished=None, version="0.1.0",
    rules=4, limit="zone_a", host_share=0.05, nic_share=1.0, hosts=1000, hosts_to_read=50, ok=48,
    partial=1, failed=1, unchanged=40, domains=50_000, nics=100_000, open=12, stale=1234,
    accepted=3, new=2, reopened=1, fixed=4, gone=5,
)  # fmt: skip
STALE = StaleHost("kvm7", "north", None, "2026-11-22T10:15:00Z", "unreachable", f"no route {ODD}")
FINDING = FindingRecord(
    state="reopened", host="kvm1", site="", rule="TEST01", name="test", severity="high",
    confidence="high", owner="libvirt", message=f"slow {ODD}", scope="domain", subject=ODD,
    uuid=None, mac="52:54:00:00:00:01", nic_index=0, file=None, field=None, old=None, new=None,
    safe=False, reason=None, fingerprint="ff" * 12, first_seen="2026-01-01T00:00:00Z", until=None,
    reopened=2,
)  # fmt: skip
NIC = NicRecord(
    state="changed", host="kvm1", site="", domain=ODD, uuid=None, mac=None, model="virtio",
    changes={"model": ("e1000", "virtio"), "vhost": (0, None)},
)  # fmt: skip
STATUS = HistoryStatus(
    place="/x.db", tables="2", bytes=32_200_000, hosts=1000, never_read=2,
    oldest="2026-11-01T00:00:00Z", stale=(STALE,), audits=(AUDIT,),
)  # fmt: skip
DETAILS = AuditDetails(audit=AUDIT, not_read=(STALE,), findings=(FINDING,))
TREND = Trend(
    by="site",
    audits=(AUDIT,),
    points=(TrendPoint(AUDIT.id, AUDIT.started, "", 12, 1234, 3, 2, 1, 4, 5),),
)
DRIFT = Drift(
    before=AuditName("a", "2026-11-21T00:00:00Z"),
    after=AuditName("b", "2026-11-22T00:00:00Z"),
    hosts=3,
    rules=4,
    notes=("1 host read by only one of them: not compared",),
    nics=(NIC,),
    findings=(FINDING,),
)
