"""The order in which hosts are read."""

import threading

from vnicaudit.fleet.host_reading import HostQueue, HostTask
from vnicaudit.model.fleet import InventoryHost


def hosts(*sites: str) -> list[tuple[int, InventoryHost]]:
    """One host for each site, named after its place."""
    return [(n, InventoryHost(f"h{n}", f"test:///{n}", site)) for n, site in enumerate(sites)]


def take(queue: HostQueue) -> HostTask:
    """The next one, which there is."""
    task = queue.take()
    assert task is not None
    return task


def test_load_is_spread_over_sites() -> None:
    queue = HostQueue(hosts("a", "a", "a", "b", "b", "c"))
    taken = [take(queue) for _ in range(6)]
    assert [task.host.site for task in taken] == ["a", "b", "c", "a", "b", "a"]
    assert [task.place for task in taken if task.host.site == "a"] == [0, 1, 2]


def test_a_site_has_no_more_than_its_cap() -> None:
    queue = HostQueue(hosts("a", "a", "a", "b"), per_site=1)
    first, second = take(queue), take(queue)
    assert {first.host.site, second.host.site} == {"a", "b"}
    third: list[HostTask] = []
    waiting = threading.Thread(target=lambda: third.append(take(queue)))
    waiting.start()
    queue.done(first if first.host.site == "b" else second)
    assert not third  # the site that has room has no host left
    queue.done(first if first.host.site == "a" else second)
    waiting.join(120)
    assert third[0].host.site == "a"


def test_a_host_that_failed_comes_again_after_its_pause_and_before_others() -> None:
    now = [0.0]
    queue = HostQueue(hosts("a", "a", "a"), clock=lambda: now[0])
    first = take(queue)
    queue.done(first, 5)
    second = take(queue)
    assert (second.place, second.attempt) == (1, 1)
    now[0] = 6
    again = take(queue)
    assert (again.place, again.attempt) == (0, 2)
    queue.done(again)
    queue.done(second)
    last = take(queue)
    queue.done(last)
    assert last.place == 2
    assert queue.take() is None


def test_nothing_is_handed_out_once_it_is_stopped() -> None:
    queue = HostQueue(hosts("a", "a"))
    take(queue)
    queue.stop()
    assert queue.take() is None
