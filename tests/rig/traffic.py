"""Bulk traffic between this machine and a guest."""

import json
import subprocess
from itertools import count
from typing import Any

from tests.rig.errors import RigError
from tests.rig.guests import Guest
from tests.rig.process import require, wait_for

_PORTS = count(5201)
"""Each server has its own: the one before may not have gone yet."""


def mbit_per_second(guest: Guest, *, seconds: int = 1, from_guest: bool = False) -> float:
    """What TCP carries to the guest, or from it, by iperf3, whose server is started there."""
    require("iperf3")
    port = str(next(_PORTS))
    server = ["iperf3", "--server", "--port", port, "--daemon", "--one-off"]
    guest.run([*server, "--idle-timeout", "300"]).output()
    client = ["iperf3", "--json", "--client", guest.address, "--port", port]
    client += ["--time", str(seconds)]
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
