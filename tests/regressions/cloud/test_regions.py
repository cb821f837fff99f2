"""Regions: OS_REGION_NAME and OS_CLOUD were passed over, no region could be named, and a report of
one region of three read like the whole cloud. A token of the system scope was called one of a
tenant of project ''."""

import copy
from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import PASSWORD, FakeCloud, reply
from tests.platforms.openstack.conftest import CLOUD, cloud, nowhere
from tests.platforms.openstack.entering import connect, read, run
from tests.regressions.cloud.test_reading_is_patient_and_careful import SERVERS
from tests.rows import rows
from vnicaudit.audit.reading.targets import expanded_targets, target_of, unique_targets
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.openstack.session import OpenStackConfig, SDKException
from vnicaudit.text.targets import client

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


# ``OS_REGION_NAME=RegionTwo vnicaudit plan openstack:prod``: the plan, its run and every command
# to copy named the cloud alone. In another shell, or in the watchdog's unit, they meant another
# region: a server that had been left off was not found there, and flavors, whose ids are alike in
# regions, would have been made there.


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


# A login that failed while the regions of ``openstack:CLOUD/*`` were asked for had one region of
# three read in the place of all, with the exit code of a whole reading.


ASKED = 4
"""How often one login is asked for."""


@pytest.mark.parametrize(("command", "logins"), [("audit", 2), ("plan", 1), ("nics", 1)])
def test_one_region_is_not_read_in_the_place_of_all(
    cloud: FakeCloud, command: str, logins: int, capsys: pytest.CaptureFixture[str]
) -> None:
    more_regions(cloud, "RegionTwo", "RegionThree")
    left = [reply(503, {})] * (ASKED * logins)
    cloud.intercept = lambda asked: left.pop() if asked.method == "POST" and left else None
    assert run([command, "openstack:admin/*"]) == 4
    said = capsys.readouterr()
    assert "its regions could not be listed at the start" in said.out + said.err
    assert SERVERS not in cloud.paths()


def test_all_regions_of_a_cloud_that_is_not_there_are_an_error(
    cloud: FakeCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.intercept = lambda asked: reply(503, {}) if asked.method == "POST" else None
    assert run(["audit", "openstack:admin/*"]) == 4
    assert "cannot log in to Keystone" in " ".join(capsys.readouterr().out.split())


# ``openstack:admin/`` was read as the region that clouds.yaml has, under that name, and
# OS_REGION_NAME went unheeded; ``openstack:/RegionTwo`` with OS_CLOUD set was ``no cloud ''``.


@pytest.mark.parametrize("name", ["openstack:admin/", "openstack:a/b/", "openstack:/"])
def test_a_slash_without_a_region_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OS_CLOUD", "prod")
    with pytest.raises(
        UsageError, match=r": the region after the slash is missing; write openstack:"
    ):
        target_of(name, every_platform().targets)


@rows
def test_a_region_of_the_cloud_of_the_environment(
    name: str, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OS_CLOUD", "prod")
    assert target_of(name, every_platform().targets).name == found


def test_no_cloud_at_all_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OS_CLOUD", raising=False)
    with pytest.raises(UsageError, match="the cloud is missing"):
        target_of("openstack:/RegionTwo", every_platform().targets)


# ``openstack:CLOUD/REGION`` read a region that ``openstack --os-cloud CLOUD --os-region-name
# REGION`` refuses, since clouds.yaml has another one as ``region_name`` of the cloud: of the
# commands that were printed for it none worked. python-openstackclient 10.5.0: ``Region RegionTwo
# is not a valid region name for cloud admin. Valid choices are RegionOne.``


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
