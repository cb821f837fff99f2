"""The engine with a real dnsperf and a real DNS server, over this machine's loopback."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters import open_endpoint
from tests.bench.clearest import clearest
from tests.bench.endpoints.left import PATIENCE
from tests.not_run import not_run
from tests.ports import free_port
from vnicaudit.bench.contract import Ends, Measured
from vnicaudit.bench.engines import dnsperf
from vnicaudit.model.measurement import Workload

CONFIGURATION = """\
server:
    ip-address: 127.0.0.1@{port}
    username: ""
    zonesdir: "{folder}"
    database: ""
    pidfile: "{folder}/nsd.pid"
    xfrdfile: "{folder}/xfrd.state"
    zonelistfile: "{folder}/zone.list"
    xfrdir: "{folder}"
    rrl-ratelimit: 0
    rrl-whitelist-ratelimit: 0
remote-control:
    control-enable: no
zone:
    name: example.test
    zonefile: zone
"""

ZONE = """\
$ORIGIN example.test.
$TTL 3600
@ IN SOA ns.example.test. root.example.test. 1 3600 900 604800 300
@ IN NS ns.example.test.
ns IN A 127.0.0.1
@ IN A 192.0.2.1
"""

SLOW = """\
import socket, sys, time
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", int(sys.argv[1])))
while True:
    query, client = server.recvfrom(2048)
    ready = time.perf_counter() + 1 / 4000
    while time.perf_counter() < ready:
        pass
    server.sendto(query[:2] + bytes((0x84, 0)) + query[4:], client)
"""
"""Answers 4000 queries per second at most, whatever the machine is."""


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        not_run("tests", f"{name} is not installed: see scripts/packages/tests.apt")
    return found


def answers(port: int) -> bool:
    """Whether somebody answers there."""
    query = b"\0\1\0\0\0\1\0\0\0\0\0\0\7example\4test\0\0\1\0\1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.2)
        client.connect(("127.0.0.1", port))
        try:
            client.send(query)
            return bool(client.recv(2048))
        except OSError:
            return False


def served(argv: list[str], port: int) -> Iterator[int]:
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + PATIENCE
            while not answers(port):
                assert server.poll() is None
                assert time.monotonic() < end
            yield port
        finally:
            server.terminate()
            server.wait()


@pytest.fixture(scope="module")
def nsd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder, port = tmp_path_factory.mktemp("nsd"), free_port()
    (folder / "zone").write_text(ZONE)
    settings = folder / "nsd.conf"
    settings.write_text(CONFIGURATION.format(port=port, folder=folder))
    yield from served([program("nsd"), "-d", "-c", str(settings)], port)


@pytest.fixture(scope="module")
def slow() -> Iterator[int]:
    port = free_port()
    yield from served([sys.executable, "-c", SLOW, str(port)], port)


@pytest.fixture
def ends() -> Iterator[Ends]:
    program("dnsperf")
    endpoint = open_endpoint("local")
    try:
        yield Ends(endpoint, endpoint, "127.0.0.1")
    finally:
        endpoint.close()


def measure(ends: Ends, port: int, **fields: Any) -> Measured:
    options = {"name": "example.test A", "port": str(port), **fields.pop("options", {})}
    shape = {"direction": "both", "seconds": 2.0, "warmup": 0.0, "pattern": "max"}
    workload = Workload(id="dns", engine="dnsperf", **{**shape, **fields}, options=options)
    dnsperf.check(workload)
    return dnsperf.measure(workload, ends)


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_at_full_speed(ends: Ends, nsd: int, transport: str) -> None:
    found = measure(ends, nsd, options={"transport": transport}, warmup=1.0)
    assert found.error == ""
    assert found.values["query_rate"] > 100
    assert found.values["latency_mean"] <= found.values["latency_max"]
    assert found.details["rcode_NOERROR"] == 100.0
    assert found.seconds == pytest.approx(2, rel=0.5)


def test_two_generators_at_a_fixed_rate(ends: Ends, nsd: int) -> None:
    def deviation(found: Measured) -> float:
        assert found.error == ""
        assert len(found.raw) == 2
        assert isinstance(found.details["offered"], float)
        assert found.transactions is not None
        return max(abs(found.details["offered"] / 200 - 1), abs(found.transactions / 400 - 1))

    def both() -> Measured:
        return measure(ends, nsd, pattern="rate", rate=200.0, generators=2, connections=2)

    assert clearest(both, deviation, 0.05) <= 0.05


def test_a_name_that_the_server_does_not_serve(ends: Ends, nsd: int) -> None:
    found = measure(ends, nsd, options={"name": "www.other.test A"})
    assert found.values == {}
    assert found.error == (
        f"the server at 127.0.0.1 port {nsd} (udp) answers REFUSED 100 %: "
        "does it serve www.other.test A?"
    )


def test_nobody_is_there(ends: Ends) -> None:
    port = free_port()
    found = measure(ends, port)
    assert found.error == (
        f"no query was answered: is there a DNS server at 127.0.0.1 port {port} (udp)?"
    )


def test_the_capacity_of_a_slow_server_is_never_more_than_it_has(ends: Ends, slow: int) -> None:
    found = measure(ends, slow, pattern="capacity", options={"search_seconds": "30"})
    if found.error:  # this machine is busy with other things
        assert found.error.startswith("the search found no rate: not finished after 30 s: between ")
        return
    assert 0 < found.values["query_rate"] <= 4000
    # dnsperf sometimes hangs on a busy machine; such a run is kept, and repeated
    ended = [ran for ran in found.raw if "Statistics:" in ran.stdout]
    assert len(ended) == 1 + found.details["trials"]  # type: ignore[operator]


def test_nothing_is_left(ends: Ends, nsd: int, tmp_path: Path) -> None:
    program("ps")
    measure(ends, nsd)
    ends.peer.close()
    said = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert [line for line in said.stdout.splitlines() if f"-p {nsd}" in line] == []
    assert list(tmp_path.iterdir()) == []
