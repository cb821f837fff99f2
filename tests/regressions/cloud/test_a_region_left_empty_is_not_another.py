"""``openstack:admin/`` was read as the region that clouds.yaml has, under that name, and
OS_REGION_NAME went unheeded; ``openstack:/RegionTwo`` with OS_CLOUD set was ``no cloud ''``."""

import pytest

from vnicaudit.audit.reading.targets import target_of
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import UsageError


@pytest.mark.parametrize("name", ["openstack:admin/", "openstack:a/b/", "openstack:/"])
def test_a_slash_without_a_region_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_CLOUD", "prod")
    with pytest.raises(
        UsageError, match=r": the region after the slash is missing; write openstack:"
    ):
        target_of(name, every_platform().targets)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("openstack:/RegionTwo", "openstack:prod/RegionTwo"),
        ("openstack:/*", "openstack:prod/*"),
        ("openstack:", "openstack:prod"),
        ("openstack:admin/RegionTwo", "openstack:admin/RegionTwo"),
        ("openstack:a/b/RegionTwo", "openstack:a/b/RegionTwo"),
    ],
)
def test_a_region_of_the_cloud_of_the_environment(
    name: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_CLOUD", "prod")
    assert target_of(name, every_platform().targets).name == found


def test_no_cloud_at_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OS_CLOUD", raising=False)
    with pytest.raises(UsageError, match="the cloud is missing"):
        target_of("openstack:/RegionTwo", every_platform().targets)
