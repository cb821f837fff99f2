"""New findings with names that break formats."""

from msgspec.structs import replace

from vnicaudit.model.finding import Severity
from vnicaudit.model.history import FindingRecord

PLAIN = FindingRecord(
    state="new", host="", site="", rule="VNIC001", name="", severity="high", confidence="high",
    owner="", message="", scope="domain", subject="", uuid=None, mac=None, nic_index=None,
    file=None, field=None, old=None, new=None, safe=False, reason=None, fingerprint="",
    first_seen="2026-11-26T02:00:00Z", until=None,
)  # fmt: skip
ODD = "<!channel> @all \x1b[31m *x* `y` <img src=x onerror=1> ::set-output"


def new(
    number: int, severity: Severity = "high", rule: str = "VNIC001", site: str = "east"
) -> FindingRecord:
    """The nth finding."""
    return replace(
        PLAIN,
        state="new",
        rule=rule,
        name="legacy-emulated-nic",
        severity=severity,
        message="rtl8139 is emulated packet by packet: no offload, no vhost",
        fingerprint=f"{rule}-{number}",
        subject=f"web-{number}",
        host=f"kvm{number % 7}",
        site=site,
        owner="libvirt",
        mac=f"52:54:00:00:00:{number % 256:02x}",
    )


def odd() -> FindingRecord:
    """A finding of a hostile name."""
    return replace(
        PLAIN,
        state="reopened",
        rule="VNIC001",
        name=ODD,
        severity="high",
        message=f"{ODD} password=S3cr3tW0rd",
        fingerprint="odd",
        subject=ODD,
        host=ODD,
        site=ODD,
        owner=ODD,
    )
