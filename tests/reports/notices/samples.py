"""New findings with names that break formats."""

from __future__ import annotations

from tests.reports.samples import finding
from vnicaudit.model.finding import Severity
from vnicaudit.model.notices import NewFinding
from vnicaudit.model.refs import NicRef

ODD = "<!channel> @all \x1b[31m *x* `y` <img src=x onerror=1> ::set-output"


def new(
    number: int, severity: Severity = "high", rule: str = "VNIC001", site: str = "east"
) -> NewFinding:
    """The nth finding."""
    about = NicRef(f"web-{number}", None, f"52:54:00:00:00:{number % 256:02x}", 0)
    one = finding(rule, about=about, severity=severity)
    return NewFinding("new", one, about.domain or "", f"kvm{number % 7}", site)


def odd() -> NewFinding:
    """A finding of a hostile name."""
    one = finding(about=NicRef(ODD, None, None, 0), message=f"{ODD} password=S3cr3tW0rd")
    return NewFinding("reopened", one, ODD, ODD, ODD)
