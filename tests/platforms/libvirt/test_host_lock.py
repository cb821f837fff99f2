"""The lock at a host: of many that come at once, one has it."""

import threading
from collections.abc import Iterator

import pytest

from tests.fleet.qemu_daemons import QemuHost, qemu_hosts
from vnicaudit.errors import ActionError
from vnicaudit.model.host import HostLock
from vnicaudit.platforms.libvirt.control import LibvirtHypervisor, connect

OPERATORS = 6
ROUNDS = 5


@pytest.fixture(scope="module")
def host() -> Iterator[QemuHost]:
    """One host."""
    with qemu_hosts(1) as (running,):
        yield running


def lock_of(number: int) -> HostLock:
    """The lock of one operator."""
    return HostLock(f"{number:032x}", f"operator {number} <&> of \x1b[1mctl{number}")


def test_one_of_many_has_it_and_the_others_see_who(host: QemuHost) -> None:
    ways = [connect(host.uri, deadline=60) for _ in range(OPERATORS)]
    try:
        for _ in range(ROUNDS):
            found = all_at_once(ways)
            (owner,) = {lock.owner for lock in found}
            (number,) = (place for place in range(OPERATORS) if lock_of(place).owner == owner)
            other = found[(number + 1) % OPERATORS]
            assert other.holder == f"operator {number} <&> of [1mctl{number}"
            assert other.clear_command.startswith(f"virsh -c '{host.uri}' secret-undefine ")
            ways[(number + 1) % OPERATORS].drop_lock(lock_of((number + 1) % OPERATORS).owner)
            assert owner in host.lock_text()  # nobody else removes it
            ways[number].drop_lock(owner)
            assert host.lock_text() == ""
    finally:
        for way in ways:
            way.close()


def all_at_once(ways: list[LibvirtHypervisor]) -> list[HostLock]:
    """The lock that each operator sees after all of them tried to take it at the same time."""
    found: dict[int, HostLock] = {}
    gate = threading.Barrier(len(ways))

    def take(number: int) -> None:
        gate.wait(60)
        found[number] = ways[number].take_lock(lock_of(number))

    threads = [threading.Thread(target=take, args=(number,)) for number in range(len(ways))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[number] for number in range(len(ways))]


def test_what_an_owner_left_behind_is_taken_over_with_a_new_name(host: QemuHost) -> None:
    way = connect(host.uri, deadline=60)
    try:
        way.take_lock(HostLock("0" * 32, "process 1"))
        again = HostLock("0" * 32, "process 2")
        assert way.take_lock(again) == again
        assert "process 2" in host.lock_text()
        assert "process 1" not in host.lock_text()
        way.drop_lock(again.owner)
    finally:
        way.close()


def test_a_host_without_secrets_can_hold_none() -> None:
    way = connect("test:///default", deadline=60)
    try:
        with pytest.raises(ActionError, match="cannot hold a lock: this function is not supported"):
            way.take_lock(lock_of(1))
    finally:
        way.close()
