"""``openstack:CLOUD/REGION`` read a region that ``openstack --os-cloud CLOUD --os-region-name
REGION`` refuses, since clouds.yaml has another one as ``region_name`` of the cloud: of the commands
that were printed for it none worked.

python-openstackclient 10.5.0: ``Region RegionTwo is not a valid region name for cloud admin. Valid
choices are RegionOne.``
"""

from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import FakeCloud
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect, run
from tests.regressions.cloud.test_regions import configured, more_regions
from vnicaudit.errors import TargetError
from vnicaudit.platforms.openstack.session import OpenStackConfig, SDKException

__all__ = ["cloud", "nowhere"]

WORDS = (
    r"clouds\.yaml has no region RegionTwo for the cloud 'admin', and the openstack command would "
    r"refuse it too; available: RegionOne\. If the cloud has them all, list them in its entry as "
    r"regions: \[RegionOne, RegionTwo\], in place of region_name$"
)


def test_it_is_refused_with_what_to_write(cloud: FakeCloud) -> None:
    more_regions(cloud, "RegionTwo")
    with pytest.raises(TargetError, match=WORDS):
        connect("admin/RegionTwo", deadline=30)
    assert cloud.asked == []


def test_the_region_of_the_environment_is_refused_alike(
    cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    more_regions(cloud, "RegionTwo")
    monkeypatch.setenv("OS_REGION_NAME", "RegionTwo")
    with pytest.raises(TargetError, match="no region RegionTwo for the cloud 'admin'"):
        connect("admin", deadline=30)


@pytest.mark.filterwarnings("ignore:Support for InfluxDB")
@pytest.mark.parametrize(
    ("regions", "taken"),
    [
        ("    region_name: RegionOne\n", {"RegionOne"}),
        ("    regions: [RegionOne, RegionTwo]\n", {"RegionOne", "RegionTwo"}),
        ("    regions: [{name: RegionTwo}]\n", {"RegionTwo"}),
        ("    region_name: RegionOne\n    regions: [RegionTwo]\n", {"RegionTwo"}),
        ("", {"RegionOne", "RegionTwo"}),
    ],
)
def test_what_is_read_is_what_openstack_takes(
    cloud: FakeCloud, nowhere: Path, regions: str, taken: set[str]
) -> None:
    """Of its own configuration, which the client reads."""
    more_regions(cloud, "RegionTwo")
    configured(nowhere, cloud, regions)
    for region in ("RegionOne", "RegionTwo"):
        if region in taken:
            assert connect(f"admin/{region}", deadline=30).region.region_name == region
            OpenStackConfig().get_one(cloud="admin", region_name=region, validate=False)
        else:
            with pytest.raises(TargetError):
                connect(f"admin/{region}", deadline=30)
            with pytest.raises(SDKException, match="is not a valid region name"):
                OpenStackConfig().get_one(cloud="admin", region_name=region, validate=False)


def test_what_the_variables_say_is_one_region(
    cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_AUTH_URL", f"{cloud.url}/identity/v3")
    monkeypatch.setenv("OS_USERNAME", "admin")
    monkeypatch.setenv("OS_PASSWORD", "x")
    monkeypatch.setenv("OS_REGION_NAME", "RegionOne")
    with pytest.raises(
        TargetError, match="OS_REGION_NAME is RegionOne, and the openstack command then accepts"
    ):
        connect("envvars/RegionTwo", deadline=30)


def test_all_regions_name_what_is_refused(
    cloud: FakeCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not one of them passed over."""
    more_regions(cloud, "RegionTwo")
    assert run(["audit", "openstack:admin/*"]) == 4
    told = " ".join("".join(capsys.readouterr()).split())
    assert "regions: [RegionOne, RegionTwo]" in told
