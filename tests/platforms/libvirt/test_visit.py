"""One domain whose definition libvirt never hands out (its monitor hangs, say)."""

import threading
import time
from functools import partial
from typing import Any

import pytest

from vnicaudit.model.domain import Domain
from vnicaudit.model.host import Host
from vnicaudit.model.report import LostRead, ReadError
from vnicaudit.platforms.libvirt.connection import DomainListing
from vnicaudit.platforms.libvirt.domains import Surroundings, domain_from
from vnicaudit.platforms.libvirt.live import stream
from vnicaudit.platforms.libvirt.visit import OpenedHost, Visit, fetch_all
from vnicaudit.platforms.libvirt.workers import Mailbox, Pulse, WorkerThreads
from vnicaudit.text.targets import parse

URI = parse("qemu:///system")


class Handle:
    """What is used of a libvirt.virDomain; ``stuck`` makes its call wait for the end."""

    def __init__(self, name: str, stuck: threading.Event | None = None) -> None:
        self._name = name
        self._stuck = stuck

    def name(self) -> str:
        return self._name

    def UUIDString(self) -> str:
        return self._name

    def XMLDesc(self, _flags: int = 0) -> str:
        if self._stuck is not None:
            self._stuck.wait()
        return f"<domain type='kvm'><name>{self._name}</name></domain>"


class Shelf(dict[int, Any]):
    """Knows when so many domains were brought; until then its clock stands still, for a machine
    that stalls is no silent host."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self._missing = number
        self._stopped_at = time.monotonic()

    def __setitem__(self, place: int, item: Any) -> None:
        super().__setitem__(place, item)
        self._missing -= 1

    def monotonic(self) -> float:
        """Seconds."""
        return self._stopped_at if self._missing else time.monotonic()


@pytest.mark.parametrize("place", [0, 7, 39])
def test_a_domain_that_hangs_costs_no_other_domain(place: int) -> None:
    end = threading.Event()
    shelf = Shelf(39)
    names = [f"vm-{number:02}" for number in range(40)]
    handles: list[Any] = [Handle(name) for name in names]
    handles[place] = Handle(names[place], end)
    pulse = Pulse(0.3, shelf.monotonic)
    visit = Visit(pulse, Mailbox(pulse), Mailbox(pulse), shelf, threads=2)
    listing = DomainListing(tuple(handles), frozenset(), frozenset(), frozenset())
    threads = WorkerThreads(2, pulse.beat)
    fetch_all(listing, threads, visit)
    opened = OpenedHost(Host("h"), False, tuple(names), (), {})
    found = list(stream(opened, visit, partial(domain_from, around=Surroundings(URI, {}, {}))))
    end.set()
    threads.dismiss()
    assert [item.name for item in found if isinstance(item, Domain)] == [
        name for name in names if name != names[place]
    ]
    assert [item for item in found if isinstance(item, ReadError)] == [
        LostRead(
            f"domain 'vm-{place:02}': not read: no answer within 0.3 s",
            failure="deadline",
            whole=False,
        )
    ]
