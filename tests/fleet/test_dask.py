"""The engine alone, over a real cluster: who reads what, and what becomes of tasks that cannot be
run."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.fleet import tasks
from tests.fleet.dask_cluster import DaskCluster, dask_cluster
from vnicaudit.errors import UsageError
from vnicaudit.fleet.dask import Cluster, Dask, TlsFiles
from vnicaudit.model.fleet import InventoryHost, LiveOptions
from vnicaudit.model.report import LostRead

SITES = ("site-a", "site-b")


@pytest.fixture(scope="module")
def running() -> Iterator[DaskCluster]:
    """A scheduler and a worker for each site."""
    with dask_cluster(*SITES) as cluster:
        yield cluster


def lost(
    running: DaskCluster,
    task: Callable[[bytes], bytes],
    site: str = "site-a",
    *,
    deadline: float = 60,
) -> LostRead:
    """The failure that a host ends in where workers run that task."""
    cluster = Cluster(running.address, TlsFiles(), patience=3)
    with closing(Dask(cluster, task, LiveOptions(), deadline)) as engine:
        (item,) = engine.attempt(InventoryHost("h", "test:///default", site=site))
    assert isinstance(item, LostRead)
    return item


def test_a_host_is_read_by_a_worker_of_its_site(running: DaskCluster) -> None:
    with closing(Cluster(running.address, TlsFiles())) as cluster:
        readers = {
            site: {cluster.result(cluster.submit(tasks.process_id, b"", site), site, 60)
                   for _each in range(3)}
            for site in SITES
        }  # fmt: skip
        assert readers == {site: {str(running.workers[site].pid).encode()} for site in SITES}
        assert [cluster.slots(site) for site in (*SITES, "", "site-c")] == [4, 4, 8, 1]


def test_a_site_without_a_worker_costs_its_hosts(running: DaskCluster) -> None:
    item = lost(running, tasks.process_id, "site-c")
    assert item.failure == "unreachable"
    assert item.message == (
        f"no worker of the scheduler {running.address} has the resource 'site-c', the site of "
        f"this host; start one with `dask worker {running.address} --resources site-c=16`"
    )


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (tasks.nonsense, "a worker's answer made no sense"),
        (tasks.fail, "a worker cannot load vnicaudit (ImportError); install vnicaudit=="),
    ],
)
def test_answers_that_make_no_sense_cost_their_host(
    running: DaskCluster, task: Callable[[bytes], bytes], message: str
) -> None:
    item = lost(running, task)
    assert (item.failure, message in item.message) == ("broken", True)


def test_nobody_at_the_address() -> None:
    with pytest.raises(UsageError, match="VNICAUDIT_SCHEDULER=nonsense:"):
        Cluster("nonsense://127.0.0.1:1", TlsFiles())
