"""A cloud could only be looked at as a whole: 100,000 servers of ten regions were read and reported
where one project was asked for. Now some can be chosen, and what is left out is never clean."""

import json
import re
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from msgspec.structs import replace

from tests.audit.clouds import (
    TARGET,
    UUID,
    FakeCloud,
    config,
    flavor,
    image,
    port,
    server,
)
from tests.cli.definitions import E1000
from tests.cli.inside import inside as anywhere
from tests.rows import rows_of_tuples
from vnicaudit.model.domain import Server
from vnicaudit.model.openstack import Aggregate
from vnicaudit.model.report import ReadError

CLOUD = FakeCloud()
inside = partial(anywhere, wiring=CLOUD.wiring)
NOVA = (
    "<metadata><nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>"
)


def placed(number: int, **facts: object) -> Server:
    """A server with an old NIC, of which these facts are told."""
    name = str(facts.setdefault("image", "image-jammy")).removeprefix("image-")
    kept = replace(config(hw_vif_model="rtl8139"), image=image(name))
    made = server(number, port("rtl8139"), kept=kept)
    assert made.cloud is not None
    told = {"vm_state": "active", "host": "cmp1", **facts}
    return replace(made, cloud=replace(made.cloud, **told))


@pytest.fixture(autouse=True)
def cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeCloud:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    fake = CLOUD.clear()
    fast = (Aggregate("fast"),)
    fake.clouds["prod"] = [
        placed(1, project="p1", project_name="mail", zone="az1"),
        placed(2, project="p2", project_name="web", zone="az1", host="cmp2", aggregates=fast),
        placed(3, project="p2", project_name="web", zone="az2", host="cmp3", image="image-old"),
        image(hw_vif_model="rtl8139"),
        image("old", hw_vif_model="rtl8139"),
        flavor(),
        flavor("m1.large"),
    ]
    return fake


def audit(*options: str) -> CompletedProcess[str]:
    return inside("audit", TARGET, "--select", "VNIC001", *options)


def words_of(result: CompletedProcess[str]) -> str:
    """What it says, whatever the width."""
    return " ".join(result.stdout.split())


def found(result: CompletedProcess[str]) -> list[str]:
    """The servers that have findings."""
    return [line.split()[0] for line in result.stdout.splitlines() if line.startswith("web-")]


@pytest.mark.parametrize(
    ("options", "servers"),
    [
        (("--project", "mail"), ["web-1"]),
        (("--project", "p2"), ["web-2", "web-3"]),
        (("--project", "mail", "--project", "web"), ["web-1", "web-2", "web-3"]),
        (("--host", "cmp3"), ["web-3"]),
        (("--zone", "az1"), ["web-1", "web-2"]),
        (("--zone", "az1", "--project", "web"), ["web-2"]),
        (("--aggregate", "fast"), ["web-2"]),
        (("--image", "image-old"), ["web-3"]),
    ],
)
def test_only_those_that_were_asked_for_are_judged(
    options: tuple[str, ...], servers: list[str]
) -> None:
    result = audit(*options)
    assert (result.returncode, found(result)) == (1, servers)


def test_what_is_left_out_is_counted() -> None:
    words = words_of(audit("--project", "mail"))
    said = "--project mail: 1 of 3 servers, 1 of 2 images, 1 of 2 flavors"
    assert f"{said}; the others were left out and not judged" in words
    (target,) = json.loads(audit("--project", "mail", "--format", "json").stdout)["targets"]
    assert target["domains"] == 1
    assert target["notes"][0].startswith(said)


def test_images_are_those_of_the_servers_that_were_asked_for() -> None:
    result = inside("audit", TARGET, "--select", "VNIC062", "--project", "mail")
    assert "jammy  nova, image" in result.stdout
    assert "old  nova, image" not in result.stdout


def test_an_image_without_servers_can_be_named(cloud: FakeCloud) -> None:
    cloud.clouds["prod"] = [*cloud.clouds["prod"], image("spare", hw_vif_model="rtl8139")]
    result = inside("audit", TARGET, "--select", "VNIC062", "--image", "spare")
    assert result.returncode == 1
    assert "spare  nova, image" in result.stdout
    assert "old  nova, image" not in result.stdout


@rows_of_tuples
def test_a_filter_that_meets_nothing_is_not_clean(options: tuple[str, ...], words: str) -> None:
    result = audit(*options)
    assert result.returncode == 4
    assert words in words_of(result)


def test_two_clouds_may_have_it_between_them(cloud: FakeCloud) -> None:
    cloud.clouds["test"] = [placed(7, project="p7", project_name="lab")]
    chosen = ("openstack:test", "--project", "mail", "--project", "lab")
    result = inside("audit", TARGET, *chosen, "--select", "VNIC001")
    assert (result.returncode, found(result)) == (1, ["web-1", "web-7"])


@pytest.mark.parametrize("option", ["--host", "--aggregate"])
def test_hosts_that_are_not_shown_are_said(cloud: FakeCloud, option: str) -> None:
    cloud.clouds["prod"] = [placed(1, host=None), placed(2, host=None)]
    result = audit(option, "cmp1")
    assert result.returncode == 4
    words = (
        f"only an admin can see the hosts of servers, and this user cannot: {option} cannot be used"
    )
    assert words in words_of(result)
    assert "did you mean" not in result.stdout


def test_a_server_of_a_cell_that_is_down_is_not_left_out(cloud: FakeCloud) -> None:
    """Of it no host is told: it may be one of those."""
    down = placed(9, host=None, vm_state="")
    config_ = replace(config(), status="UNKNOWN", image=None, flavor=None)
    down = replace(
        down,
        declared=down.declared.with_server(config_),
        unjudged="an answer from its cell, which is down",
    )
    cloud.clouds["prod"] = [down, *cloud.clouds["prod"]]
    result = audit("--host", "cmp1")
    assert down.unjudged in result.stdout
    assert "2 of 4 servers" in result.stdout
    assert "1 of them could not be checked, because their cell is down" in result.stdout


def test_a_cloud_that_was_not_read_to_its_end_says_both(cloud: FakeCloud) -> None:
    cloud.clouds["prod"] = [*cloud.clouds["prod"], ReadError("servers: 503", TARGET)]
    result = audit("--project", "lab")
    assert result.returncode == 4
    assert "servers: 503" in result.stdout
    assert "--project lab: no server" in result.stdout


def test_the_domain_of_a_server_that_was_left_out_is_left_out_too(tmp_path: Path) -> None:
    for number in (1, 2):
        head, _uuid, rest = re.split(r"<uuid>(.*)</uuid>", E1000)
        text = f"{head}<uuid>{UUID.format(number)}</uuid>{NOVA}{rest}"
        (tmp_path / f"{number}.xml").write_text(text, "utf-8")
    result = inside("audit", TARGET, str(tmp_path), "--project", "mail", "--format", "json")
    report = json.loads(result.stdout)
    named = {one["about"]["id"] for one in report["findings"]}
    assert UUID.format(1) in named
    assert UUID.format(2) not in named
    assert report["summary"]["domains"] == 1


@pytest.mark.parametrize("command", ["audit", "plan"])
def test_without_a_cloud_it_is_said(command: str, tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text(E1000, "utf-8")
    result = inside(command, "one.xml", "--host", "cmp1")
    assert result.returncode == 2
    assert "--host is for clouds only, and no target is a cloud (openstack:CLOUD)" in (
        result.stderr
    )


def test_a_baseline_of_some_is_not_written() -> None:
    result = inside("audit", TARGET, "--project", "mail", "--write-baseline", "known.json")
    assert result.returncode == 2
    assert "--write-baseline with --project mail would forget all other servers" in result.stderr
    assert not Path("known.json").exists()


def test_a_baseline_of_all_is_not_said_to_shrink() -> None:
    assert inside("audit", TARGET, "--write-baseline", "all.json").returncode == 0
    words = audit("--project", "mail", "--baseline", "all.json").stdout
    assert "did not come up" not in words
    assert "1 of 3 servers" in words


def test_a_plan_is_of_those_that_were_asked_for() -> None:
    result = inside("plan", TARGET, "--project", "web", "--zone", "az2", "-o", "plan.json")
    assert result.returncode == 0
    made = json.loads(Path("plan.json").read_text("utf-8"))
    named = {one["about"]["name"] for one in (*made["steps"], *made["not_planned"])}
    assert "web-3" in named
    assert not named & {"web-1", "web-2"}
    assert any("1 of 3 servers, 1 of 2 images" in note for note in made["notes"])


def test_a_plan_of_nothing_is_refused() -> None:
    result = inside("plan", TARGET, "--project", "mial", "-o", "plan.json")
    assert result.returncode == 2
    assert "did you mean mail?" in result.stderr
    assert not Path("plan.json").exists()


def test_a_name_that_two_projects_have_is_said(cloud: FakeCloud) -> None:
    """Two customers, each with a project "web" in a domain of his own."""
    cloud.clouds["prod"] = [*cloud.clouds["prod"], placed(4, project="p9", project_name="web")]
    result = audit("--project", "web")
    assert result.returncode == 4
    words = "--project web: openstack:prod has 2 projects with that name and with visible servers"
    assert f"{words} (p2, p9): name the ones you mean by their ids" in words_of(result)
    assert audit("--project", "p2").returncode == 1
    assert audit("--project", "p2", "--project", "mail").returncode == 1


@pytest.mark.parametrize("errors", [[], [ReadError("servers: 503", TARGET)]])
def test_nothing_is_planned_for_two_projects_of_one_name(
    cloud: FakeCloud, errors: list[ReadError]
) -> None:
    more = placed(4, project="p9", project_name="web")
    cloud.clouds["prod"] = [*cloud.clouds["prod"], more, *errors]
    result = inside("plan", TARGET, "--project", "web", "-o", "plan.json")
    assert result.returncode == 2
    assert "has 2 projects with that name" in result.stderr
    assert not Path("plan.json").exists()


def test_projects_of_one_name_in_two_clouds_are_no_doubt(cloud: FakeCloud) -> None:
    cloud.clouds["test"] = [placed(7, project="p7", project_name="mail")]
    result = inside("audit", TARGET, "openstack:test", "--project", "mail", "--select", "VNIC001")
    assert (result.returncode, found(result)) == (1, ["web-1", "web-7"])


def test_servers_on_volumes_that_a_choice_by_image_leaves_out_are_counted(
    cloud: FakeCloud,
) -> None:
    one = placed(5, image="")
    on_volume = replace(config(), image=None, image_state="volume")
    one = replace(one, declared=one.declared.with_server(on_volume))
    cloud.clouds["prod"] = [one, *cloud.clouds["prod"]]
    words = "1 of those left out boot from a volume, for which Nova names no image"
    assert words in words_of(audit("--image", "image-old"))
    assert words not in words_of(audit("--project", "mail"))
