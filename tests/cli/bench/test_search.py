"""``vnicaudit bench search``: what it asks for, and one search of a server over a veth pair."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest

from tests.bench.endpoints.left import until
from tests.cli.records import options_of
from tests.cli.two_ends import Running, TwoEnds, two_ends
from tests.not_run import not_run
from vnicaudit.bench.running.run import MeasurementRequest, measurement_terms_of
from vnicaudit.cli.bench.search import BenchSearchOptions, command, request_of
from vnicaudit.cli.wiring.adapters import adapters

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "vnicaudit.bench-1.json"

SERVER = r"""
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("192.0.2.1", 53))
print("ready", flush=True)
while True:
    query, sender = server.recvfrom(4096)
    server.sendto(query[:2] + b"\x84\x00\x00\x01\x00\x00\x00\x00\x00\x00" + query[12:], sender)
"""
"""Knows everything: NOERROR, and no records."""

SHORTER = """\
import functools
import vnicaudit.bench.engines.dnsperf as engine
import vnicaudit.bench.facts.validity as validity
import vnicaudit.bench.guards as guards
real = validity.ValidityLimits
most = {"steal": 100.0, "throttled": 100.0, "seconds": 50.0}
validity.ValidityLimits = lambda **given: real(**{**given, **most})
guards.names = lambda: ()
engine.SearchLimits = functools.partial(engine.SearchLimits, per_load_seconds=1.0, width=32.0)
"""
"""A load is decided by one trial, and the bounds need not be close: seconds, not a minute. A run
counts however busy the machine is: here nothing is proven by its figures."""


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[TwoEnds]:
    if shutil.which("dnsperf") is None:
        not_run("tests/cli/bench/test_search.py", "dnsperf is not installed")
    with two_ends(tmp_path, "tests/cli/bench/test_search.py") as made:
        server = subprocess.Popen(
            ["ip", "netns", "exec", made.target, sys.executable, "-c", SERVER],
            stdout=subprocess.PIPE,
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield made
        finally:
            server.kill()
            server.communicate()
        until(lambda: not made.processes(), "nothing is left in the namespaces")


def test_a_server_is_found_to_have_a_limit(ends: TwoEnds, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    done = Running(
        "bench", "search", "dns", ends.path, "--query", "www.example.org A", "--query",
        "example.org MX", "--repeats", "1", "--max-steal", "100", "--max-cpu-wait", "100",
        "--state", tmp_path / "state", "-o", file,
        patch=SHORTER, folder=tmp_path,
    ).ended()  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(file.read_text())
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(found)
    assert (found["run"]["profile"], found["run"]["design"]) == ("search dns", "single")
    (workload,) = found["workloads"]
    assert workload["id"] == "dnsperf.capacity"
    assert workload["options"] == {"name": "www.example.org A,example.org MX"}
    counted = [sample for sample in found["samples"] if sample["valid"]]
    assert counted[-1]["values"]["query_rate"] > 0  # how much is up to the machine
    assert "dnsperf.capacity" in done.stdout


def asked(*words: str) -> MeasurementRequest:
    """What the command asks for."""
    options = options_of(command, *words)
    assert isinstance(options, BenchSearchOptions)
    return request_of(options, adapters)


def test_packets() -> None:
    given = asked(
        "packets", "vm=agent://web01,ssh://gen1", "--direction", "tx",
        "--generators", "4", "--line-rate", "10G",
    )  # fmt: skip
    (workload,) = given.profile.workloads
    assert (workload.id, workload.engine, workload.pattern) == (
        "iperf3.udp-pps.tx", "iperf3", "udp-pps",
    )  # fmt: skip
    assert (workload.direction, workload.generators, workload.connections) == ("tx", 4, 4)
    assert workload.decides == ("packet_rate",)
    assert (given.profile.looks, given.line.rate) == ((3,), 10e9)
    assert given.paths[0].name == "vm"
    assert measurement_terms_of(given).design == "single"


def test_dns() -> None:
    given = asked("dns", "local", "--query", "a.example A", "--repeats", "9")
    (workload,) = given.profile.workloads
    assert (workload.engine, workload.direction, workload.decides) == (
        "dnsperf", "both", ("query_rate",),
    )  # fmt: skip
    assert given.profile.looks == (9,)
