"""Definitions of one NIC, and what is said of them."""

import json
from pathlib import Path
from typing import Any

from tests.cli.inside import inside as vnicaudit

OSINFO = "http://libosinfo.org/xmlns/libvirt/domain/1.0"


def definition(
    folder: Path,
    inside: str,
    *,
    kind: str = "bridge",
    source: str = "<source bridge='br0'/>",
    arch: str = "x86_64",
    machine: str = "pc",
    system: str = "http://debian.org/debian/12",
) -> Path:
    """A file with a domain of one interface, whose children are on line 3."""
    file = folder / "guest.xml"
    file.write_text(
        f"<domain type='kvm'><name>guest</name><uuid>5c5c5c5c-5c5c-5c5c-5c5c-5c5c5c5c5c5c</uuid>"
        f"<metadata><o:libosinfo xmlns:o='{OSINFO}'><o:os id='{system}'/></o:libosinfo></metadata>"
        f"<vcpu>1</vcpu><os><type arch='{arch}' machine='{machine}'>hvm</type></os><devices>\n"
        f"<interface type='{kind}'>{source}<mac address='52:54:00:00:00:01'/>\n{inside}\n"
        "</interface></devices></domain>\n"
    )
    return file


def audited(
    *targets: Path | str, more: tuple[str, ...] = (), code: int = 0
) -> list[dict[str, Any]]:
    """The findings of an audit."""
    done = vnicaudit("audit", *targets, "--format", "json", "--level", "never", *more)
    assert done.returncode == code, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return found
