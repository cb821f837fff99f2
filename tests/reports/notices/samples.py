"""New findings with names that break formats."""

from vnicaudit.model.finding import NewFinding, Severity

ODD = "<!channel> @all \x1b[31m *x* `y` <img src=x onerror=1> ::set-output"


def new(
    number: int, severity: Severity = "high", rule: str = "VNIC001", site: str = "east"
) -> NewFinding:
    """The nth finding."""
    return NewFinding(
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


def odd() -> NewFinding:
    """A finding of a hostile name."""
    return NewFinding(
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
