"""One real guest: what happens on the machines while it is measured is not its network."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.rig import bench
from tests.rig.domain_xml import Nic
from tests.rig.guests import Guest, GuestFactory

pytestmark = [pytest.mark.rig, pytest.mark.alone]

ONCE = bench.FEW + "guards = []\n"
ONCE = ONCE.replace("repeats = 2", "repeats = 1")

# as by default: vCPUs that wait say that a run does not count
AS_USUAL = re.sub(r"max-.* = 100\n", "", ONCE)

_PRODUCT = "from vnicaudit.cli.main import run; raise SystemExit(run())"

# as long as it takes to listen in an emulated guest, and no longer: the slow one is waited for in
# vain, and a quick one that is late as well is no regression either
_IMPATIENT = f"""
from vnicaudit.bench.engines import iperf3 as pairs
pairs._LISTEN = 2.0
{_PRODUCT}
"""

_SLOW = """\
real=$(readlink -f "$(command -v iperf3)")
mv "$real" "$real.real"
printf '%s\\n' '#!/bin/sh' \\
    'case " $* " in *" -s "*) [ -e /run/slow ] && exec sleep 60 ;; esac' \\
    "exec $real.real \\"\\$@\\"" >"$real"
chmod 755 "$real"
"""
_AGAIN = 'real=$(readlink -f "$(command -v iperf3)") && mv "$real.real" "$real"; rm -f /run/slow'


@pytest.fixture(scope="module")
def guest(x86_guest: GuestFactory) -> Iterator[Guest]:
    """One for all of them; each leaves it as it was."""
    with x86_guest(Nic("virtio")) as booted:
        booted.wait_for_dns()
        yield booted


def run(
    guest: Guest, folder: Path, head: str, *arms: str, part: str = bench.RX, program: str = _PRODUCT
) -> tuple[int, dict[str, Any]]:
    """``bench run`` with these options: its exit code, and the result."""
    out = folder / "result.json"
    state = str(folder / "state")
    options = ["-p", bench.profile(folder, part, head=head), "--state", state, *arms]
    words = ["bench", "run", f"agent://{guest.name}", *options, "-o", str(out)]
    command = [sys.executable, "-c", program, *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1500, check=False)
    assert out.exists(), ran.stderr + ran.stdout
    return ran.returncode, json.loads(out.read_text())


@pytest.mark.long  # on this machine: tests/bench/running/test_slow_tool.py
def test_an_iperf3_that_is_slow_to_listen_in_one_arm_is_no_regression(
    guest: Guest, tmp_path: Path
) -> None:
    guest.run(["sh", "-c", _SLOW]).output()
    try:
        code, result = run(
            guest, tmp_path, ONCE, "--arm=quick=rm -f /run/slow", "--arm=slow=touch /run/slow",
            program=_IMPATIENT,
        )  # fmt: skip
    finally:
        guest.run(["sh", "-c", _AGAIN]).output()
    assert code == 4
    decision = result["decision"]
    assert decision["verdict"] == "invalid", decision
    assert "not measured: iperf3 does not listen on" in decision["reasons"][0]
    failed = [sample for sample in result["samples"] if sample["arm"] == "slow"]
    assert {sample["failure"] for sample in failed} == {"tool"}


class Loops:
    """Busy loops on this machine, twice as many as it has CPUs, or none."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def on(self) -> None:
        """Have them run."""
        loop = ["sh", "-c", "while :; do :; done"]
        for _ in range(0 if self._running else 2 * (os.cpu_count() or 1)):
            self._running.append(subprocess.Popen(loop, start_new_session=True))

    def off(self) -> None:
        """End them."""
        while self._running:
            self._running[-1].kill()
            self._running.pop().wait()


@contextmanager
def asked_for(address: str, what: Callable[[], None]) -> Iterator[int]:
    """A port at this address: for whoever connects that is done before the connection ends."""

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # closed
                return
            with client:
                what()

    listener = socket.create_server((address, 0))
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def test_load_on_all_cores_in_one_arm_is_no_regression(guest: Guest, tmp_path: Path) -> None:
    """The network is the same in both; what is slower is the machine."""
    gateway = guest.definition.gateway
    assert gateway is not None
    loops = Loops()
    try:
        with asked_for(gateway, loops.off) as off, asked_for(gateway, loops.on) as on:
            arms = (f"--arm=quiet=nc {gateway} {off}", f"--arm=loaded=nc {gateway} {on}")
            code, result = run(guest, tmp_path, AS_USUAL, *arms)
    finally:
        loops.off()
    assert result["decision"]["verdict"] in ("invalid", "inconclusive"), result["decision"]
    assert {one["verdict"] for one in result["results"]} <= {"invalid", "inconclusive"}
    assert code == {"invalid": 4, "inconclusive": 0}[result["decision"]["verdict"]]
    loaded = [sample for sample in result["samples"] if sample["arm"] == "loaded"]
    assert loaded
    assert {by for sample in loaded for by in sample["invalid_by"]} & {"vcpu-delay", "cpu-wait"}
