"""A real iperf3 that is slow to listen in one arm: the network is the same, nothing regressed."""

import os
import re
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import Engine, Told, plugins, profile
from tests.not_run import not_run
from vnicaudit.bench.contract import Ends, Measured
from vnicaudit.bench.endpoints.opening import parse_paths
from vnicaudit.bench.engines import _listening, iperf3
from vnicaudit.bench.running.opening import ArmCommands
from vnicaudit.bench.running.run import MeasurementRequest, bench
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.measurement import Workload

_SLOW = """#!/bin/sh
case " $* " in *" -s "*) [ -e {flag} ] && exec sleep 300;; esac
exec {iperf3} "$@"
"""


def test_is_not_measured_and_no_regression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = shutil.which("iperf3")
    if installed is None:
        not_run("tests/bench/running", "iperf3 is not installed")
    flag, wrapper = tmp_path / "slow", tmp_path / "bin" / "iperf3"
    wrapper.parent.mkdir()
    wrapper.write_text(_SLOW.format(flag=flag, iperf3=installed))
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")

    class Hurried(Engine):
        """iperf3, with less patience where nobody will ever listen."""

        def measure(self, workload: Workload, ends: Ends) -> Measured:
            monkeypatch.setattr(_listening, "_LISTEN", 3.0 if flag.exists() else 60.0)
            return iperf3.measure(workload, ends)

    work = replace(TCP, seconds=1.0, warmup=0.0, direction="rx")
    request = MeasurementRequest(
        profile=profile(work, runs=5, max_steal=100.0, max_cpu_wait=100.0),
        paths=parse_paths(("local?address=127.0.0.1",)),
        arms={
            "a": ArmCommands(("rm", "-f", str(flag))),
            "b": ArmCommands(("touch", str(flag))),
        },
        states={}, labels={}, seed=0,
        adapters=adapters, plugins=plugins(Hurried()),
    )  # fmt: skip
    result, _kept = bench(request, tmp_path / "state", Told())
    assert result.decision is not None
    assert result.decision.verdict == "invalid"
    assert {each.verdict for each in result.results} == {"invalid"}
    assert {each.failure for each in result.samples if each.arm == "b"} == {"tool"}
    said = result.decision.reasons[0]
    assert said.startswith("tcp: not measured: iperf3 does not listen on local?address=127.0.0.1 ")
    assert re.search(r"\(b: 6 of 6 runs failed; a: 0 of \d+ runs failed\); that says nothing", said)
