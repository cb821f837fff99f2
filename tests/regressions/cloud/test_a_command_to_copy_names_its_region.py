"""``openstack --os-cloud prod/RegionTwo server start …``: there is no such cloud, and it was said
just where a server had been left off."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.platforms.openstack.conftest import nowhere
from tests.remedy.applying.clouds.conftest import MakeCloud
from tests.remedy.applying.clouds.conftest import make_cloud as make_cloud
from tests.remedy.applying.clouds.fakes import server_step
from vnicaudit.errors import UsageError
from vnicaudit.platforms.openstack.config_files import region_of

__all__ = ["nowhere"]


@pytest.mark.parametrize(
    ("target", "which"),
    [
        ("openstack:prod", " --os-cloud prod"),
        ("openstack:prod/RegionTwo", " --os-cloud prod --os-region-name RegionTwo"),
        ("openstack:a/b/RegionTwo", " --os-cloud a/b --os-region-name RegionTwo"),
        ("openstack:prod/R; reboot", " --os-cloud prod --os-region-name 'R; reboot'"),
        ("openstack:envvars", ""),
        ("openstack:envvars/RegionTwo", " --os-region-name RegionTwo"),
    ],
)
def test_a_server_that_was_left_off_is_named_with_its_region(
    make_cloud: MakeCloud, target: str, which: str
) -> None:
    world = make_cloud()
    (server,) = world.servers
    server.boot()
    steps, context = (replace(server_step(server), target=target),), world.context("restart")

    def look() -> None:
        if server.vm_state == "stopped":
            world.looks.clear()
            raise KeyboardInterrupt

    world.looks.append(look)
    with pytest.raises(KeyboardInterrupt):
        world.apply(steps, context)
    world.elsewhere = True
    (unit,) = world.apply(steps, context).run.steps
    assert f"by hand: openstack{which} server start {server.id} (" in unit.message


@pytest.mark.parametrize("name", ["a/b", "a/b/RegionTwo"])
def test_what_is_wrong_with_a_cloud_that_has_a_slash_in_its_name_is_told(
    name: str, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = nowhere / "clouds.yaml"
    file.write_text("clouds:\n  a/b: [1]\n", "utf-8")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    with pytest.raises(UsageError, match=r"clouds: a/b: is a list, but must be a mapping"):
        region_of(name)
