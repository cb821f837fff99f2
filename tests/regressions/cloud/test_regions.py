"""Regions: OS_REGION_NAME and OS_CLOUD were passed over, no region could be named, and a report of
one region of three read like the whole cloud. A token of the system scope was called one of a
tenant of project ''."""

import copy
from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import PASSWORD, FakeCloud
from tests.platforms.openstack.conftest import CLOUD, cloud, nowhere
from tests.platforms.openstack.entering import connect, read
from vnicaudit.audit.reading.targets import expanded_targets, target_of, unique_targets
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import LiveOptions

__all__ = ["cloud", "nowhere"]

KINDS = every_platform().targets


def more_regions(cloud: FakeCloud, *names: str) -> None:
    """The catalogue has the same endpoints in these regions as well."""
    for service in cloud.admin.token["token"]["catalog"]:
        for endpoint in list(service["endpoints"]):
            for name in names:
                other = copy.deepcopy(endpoint)
                other["region"] = other["region_id"] = name
                service["endpoints"].append(other)


def configured(nowhere: Path, cloud: FakeCloud, regions: str) -> None:
    """clouds.yaml says this of regions."""
    entry = CLOUD.format(name="admin", url=cloud.url, password=PASSWORD)
    text = "clouds:\n" + entry.replace("    region_name: RegionOne\n", regions)
    (nowhere / "clouds.yaml").write_text(text, "utf-8")


def notes(name: str) -> str:
    """Of a reading to its end."""
    reading = read(name)
    list(reading.items)
    return "\n".join(reading.notes)


def test_a_region_that_is_named_is_read(cloud: FakeCloud, nowhere: Path) -> None:
    more_regions(cloud, "RegionTwo")
    configured(nowhere, cloud, "    regions: [RegionOne, RegionTwo]\n")
    assert connect("admin/RegionTwo", deadline=30).region.region_name == "RegionTwo"
    assert connect("admin", deadline=30).region.region_name == "RegionOne"


def test_the_region_of_the_environment_is_read(
    cloud: FakeCloud, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more_regions(cloud, "RegionTwo")
    configured(nowhere, cloud, "    regions: [RegionOne, RegionTwo]\n")
    monkeypatch.setenv("OS_REGION_NAME", "RegionTwo")
    assert connect("admin", deadline=30).region.region_name == "RegionTwo"
    assert connect("admin/RegionOne", deadline=30).region.region_name == "RegionOne"


def test_a_region_that_is_not_there_is_told(cloud: FakeCloud, nowhere: Path) -> None:
    configured(nowhere, cloud, "")
    found = connect("admin/Nowhere", deadline=30)
    with pytest.raises(TargetError, match="Nowhere"):
        found.endpoint("compute")


def test_the_cloud_of_the_environment_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_CLOUD", "multi")
    assert target_of("openstack:", every_platform().targets).name == "openstack:multi"


def test_all_regions_are_a_target_each(cloud: FakeCloud) -> None:
    more_regions(cloud, "RegionTwo", "RegionThree")
    targets = expanded_targets(
        unique_targets(["openstack:admin/*", "-"], KINDS), KINDS, LiveOptions()
    )
    assert [target.name for target in targets] == [
        "openstack:admin/RegionOne",
        "openstack:admin/RegionThree",
        "openstack:admin/RegionTwo",
        "-",
    ]


def test_a_report_says_which_of_how_many_regions_it_read(cloud: FakeCloud) -> None:
    assert "region" not in notes("admin")
    more_regions(cloud, "RegionTwo", "RegionThree")
    words = "region RegionOne, 1 of 3 (RegionOne, RegionThree, RegionTwo)"
    assert f"{words}; openstack:admin/* reads them all" in notes("admin")
    assert notes("admin/RegionOne").splitlines()[1] == words


def test_the_first_region_is_told_where_none_was_named(cloud: FakeCloud, nowhere: Path) -> None:
    more_regions(cloud, "RegionTwo")
    configured(nowhere, cloud, "")
    assert "1 of 2 (RegionOne, RegionTwo); openstack:admin/* reads them all" in notes("admin")


def test_a_token_of_the_system_scope_is_called_so(cloud: FakeCloud) -> None:
    token = cloud.admin.token["token"]
    del token["project"]
    token["system"] = {"all": True}
    assert "the token is of the system scope, to which Nova and Glance show" in notes("admin")
