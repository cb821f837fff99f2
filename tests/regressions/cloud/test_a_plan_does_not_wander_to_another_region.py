"""``OS_REGION_NAME=RegionTwo vnicaudit plan openstack:prod``: the plan, its run and every command
to copy named the cloud alone. In another shell, or in the watchdog's unit, they meant another
region: a server that had been left off was not found there, and flavors, whose ids are alike in
regions, would have been made there."""

from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import FakeCloud
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect
from tests.regressions.cloud.test_regions import configured, more_regions
from vnicaudit.audit.reading.targets import expanded_targets, unique_targets
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.text.diff import client

__all__ = ["cloud", "nowhere"]

KINDS = every_platform().targets

BOTH = "    regions: [RegionOne, RegionTwo]\n"
ONE = "    region_name: RegionOne\n"


def named(*names: str) -> list[str]:
    """What is read of these."""
    return [
        target.name
        for target in expanded_targets(unique_targets(names, KINDS), KINDS, LiveOptions())
    ]


@pytest.mark.parametrize(
    ("name", "region", "said", "found"),
    [
        ("openstack:admin", "RegionTwo", BOTH, "openstack:admin/RegionTwo"),
        ("openstack:", "RegionTwo", BOTH, "openstack:admin/RegionTwo"),
        ("openstack:admin", "RegionTwo", "", "openstack:admin/RegionTwo"),
        ("openstack:admin", "RegionOne", BOTH, "openstack:admin"),
        ("openstack:admin", "RegionOne", ONE, "openstack:admin"),
        ("openstack:admin", "RegionTwo", ONE, "openstack:admin/RegionTwo"),
        ("openstack:admin", " ", "", "openstack:admin"),
        ("openstack:admin", "a/b", "", "openstack:admin"),
        ("openstack:admin/RegionOne", "RegionTwo", BOTH, "openstack:admin/RegionOne"),
        ("openstack:envvars", "RegionTwo", BOTH, "openstack:envvars"),
        ("openstack:nobody", "RegionTwo", BOTH, "openstack:nobody"),
    ],
)
def test_the_region_of_the_environment_is_named(
    name: str, region: str, said: str, found: str,
    cloud: FakeCloud, nowhere: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Where it is not the one that is read without it; one that openstack refuses is refused."""
    configured(nowhere, cloud, said)
    monkeypatch.setenv("OS_CLOUD", "admin")
    monkeypatch.setenv("OS_REGION_NAME", region)
    assert named(name) == [found]
    assert named(found) == [found]


def test_it_is_that_region_in_another_shell(
    cloud: FakeCloud, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more_regions(cloud, "RegionTwo")
    configured(nowhere, cloud, BOTH)
    monkeypatch.setenv("OS_REGION_NAME", "RegionTwo")
    (target,) = named("openstack:admin")
    monkeypatch.delenv("OS_REGION_NAME")
    found = connect(target.removeprefix("openstack:"), deadline=30)
    assert found.region.region_name == "RegionTwo"
    assert client(target) == "openstack --os-cloud admin --os-region-name RegionTwo"
