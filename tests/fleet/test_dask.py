"""The engine alone, over a real cluster: who reads what, and what becomes of tasks that cannot be
run."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.fleet import tasks
from tests.fleet.dask_cluster import DaskCluster, dask_cluster
from vnicaudit.errors import UsageError
from vnicaudit.fleet.dask import Dask, TlsFiles
from vnicaudit.model.fleet import InventoryHost, LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.report import LostRead

SITES = ("site-a", "site-b")


@pytest.fixture(scope="module")
def running() -> Iterator[DaskCluster]:
    """A scheduler and a worker for each site."""
    with dask_cluster(*SITES) as cluster:
        yield cluster


def engine_of(
    address: str, task: Callable[[bytes], bytes], deadline: float = 60, patience: float = 120
) -> Dask:
    """The engine whose workers run that task."""
    return Dask(address, TlsFiles(), task, LiveOptions(), deadline, patience)


def lost(
    running: DaskCluster,
    task: Callable[[bytes], bytes],
    site: str = "site-a",
    *,
    deadline: float = 60,
) -> LostRead:
    """The failure that a host ends in where workers run that task."""
    with closing(engine_of(running.address, task, deadline, patience=3)) as engine:
        (item,) = engine.attempt(InventoryHost("h", "test:///default", site=site))
    assert isinstance(item, LostRead)
    return item


def test_a_host_is_read_by_a_worker_of_its_site(running: DaskCluster) -> None:
    with closing(engine_of(running.address, tasks.process_id)) as engine:
        for site in SITES:
            for _each in range(3):
                (item,) = engine.attempt(InventoryHost("h", "test:///default", site=site))
                assert item == Host(str(running.workers[site].pid))
        assert [engine.slots(site) for site in (*SITES, "", "site-c")] == [4, 4, 8, 1]


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
        engine_of("nonsense://127.0.0.1:1", tasks.nonsense)
