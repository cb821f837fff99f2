"""``vnicaudit fleet inventory``."""

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.inside import inside
from tests.platforms.openstack.conftest import cloud, nowhere
from vnicaudit.cli.fleet.hosts import ChosenHosts, tell_inventory
from vnicaudit.fleet.own_format import Inventory

__all__ = ["cloud", "nowhere"]
ROOT = Path(__file__).parents[3]
TOML = """\
[groups.zone_a]
site = "ber1"
hosts = ["kvm1"]
uri = "test:///default?{name}"
[[hosts]]
name = "kvm2"
uri = "test:///none.xml"
deadline = 5
agent = false
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """An inventory of a host that answers and one that does not."""
    path = tmp_path / "fleet.toml"
    path.write_text(TOML)
    return path


def test_text_says_what_it_comes_to_and_why(fleet: Path) -> None:
    result = inside("fleet", "inventory", "-i", fleet, env={"COLUMNS": "200"})
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "kvm2  test:///none.xml\n"
        "  deadline 5 s; asks no guest agents\n"
        f"  {fleet}:5; URI: its own uri\n"
        "kvm1  test:///default?kvm1\n"
        "  site ber1; groups zone_a\n"
        f"  {fleet}:3; URI: uri of the defaults or its groups\n"
        "\n2 hosts in 1 site\n"
    )


def test_connections_are_tried(fleet: Path) -> None:
    result = inside("fleet", "inventory", "-i", fleet, "--check", "--format", "json")
    assert result.returncode == 4
    document = json.loads(result.stdout)
    schema = json.loads((ROOT / "docs/schemas/vnicaudit.inventory-1.json").read_text())
    jsonschema.validate(document, schema)
    failed, well = (host["check"] for host in document["hosts"])
    assert failed == {"answer": "", "error": "there is no file /none.xml", "failure": "refused"}
    assert (", libvirt " in well["answer"], well["error"], well["failure"]) == (True, "", None)
    shown = inside("fleet", "inventory", "-i", fleet, "--check").stdout
    assert "  failed: there is no file /none.xml (refused)\n" in shown
    assert shown.endswith("\n2 hosts in 1 site; 1 cannot be reached\n")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("kubectl://p?namespace=-x", "namespace= has a character that is not allowed"),
        ("docker://p?sudo=17", "sudo= must be true or false, not '17'"),
        ("docker://p%20q", "not an endpoint; expected docker://[USER@]CONTAINER"),
        ("netns://a%20b", "not the name of a network namespace; expected netns://NAME"),
    ],
)
def test_an_address_that_makes_no_sense_costs_its_host_alone(
    tmp_path: Path, url: str, why: str
) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text(f"test:///default?one\n{url}\ntest:///default?two\n")
    shown = inside("fleet", "inventory", "-i", path, "--check", "--format", "json")
    assert (shown.returncode, shown.stderr) == (4, "")
    errors = [host["check"]["error"] for host in json.loads(shown.stdout)["hosts"]]
    assert errors == ["", why, ""]
    audited = inside("audit", "-i", path, "--format", "json")
    assert audited.returncode == 4
    report = json.loads(audited.stdout)
    bad = next(one for one in report["targets"] if one["target"] == url)
    assert (bad["status"], bad["error"]) == ("failed", f"{url}: {why}")
    assert report["summary"]["domains"] == 2


def test_a_pattern_that_matches_nothing_is_told(fleet: Path) -> None:
    result = inside("fleet", "inventory", "-i", fleet, "--limit", "kvm1,kvm9")
    assert result.stderr == "Note: --limit: 'kvm9' matches no host or group\n"
    assert result.stdout.startswith("kvm1  ")


def test_a_mistake_ends_with_2(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text("[defaults]\npassword = 'x'\n")
    result = inside("fleet", "inventory", "-i", tmp_path / "x.toml")
    assert result.returncode == 2
    assert (
        f"{tmp_path}/x.toml:2: 'password' is a secret; an inventory holds no secrets; use an ssh "
        in result.stderr
    )


@pytest.mark.usefixtures("cloud")
def test_hosts_of_a_cloud() -> None:
    result = inside("fleet", "inventory", "-i", "openstack:admin", "--format", "json",
                    "--uri", "qemu+ssh://root@{name}/system")  # fmt: skip
    (host,) = json.loads(result.stdout)["hosts"]
    assert (host["name"], host["uri"]) == ("vm", "qemu+ssh://root@vm/system")
    assert (host["site"], host["groups"]) == ("nova", ["nova", "agg-one"])
    assert host["source"] == "openstack:admin"
    refused = inside("fleet", "inventory", "-i", "openstack:demo")
    assert refused.returncode == 4
    assert "only admins can see its hypervisors" in refused.stderr


@pytest.mark.parametrize(
    ("scheduler", "told"),
    [
        ("tcp://dask.example.org:8786", True),
        ("dask.example.org:8786", True),
        ("tls://dask.example.org:8786", False),
        ("tcp://127.0.0.1:8786", False),
        (None, False),
    ],
)
def test_a_scheduler_without_tls_is_told(
    scheduler: str | None, told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_inventory(ChosenHosts(Inventory(()), ()), scheduler=scheduler)
    assert (f"Note: VNICAUDIT_SCHEDULER={scheduler}: no TLS" in capsys.readouterr().err) is told
