"""A login that failed while the regions of ``openstack:CLOUD/*`` were asked for had one region of
three read in the place of all, with the exit code of a whole reading."""

import pytest

from tests.platforms.openstack.cloud import FakeCloud, reply
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import run
from tests.regressions.cloud.test_reading_is_patient_and_careful import SERVERS
from tests.regressions.cloud.test_regions import more_regions

__all__ = ["cloud", "nowhere"]

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
