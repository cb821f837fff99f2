"""iperf3's server listened on every address of the target, and serves whoever comes first."""

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.engines.here import Here
from tests.not_run import not_run
from vnicaudit.bench.contract import Ends
from vnicaudit.bench.engines import _iperf3_command as command
from vnicaudit.bench.engines import iperf3
from vnicaudit.bench.engines._iperf3_command import Iperf3Load
from vnicaudit.model.measurement import Workload

LOOPBACK = "0100007F"
"""127.0.0.1, as /proc/net/tcp has it on a little-endian machine."""
ALL = {"00000000", "0" * 32}


@pytest.fixture(autouse=True)
def _needs_iperf3() -> None:
    if shutil.which("iperf3") is None:
        not_run("tests/regressions/hostile_input", "iperf3 is not installed")


@pytest.fixture
def ends() -> Iterator[Ends]:
    with Here("target") as target, Here("peer") as peer:
        yield Ends(target, peer, "127.0.0.1", seed=os.getpid())


def listeners() -> set[tuple[str, int]]:
    """Address and port of all that listen on TCP."""
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    pairs = [line[1].rpartition(":") for line in lines if line[3] == "0A"]
    return {(address, int(port, 16)) for address, _colon, port in pairs}


def seen_while_measured(ends: Ends) -> tuple[set[str], list[tuple[str, ...]]]:
    """Addresses that servers listened at meanwhile, and how they were started."""
    seen: set[tuple[str, int]] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.01):
            seen.update(listeners())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        found = iperf3.measure(
            Workload(id="w", engine="iperf3", pattern="tcp", seconds=1.0, warmup=0.0), ends
        )
    finally:
        over.set()
        watcher.join()
    assert found.error == ""
    assert isinstance(ends.target, Here)
    servers = [argv for argv in ends.target.commands if "-s" in argv]
    ports = {int(argv[argv.index("-p") + 1]) for argv in servers}
    return {address for address, port in seen if port in ports}, servers


def test_it_listens_at_the_address_that_it_is_reached_by_alone(ends: Ends) -> None:
    addresses, servers = seen_while_measured(ends)
    assert addresses == {LOOPBACK}
    assert [argv[-2:] for argv in servers] == [("-B", "127.0.0.1")]


def test_where_the_address_is_translated_it_listens_at_all(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target has no such address: the server that is bound to it ends, and one that is not
    bound takes its place."""

    servers_at = command.servers

    def elsewhere(plan: Iperf3Load, port: int, _address: str) -> tuple[tuple[str, ...], ...]:
        return servers_at(plan, port, "192.0.2.7")

    monkeypatch.setattr(command, "servers", elsewhere)
    addresses, servers = seen_while_measured(ends)
    assert addresses & ALL
    assert ["-B" in argv for argv in servers] == [True, False]
