"""Servers of a cell that is down: an audit was clean with exit code 0, a plan had not a word of
them, and of a Nova before 31 they were asked for in a way in which it leaves them out."""

import pytest

from tests.platforms.openstack.cloud import FakeCloud
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import run
from tests.regressions.cloud.test_reading_is_patient_and_careful import SERVERS, everything

__all__ = ["cloud", "nowhere"]

SAID = (
    "servers: 2 could not be read, because their cell is down and Nova reports little more "
    "than their id"
)


@pytest.fixture
def down(cloud: FakeCloud) -> FakeCloud:
    """One server is well, and two are those of a cell that is down, as Nova answers then."""
    cloud.admin.images = []
    well = next(each for each in cloud.admin.servers if each["name"] == "rd-none")
    kept = ("tenant_id", "created", "links")
    cloud.admin.servers = [
        well,
        *(
            {"id": f"00000000-0000-4000-8000-{number:012d}", "status": "UNKNOWN"}
            | {name: well[name] for name in kept}
            for number in range(2)
        ),
    ]
    return cloud


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("command", ["audit", "plan", "nics"])
def test_a_cell_that_is_down_is_an_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "openstack:admin"]) == 4
    said = capsys.readouterr()
    assert SAID in " ".join((said.out + said.err).split())


@pytest.mark.parametrize(
    ("highest", "asked"),
    [("2.104", "2.98"), ("2.96", "2.69"), ("2.69", "2.69"), ("2.65", "2.47"), ("2.38", "2.38")],
)
def test_nova_is_asked_such_that_it_leaves_none_out(
    cloud: FakeCloud, highest: str, asked: str
) -> None:
    cloud.highest = highest
    everything("admin")
    assert {each.microversion for each in cloud.asked if each.path == SERVERS} == {asked}
