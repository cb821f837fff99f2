"""Three runs: one that went mostly well, one that is not finished, and a way back."""

from vnicaudit.model.runs import Check, RunRecord, UnitRun

PLAN = f"sha256:{'5f' * 32}"
MAIL = UnitRun(
    "mail-01",
    "6f4d3c1e-0e5a-4c52-8f6c-0d2f8f4f3a11",
    "qemu:///system",
    ("s1", "s2"),
    ("52:54:00:12:34:56", "52:54:00:12:34:57"),
    "applied",
    checks=(
        Check("arguments", "ok", "QEMU runs -device virtio-net-pci"),
        Check("address", "unknown", "no lease and no ARP entry: a guest agent would show it"),
        Check("link", "ok"),
    ),
    downtime=6.25,
)
DB = UnitRun(
    "db-01", None, "qemu:///system", ("s3",), ("52:54:00:00:00:07",), "rolled-back",
    "the guest did not come back within 120 s; its definition is what it was",
    (Check("agent", "failed", "does not answer"),), 131.0,
)  # fmt: skip
WEB = UnitRun(
    "web-01", None, "qemu+ssh://kvm2/system", ("s4",), ("",), "refused",
    "the definition is another one than when it was planned",
)  # fmt: skip
APPLY = RunRecord(
    "20261121-101500-3f2a", "apply", "2026-11-21T10:15:00Z", "2026-11-21T10:19:12Z", PLAN,
    "restart", ("qemu:///system", "qemu+ssh://kvm2/system"), "rolled-back", (MAIL, DB, WEB),
)  # fmt: skip
BROKEN = RunRecord(
    "20261120-220000-77b0", "apply", "2026-11-20T22:00:00Z", None, PLAN, "next-boot",
    ("qemu:///system",), "unfinished",
    (UnitRun("mail-01", None, "qemu:///system", ("s1",), ("52:54:00:12:34:56",), "unfinished"),
     UnitRun("db-01", None, "qemu:///system", ("s3",), ("52:54:00:00:00:07",), "not-reached")),
)  # fmt: skip
BACK = RunRecord(
    "20261119-090000-aa01", "rollback", "2026-11-19T09:00:00Z", "2026-11-19T09:00:02Z",
    "20261118-090000-9b1c", "next-boot", ("qemu:///system",), "done",
    (UnitRun("mail-01", None, "qemu:///system", ("s1",), ("52:54:00:12:34:56",), "applied"),),
)  # fmt: skip
RUNS = [APPLY, BROKEN, BACK]
