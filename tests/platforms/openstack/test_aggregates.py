"""Host aggregates, as Nova says them."""

import json
from typing import Any

import pytest

from tests.platforms.openstack.cloud import Asked, FakeCloud, Reply, reply
from tests.platforms.openstack.entering import connect
from vnicaudit.model.openstack import Aggregate
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.lists import AGGREGATES, Aggregates

PATH = "/compute/v2.1/os-aggregates"


def found(name: str = "admin") -> Aggregates:
    return Aggregates().read(Client(connect(name, deadline=30)), AGGREGATES)


def aggregate(name: Any, *hosts: Any, zone: str | None = None, **metadata: Any) -> dict[str, Any]:
    """One as Nova 34 says it; the zone is in the metadata as well."""
    if zone is not None:
        metadata["availability_zone"] = zone
    return {"name": name, "hosts": hosts, "availability_zone": zone, "metadata": metadata}


@pytest.mark.usefixtures("cloud")
def test_hosts_have_their_aggregates() -> None:
    all_of_them = found()
    assert (all_of_them.visible, all_of_them.errors) == (True, [])
    assert all_of_them.of("cmp1") == (Aggregate("agg-one", "nova", (("ssd", "true"),)),)
    assert all_of_them.of("cmp2") == all_of_them.of(None) == ()


def test_a_host_may_be_in_several(cloud: FakeCloud) -> None:
    cloud.admin.aggregates = [
        aggregate("fast", "cmp1", "cmp2", "cmp1", zone="az1", ssd="true", cpu="new"),
        aggregate("rack-7", "cmp1"),
    ]
    fast, rack = Aggregate("fast", "az1", (("cpu", "new"), ("ssd", "true"))), Aggregate("rack-7")
    assert (found().of("cmp1"), found().of("cmp2")) == ((fast, rack), (fast,))


def test_they_are_asked_for_once_and_without_a_page(cloud: FakeCloud) -> None:
    cloud.admin.aggregates = [aggregate(f"a{number}", "cmp1") for number in range(3000)]
    assert len(found().of("cmp1")) == 3000
    assert cloud.paths().count(PATH) == 1
    assert [asked.query for asked in cloud.asked if asked.path == PATH] == [{}]


@pytest.mark.usefixtures("cloud")
def test_a_tenant_is_not_shown_any() -> None:
    assert (found("demo").visible, found("demo").errors) == (False, [])


def test_a_nova_that_fails(cloud: FakeCloud) -> None:
    cloud.intercept = lambda asked: reply(500, {}) if asked.path == PATH else None
    failed = found()
    assert failed.visible is None
    [error] = failed.errors
    assert error.message.startswith(f"compute: GET {cloud.url}{PATH}: 500; the service's log")


def test_one_that_cannot_be_understood_costs_that_one(cloud: FakeCloud) -> None:
    cloud.admin.aggregates = [
        aggregate(7, "cmp1"),
        aggregate("null", None),
        aggregate("number", "cmp1", weight=7),
        aggregate("good", "cmp1"),
    ]
    mixed = found()
    assert mixed.of("cmp1") == (Aggregate("good"),)
    assert len(mixed.errors) == 3


def test_no_escapes_of_a_terminal(cloud: FakeCloud) -> None:
    cloud.admin.aggregates = [aggregate("\x1b[31mred", "cmp1", zone="a\nb", **{"k\x07": "v" * 999})]
    [one] = found().of("cmp1")
    assert (one.name, one.zone, one.metadata) == ("[31mred", "a b", (("k", "v" * 400),))


@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_an_answer_that_is_cut(cloud: FakeCloud, cut: int) -> None:
    whole = json.dumps({"aggregates": cloud.admin.aggregates}).encode()

    def intercept(asked: Asked) -> Reply | None:
        return Reply(200, whole[:cut]) if asked.path == PATH else None

    cloud.intercept = intercept
    part = found()
    assert (part.visible, part.of("cmp1"), len(part.errors)) == (None, (), 1)
