"""Size of the text report on many servers with the same problem, ungrouped and grouped.

    python -m benchmarks.grouped [SERVERS]

Findings are generated (100,000 servers of 40 images, 12 flavors, 500 projects and 5,000 hosts).
Prints the characters, lines and peak memory of each report.
"""

from __future__ import annotations

import sys
import tracemalloc

from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.finding import Finding, Location, Ref
from vnicaudit.model.report import Audited, Placed, RunEnd, RunInfo, Summary, TargetResult, Tool
from vnicaudit.reports.formats import writer
from vnicaudit.reports.writers import GROUP_BY, Options

_TARGET = "openstack:prod"
_FIX = (
    "openstack server stop {0}; on a controller (Nova 25.0 or later) nova-manage image_property "
    "set {0} --property hw_vif_model=virtio; openstack server start {0}. Or vnicaudit plan "
    "openstack:prod. For new servers: openstack image set --property hw_vif_model=virtio {1}."
)


def _audited(number: int) -> Audited:
    uuid = f"6e1f1c2e-6a0f-4d53-a1f2-{number:012x}"
    image = f"9d1f1c2e-6a0f-4d53-a1f2-{number % 40:012x}"
    mac = f"fa:16:3e:00:{number >> 8 & 255:02x}:{number & 255:02x}"
    finding = Finding(
        rule="VNIC001", name="legacy-emulated-nic", severity="high", confidence="high",
        message="rtl8139 is emulated packet by packet: no offload, no vhost",
        about=Ref("nic", f"web-{number}", uuid, mac, 0),
        location=Location(_TARGET), owner="nova", change=None, fingerprint=f"{number:032x}",
        fix=_FIX.format(uuid, image),
    )  # fmt: skip
    placed = Placed(
        f"image-{number % 40}", image, f"m1.{number % 12}", f"team-{number % 500}",
        f"{number % 500:032x}", f"cmp{number % 5000}",
    )  # fmt: skip
    return Audited(
        _TARGET, f"web-{number}", uuid, "nova", nics=1, findings=(finding,), placed=placed
    )


def main() -> None:
    """Print a line for each grouping."""
    servers = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    end = RunEnd("", (TargetResult(_TARGET, "ok", domains=servers),), Summary(domains=servers))
    for by in ("", *GROUP_BY):
        tracemalloc.start()
        report = writer("text", Options(width=100, group_by=by, wordings=every_platform().wordings))
        report.start(RunInfo(Tool("vnicaudit", ""), "", tuple))
        size = lines = 0
        for number in range(servers):
            text = report.add(_audited(number))
            size, lines = size + len(text), lines + text.count("\n")
        for text in report.finish(end):
            size, lines = size + len(text), lines + text.count("\n")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"{by or 'each':8} {size:>12,} characters {lines:>10,} lines {peak / 1e6:6.1f} MB held"
        )


if __name__ == "__main__":
    main()
