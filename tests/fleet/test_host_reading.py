"""Hosts that fail, hang and come back: what is tried again, and what becomes of the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from vnicaudit.audit.settings.keys import SetOnce
from vnicaudit.errors import TargetError
from vnicaudit.fleet.host_reading import (
    HostItems,
    HostQueue,
    HostReaders,
    ReadHost,
    Threads,
    read_in_order,
)
from vnicaudit.model.fleet import HostOptions, InventoryHost, LiveOptions
from vnicaudit.model.host import Host
from vnicaudit.model.report import LostRead, ReadError

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem

SOON = SetOnce(parallel=4, host_deadline=30, retries=2)
HOST = Host("kvm")
NO_OPTIONS = HostOptions()


def threads(reader: ReadHost[HostItem], limits: SetOnce) -> Threads[HostItem]:
    """An engine that reads with that."""
    return Threads(reader, LiveOptions(), limits.host_deadline)


def read(
    reader: Callable[[str, LiveOptions], Iterator[HostItem]],
    *names: str,
    limits: SetOnce = SOON,
    options: HostOptions = NO_OPTIONS,
) -> dict[str, HostItems[HostItem]]:
    """What came of hosts of these names, by name."""
    hosts = [InventoryHost(name, name, options=options) for name in names]
    queue = HostQueue(enumerate(hosts))
    readers: HostReaders[HostItem] = HostReaders(queue, threads(reader, limits), limits, (0.0,))
    return {items.host.name: items for items in readers.results()}


def raising(failure: str, times: int = 100) -> Callable[[str, LiveOptions], Iterator[HostItem]]:
    """Fails so many times, and then answers."""
    failures = iter(range(times))

    def reader(_uri: str, _live: LiveOptions) -> Iterator[HostItem]:
        if next(failures, None) is not None:
            raise TargetError("no", file="kvm", failure=failure)
        yield HOST

    return reader


@pytest.mark.parametrize("failure", ["unreachable", "deadline", "broken"])
def test_a_failure_that_may_pass_is_tried_again(failure: str) -> None:
    found = read(raising(failure, 2), "kvm")["kvm"]
    assert (found.items, found.tries) == ([HOST], 3)


@pytest.mark.parametrize("failure", ["refused", "authentication", "internal"])
def test_a_refusal_is_final(failure: str) -> None:
    found = read(raising(failure), "kvm")["kvm"]
    assert found.tries == 1
    assert [type(item) for item in found.items] == [LostRead]


def test_tries_end_and_are_told() -> None:
    found = read(raising("unreachable"), "kvm")["kvm"]
    assert found.items == [LostRead("no (3 tries)", "kvm", failure="unreachable")]


def test_the_try_that_brought_most_is_kept() -> None:
    lengths = iter((3, 1, 0))

    def reader(_uri: str, _live: LiveOptions) -> Iterator[HostItem]:
        yield from [HOST] * next(lengths)
        raise TargetError("lost", failure="broken")

    found = read(reader, "kvm")["kvm"]
    assert found.items == [HOST] * 3 + [LostRead("lost (3 tries)", failure="broken")]


def test_a_domain_that_cannot_be_read_is_no_reason_to_try_again() -> None:
    found = read(lambda _uri, _live: iter((HOST, ReadError("domain 'x': locked"))), "kvm")["kvm"]
    assert found.tries == 1


def test_a_guest_that_hangs_is_no_reason_to_try_again() -> None:
    silent = LostRead("domain 'x': not read: no answer", failure="deadline", whole=False)
    found = read(lambda _uri, _live: iter((HOST, silent)), "kvm")["kvm"]
    assert (found.tries, found.items) == (1, [HOST, silent])


def test_a_host_that_hangs_costs_itself() -> None:
    over = threading.Event()

    def reader(uri: str, _live: LiveOptions) -> Iterator[HostItem]:
        yield HOST
        if uri == "hung":
            over.wait(60)

    limits = SetOnce(parallel=2, host_deadline=10, retries=0)
    found = read(reader, "hung", *map(str, range(8)), limits=limits)
    over.set()
    assert found.pop("hung").items == [
        HOST,
        LostRead(
            "not completely read within 10 s (VNICAUDIT_HOST_DEADLINE)", "hung", failure="deadline"
        ),
    ]
    assert all(items.items == [HOST] for items in found.values())
    assert len(found) == 8


def test_a_host_has_its_own_options() -> None:
    given: list[LiveOptions] = []

    def reader(_uri: str, live: LiveOptions) -> Iterator[HostItem]:
        given.append(live)
        yield HOST

    read(reader, "kvm", options=HostOptions(3.0, True))
    assert (given[0].deadline, given[0].agent) == (3.0, True)


def test_what_no_reader_should_raise_is_raised_where_results_are_taken() -> None:
    def reader(_uri: str, _live: LiveOptions) -> Iterator[HostItem]:
        raise KeyboardInterrupt
        yield HOST

    with pytest.raises(KeyboardInterrupt):
        read(reader, "kvm")


def test_when_nobody_takes_results_any_more_threads_end() -> None:
    hosts = [InventoryHost(str(n), str(n)) for n in range(200)]
    queue = HostQueue(enumerate(hosts))
    engine = threads(lambda _uri, _live: iter((HOST,)), SOON)
    readers: HostReaders[HostItem] = HostReaders(queue, engine, SOON)
    results = readers.results()
    next(results)
    results.close()
    left = [one for one in threading.enumerate() if one.name.startswith("hosts ")]
    for thread in left:
        thread.join(120)
    assert not any(thread.is_alive() for thread in left)


def test_hosts_are_read_side_by_side_within_the_limits_and_given_in_order() -> None:
    reading: dict[str, int] = {"a": 0, "b": 0}
    most = dict(reading)
    lock = threading.Lock()
    pair = threading.Barrier(2, timeout=60)

    def reader(uri: str, _live: LiveOptions) -> Iterator[HostItem]:
        site = uri[0]
        with lock:
            reading[site] += 1
            most[site] = max(most[site], reading[site])
        if site == "a":  # two of this site are read at once
            pair.wait()
        with lock:
            reading[site] -= 1
        yield Host(uri)

    hosts = [InventoryHost(f"{s}{n}", f"{s}{n}", site=s) for n in range(20) for s in ("a", "b")]
    limits = SetOnce(parallel=3, per_site=2)
    found: Iterator[HostItems[HostItem]]
    found = read_in_order(hosts, threads(reader, limits), limits)
    assert [done.items for done in found] == [[Host(host.name)] for host in hosts]
    assert most["a"] == 2
    assert most["b"] <= 2
