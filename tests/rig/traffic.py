"""Bulk traffic between this machine and a guest."""

import json
import subprocess
from typing import Any

from tests.rig.errors import RigError
from tests.rig.guests import Guest
from tests.rig.process import require, wait_for


def mbit_per_second(guest: Guest, *, seconds: int = 1, from_guest: bool = False) -> float:
    """What TCP carries to the guest, or from it, by iperf3, whose server is started there."""
    require("iperf3")
    guest.run(["iperf3", "--server", "--daemon", "--one-off", "--idle-timeout", "60"]).output()
    client = ["iperf3", "--json", "--client", guest.address, "--time", str(seconds)]
    if from_guest:
        client.append("--reverse")
    report = wait_for(lambda: _report(client, seconds), f"iperf3 in {guest.name} listens")
    return float(report["end"]["sum_received"]["bits_per_second"]) / 1e6


def _report(client: list[str], seconds: int) -> dict[str, Any] | None:
    """None when nobody listens yet. iperf3 itself never gives up on a path that dies."""
    ran = subprocess.run(client, timeout=seconds + 120, capture_output=True, text=True, check=False)
    report: dict[str, Any] = json.loads(ran.stdout)
    error = report.get("error", "")
    if "Connection refused" in error:
        return None
    if error:
        raise RigError(f"{' '.join(client)}: {error}")
    return report
