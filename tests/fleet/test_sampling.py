"""Samples: as many as were asked for, the same for the same seed."""

import random

import pytest

from vnicaudit.fleet.plan_history import AuditSample
from vnicaudit.model.fleet import InventoryHost

HOSTS = tuple(InventoryHost(f"kvm{n}", f"test:///{n}") for n in range(1000))


@pytest.mark.parametrize(("share", "number"), [(1.0, 1000), (0.05, 50), (0.0001, 1)])
def test_as_many_hosts_are_drawn(share: float, number: int) -> None:
    drawn = AuditSample(share, "hosts", 7).hosts(HOSTS)
    assert len(drawn) == number
    assert list(drawn) == sorted(drawn, key=HOSTS.index)


def test_a_seed_draws_the_same_hosts_in_whatever_order_they_are() -> None:
    shuffled = list(HOSTS)
    random.Random(1).shuffle(shuffled)
    first = {host.name for host in AuditSample(0.05, "hosts", 7).hosts(HOSTS)}
    assert {host.name for host in AuditSample(0.05, "hosts", 7).hosts(shuffled)} == first
    assert {host.name for host in AuditSample(0.05, "hosts", 8).hosts(HOSTS)} != first


def test_a_sample_of_nics_has_every_host() -> None:
    assert AuditSample(0.05, "nics", 7).hosts(HOSTS) == HOSTS
