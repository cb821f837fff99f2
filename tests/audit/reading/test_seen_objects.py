"""Clouds that are one under several names: what of them is reported once, and what is said."""

import pytest
from msgspec.structs import replace

from tests.audit.clouds import (
    PLACE,
    TARGET,
    UUID,
    FakeCloud,
    findings,
    flavor,
    image,
    port,
    run_of,
    server,
)
from tests.rows import rows
from vnicaudit.audit.run import AuditRun
from vnicaudit.model.finding import Finding
from vnicaudit.model.fleet import CloudItem
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.model.report import Audited

AGAIN = "openstack:again"
OLD = replace(image("old", hw_vif_model="e1000"), updated="2026-11-01T00:00:00Z", owner="p1")
BIG = flavor("big", hw_vif_multiqueue_enabled="true")


@pytest.fixture
def cloud() -> FakeCloud:
    return FakeCloud()


def seen_by(item: Image | Flavor) -> Image | Flavor:
    """The same as another user sees it."""
    place = replace(item.location, target=AGAIN)
    properties = tuple(replace(each, location=place) for each in item.properties)
    return replace(item, target=AGAIN, location=place, properties=properties, servers=0)


def both(
    cloud: FakeCloud, first: list[CloudItem], second: list[CloudItem]
) -> tuple[AuditRun, list[Finding]]:
    cloud.clouds = {"prod": first, "again": second}
    run = run_of(cloud.work("VNIC001", "VNIC062", "VNIC066"))
    return run, findings(run.items([TARGET, AGAIN]))


def rules_by_target(found: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.rule, finding.location.target) for finding in found]


def test_with_a_server_in_common_all_is_reported_once(cloud: FakeCloud) -> None:
    one = server(1, port("rtl8139"))
    other = replace(seen_by(OLD), updated="")
    run, found = both(cloud, [one, OLD, BIG], [one, server(2), other, seen_by(BIG)])
    assert rules_by_target(found) == [
        ("VNIC001", TARGET), ("VNIC062", TARGET), ("VNIC066", TARGET),
    ]  # fmt: skip
    assert [result.notes for result in run.results] == [
        (),
        (f"the same cloud as {TARGET}: 1 server, 1 image, 1 flavor are in both, reported once",),
    ]
    assert (run.summary.domains, run.summary.findings) == (2, 3)
    assert [result.status for result in run.results] == ["ok", "ok"]


def test_what_only_one_of_two_names_shows_is_reported(cloud: FakeCloud) -> None:
    one = server(1)
    hidden = replace(seen_by(OLD), id="image-hidden")
    _run, found = both(cloud, [one, OLD], [one, hidden, seen_by(BIG)])
    assert rules_by_target(found) == [
        ("VNIC062", TARGET), ("VNIC062", AGAIN), ("VNIC066", AGAIN),
    ]  # fmt: skip
    assert [finding.about.id for finding in found] == ["image-old", "image-hidden", "big"]


def test_two_tenants_share_images_alone(cloud: FakeCloud) -> None:
    run, found = both(cloud, [server(1), OLD, BIG], [server(2), seen_by(OLD), seen_by(BIG)])
    assert [finding.rule for finding in found] == ["VNIC062", "VNIC066", "VNIC066"]
    assert run.results[1].notes == (
        (
            f"1 image is in {TARGET} too, reported once; this may not be the same cloud, so "
            "flavors are reported for both"
        ),
    )


@rows
def test_a_copy_in_another_region_is_another_image(
    cloud: FakeCloud, change: dict[str, str]
) -> None:
    run, found = both(cloud, [OLD], [replace(seen_by(OLD), **change)])
    assert [finding.rule for finding in found] == ["VNIC062", "VNIC062"]
    assert run.results[1].notes == ()


def test_images_of_which_nothing_says_when_they_changed_are_two(cloud: FakeCloud) -> None:
    undated = replace(OLD, updated="")
    run, found = both(cloud, [undated], [seen_by(undated)])
    assert [finding.rule for finding in found] == ["VNIC062", "VNIC062"]
    assert run.results[1].notes == ()


def test_flavors_of_two_clouds_are_two_whatever_their_ids(cloud: FakeCloud) -> None:
    big = replace(BIG, id=UUID.format(7))
    run, found = both(cloud, [server(1), big], [server(2), seen_by(big)])
    assert [finding.rule for finding in found] == ["VNIC066", "VNIC066"]
    assert run.results[1].notes == ()


def test_a_third_name_that_meets_the_second_only(cloud: FakeCloud) -> None:
    first, second = server(1), server(2)
    cloud.clouds = {
        "prod": [first, BIG],
        "again": [first, second, BIG],
        "third": [second, BIG],
    }
    run = run_of(cloud.work("VNIC066"))
    assert len(findings(run.items([TARGET, AGAIN, "openstack:third"]))) == 1
    assert run.results[2].notes == (
        f"the same cloud as {AGAIN}: 1 server, 1 flavor are in both, reported once",
    )


def test_of_one_cloud_nothing_is_left_out(cloud: FakeCloud) -> None:
    cloud.clouds["prod"] = [OLD, OLD]
    assert len(findings(run_of(cloud.work("VNIC062")).items([TARGET]))) == 2


def test_an_image_twice_in_one_answer(cloud: FakeCloud) -> None:
    """A list that changed while it was paged."""
    run, found = both(cloud, [OLD, OLD], [seen_by(OLD), seen_by(OLD)])
    assert len(found) == 1
    assert run.results[0].notes == ()
    assert run.results[1].notes[0].startswith(f"1 image is in {TARGET} too")


def test_who_sees_more_servers_decides_how_grave_it_is(cloud: FakeCloud) -> None:
    admin = replace(
        OLD, servers=10, properties=(*OLD.properties, Property("os_type", "linux", PLACE))
    )
    tenant = replace(seen_by(admin), servers=0)
    for first, second, target in ((admin, tenant, TARGET), (tenant, admin, AGAIN)):
        run = run_of(cloud.work("VNIC062"))
        cloud.clouds = {"prod": [first], "again": [second]}
        (item,) = [one for one in run.items([TARGET, AGAIN]) if isinstance(one, Audited)]
        assert (item.target, item.findings[0].severity) == (target, "medium")
        assert "used by 10 servers" in item.findings[0].message


def test_a_flavor_whose_extra_specs_are_shown_is_judged(cloud: FakeCloud) -> None:
    one = server(1)
    hidden = replace(seen_by(BIG), properties=(), complete=False, servers=9)
    _run, found = both(cloud, [one, hidden], [one, BIG])
    assert [finding.rule for finding in found] == ["VNIC066"]
