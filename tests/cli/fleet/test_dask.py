"""``audit -i`` with a scheduler, over a real cluster of separate processes: two sites, workers and
a scheduler that are killed, TLS, another version. The report is that of the threads, byte for
byte."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.bench.endpoints.left import until
from tests.cli.command import SCRIPT, as_in_a_shell
from tests.cli.inside import inside
from tests.fleet.daemons import HostsDaemon, hosts_daemon, make_keys
from tests.fleet.dask_cluster import DaskCluster, dask_cluster
from tests.fleet.paths import Gate
from tests.ports import free_port
from tests.rows import rows_of_tuples

HOSTS = 12
SITES = ("site-a", "site-b")


@pytest.fixture(scope="module")
def daemon() -> Iterator[HostsDaemon]:
    """A daemon with hosts of three domains each."""
    with hosts_daemon(HOSTS) as running:
        yield running


@pytest.fixture(scope="module")
def cluster() -> Iterator[DaskCluster]:
    """A scheduler and a worker for each site."""
    with dask_cluster(*SITES) as running:
        yield running


def inventory(folder: Path, uris: list[str], sites: tuple[str, ...] = SITES) -> Path:
    """Hosts, of one site and another in turn."""
    path = folder / "fleet.toml"
    hosts = (
        f'[[hosts]]\nname = "h{n}"\nuri = "{uri}"\nsite = "{sites[n % len(sites)]}"\n'
        for n, uri in enumerate(uris)
    )
    path.write_text("".join(hosts))
    return path


def words(folder: Path, hosts: Path, *more: str, state: str = "state") -> list[str]:
    """The arguments of an audit; a host that waits at a gate is not to be given up."""
    given = ("-i", str(hosts), "--state", f"{folder}/{state}", "--format", "json")
    return ["audit", *given, "VNICAUDIT_RETRIES=1", "VNICAUDIT_DEADLINE=300", *more]


def by_threads(folder: Path, hosts: Path) -> tuple[int, str]:
    """The exit code and the report of this machine's own threads, times left out."""
    result = inside(*words(folder, hosts, state="threads"))
    return result.returncode, without_times(result.stdout)


def without_times(text: str) -> str:
    """A report without what differs between any two."""
    report = json.loads(text)
    del report["started"], report["finished"]
    return json.dumps(report)


def kept(folder: Path) -> int:
    """How many hosts the audit under way has read."""
    return len(list(folder.glob("state/fleet/audits/*/hosts/0000??")))


@contextmanager
def started(folder: Path, hosts: Path, cluster: DaskCluster) -> Iterator[subprocess.Popen[str]]:
    """An audit by the cluster, under way."""
    given, named = as_in_a_shell(words(folder, hosts, f"VNICAUDIT_SCHEDULER={cluster.address}"))
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), *given], env=os.environ | named,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job may ignore it
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def test_the_report_is_that_of_the_threads(
    daemon: HostsDaemon, cluster: DaskCluster, tmp_path: Path
) -> None:
    uris = [daemon.tcp(n) for n in range(HOSTS - 1)]
    uris += [f"test+tcp://127.0.0.1:{free_port()}/default", daemon.tls(11)]
    uris += [f"test+tcp://127.0.0.1:{daemon.tcp_port}/nowhere.xml"]
    hosts = inventory(tmp_path, uris)
    more = f"VNICAUDIT_SCHEDULER={cluster.address}"
    result = inside(*words(tmp_path, hosts, more))
    assert result.stderr.startswith("Read 12 of 14 hosts, 36 guests; 2 not at all (1 ")
    assert (result.returncode, without_times(result.stdout)) == by_threads(tmp_path, hosts)


def test_a_worker_that_dies_costs_a_retry(
    daemon: HostsDaemon, cluster: DaskCluster, tmp_path: Path
) -> None:
    with closing(Gate(daemon.tcp_port)) as gate:
        uris = [daemon.tcp(n, gate.port if n in (4, 5) else None) for n in range(HOSTS)]
        hosts = inventory(tmp_path, uris)
        with started(tmp_path, hosts, cluster) as process:
            until(lambda: gate.callers >= 2 and kept(tmp_path) == HOSTS - 2, "two are being read")
            cluster.kill_worker("site-a")
            cluster.start_worker("site-a")
            gate.open()
            report, said = process.communicate(timeout=120)
        assert said == "Read 12 of 12 hosts, 36 guests\n"
        assert (process.returncode, without_times(report)) == by_threads(tmp_path, hosts)
    cluster.wait_for_workers("site-a")


def test_a_scheduler_that_comes_back_is_given_what_is_left(
    daemon: HostsDaemon, cluster: DaskCluster, tmp_path: Path
) -> None:
    with closing(Gate(daemon.tcp_port)) as gate:
        uris = [daemon.tcp(n, gate.port if n in (4, 5) else None) for n in range(HOSTS)]
        hosts = inventory(tmp_path, uris)
        with started(tmp_path, hosts, cluster) as process:
            until(lambda: gate.callers >= 2 and kept(tmp_path) == HOSTS - 2, "two are being read")
            before = read_times(tmp_path)
            cluster.stop()
            cluster.start(*SITES)
            gate.open()
            report, said = process.communicate(timeout=120)
        assert said == "Read 12 of 12 hosts, 36 guests\n"
        assert (process.returncode, without_times(report)) == by_threads(tmp_path, hosts)
    assert before.items() <= read_times(tmp_path).items()


def read_times(folder: Path) -> dict[str, int]:
    """When each host was stored."""
    paths = folder.glob("state/fleet/audits/*/hosts/0000??")
    return {path.name: path.stat().st_mtime_ns for path in paths}


def test_ctrl_c_keeps_what_is_done_and_threads_go_on_with_it(
    daemon: HostsDaemon, cluster: DaskCluster, tmp_path: Path
) -> None:
    with closing(Gate(daemon.tcp_port)) as gate:
        uris = [daemon.tcp(n, gate.port if n == 3 else None) for n in range(6)]
        hosts = inventory(tmp_path, uris)
        with started(tmp_path, hosts, cluster) as process:
            until(lambda: kept(tmp_path) == 5, "five are read")
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
        assert process.returncode == 130
        assert said.startswith("5 of 6 hosts were read and stored; to continue, run the same")
        gate.open()
        before = read_times(tmp_path)
        resumed = inside(*words(tmp_path, hosts, "--resume"))
        assert (resumed.returncode, without_times(resumed.stdout)) == by_threads(tmp_path, hosts)
    assert before.items() <= read_times(tmp_path).items()


def test_a_worker_of_another_version_is_refused_with_what_to_do(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    hosts = inventory(tmp_path, ["test:///default"])
    cluster.start_worker("old", other_version=True)
    cluster.wait_for_workers("old")
    try:
        more = f"VNICAUDIT_SCHEDULER={cluster.address}"
        result = inside(*words(tmp_path, hosts, more))
    finally:
        cluster.kill_worker("old")
    assert result.returncode == 2
    assert ": vnicaudit 0.0.1, but this is " in result.stderr
    assert "with the extras dask and libvirt there, and restart them" in result.stderr
    assert not list(tmp_path.glob("state/fleet/audits/*")), "nothing was begun"


def test_tls_is_by_files_and_strangers_are_kept_out(tmp_path: Path) -> None:
    for name in ("pki", "stranger"):
        (tmp_path / name).mkdir()
        make_keys(tmp_path / name)
    hosts = inventory(tmp_path, ["test:///default", "test:///default?2"], SITES[:1])
    with dask_cluster(SITES[0], keys=tmp_path / "pki") as cluster:
        results = {
            name: inside(*words(
                tmp_path, hosts, f"VNICAUDIT_SCHEDULER={cluster.address}",
                f"VNICAUDIT_SCHEDULER_CA={tmp_path}/{name}/cacert.pem",
                f"VNICAUDIT_SCHEDULER_CERT={tmp_path}/{name}/clientcert.pem",
                f"VNICAUDIT_SCHEDULER_KEY={tmp_path}/{name}/clientkey.pem",
            ))
            for name in ("pki", "stranger")
        }  # fmt: skip
    assert results["pki"].stderr == "Read 2 of 2 hosts, 2 guests\n"
    assert results["stranger"].returncode == 2
    assert results["stranger"].stderr.startswith(f"Error: VNICAUDIT_SCHEDULER={cluster.address}: ")


@rows_of_tuples
def test_requests_that_make_no_sense(tmp_path: Path, more: tuple[str, ...], message: str) -> None:
    hosts = inventory(tmp_path, ["test:///default"])
    out = inside(*words(tmp_path, hosts, *more))
    assert out.returncode == 2
    assert message in out.stderr


def test_without_dask_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    hosts = inventory(tmp_path, ["test:///default"])
    out = inside(*words(tmp_path, hosts, "VNICAUDIT_SCHEDULER=localhost:1"))
    assert out.returncode == 2
    assert "pip install '.[dask]'" in out.stderr
