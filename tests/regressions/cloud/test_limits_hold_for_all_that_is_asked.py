"""``openstack:CLOUD/*``: which regions there are was asked with 30 s, whatever
``VNICAUDIT_DEADLINE`` said; and a region that was named beside it was read twice."""

from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import FakeCloud
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect, run
from tests.regressions.cloud.test_regions import more_regions
from vnicaudit.platforms.openstack.connect import CloudLogin

__all__ = ["cloud", "nowhere"]

AUDIT = ("audit", "--level", "never", "--quiet")
PLAN = ("plan", "--quiet")
LIMITS = ("VNICAUDIT_DEADLINE=17", "VNICAUDIT_CLOUD_DEADLINE=900")


class Logins:
    """Each login: to which cloud, with which deadline, and how long the whole may take."""

    def __init__(self) -> None:
        self.all: list[tuple[str, float, float | None]] = []

    def __call__(self, name: str, /, *, deadline: float, total: float | None) -> CloudLogin:
        self.all.append((name, deadline, total))
        return connect(name, deadline=deadline, total=total)


@pytest.fixture
def logins() -> Logins:
    return Logins()


@pytest.mark.parametrize("words", [AUDIT, PLAN, ("nics",)])
def test_asking_for_the_regions_takes_no_more_than_reading_them(
    cloud: FakeCloud, logins: Logins, words: tuple[str, ...]
) -> None:
    more_regions(cloud, "RegionTwo")
    run([*words, *LIMITS, "openstack:admin/*"], logins)
    assert logins.all == [
        (name, 17.0, 900.0) for name in ("admin", "admin/RegionOne", "admin/RegionTwo")
    ]


@pytest.mark.parametrize("words", [AUDIT, PLAN])
def test_a_region_that_is_named_twice_is_read_once(
    cloud: FakeCloud, logins: Logins, words: tuple[str, ...]
) -> None:
    more_regions(cloud, "RegionTwo")
    run([*words, "openstack:admin/RegionTwo", "openstack:admin/*"], logins)
    assert [name for name, _deadline, _total in logins.all] == [
        "admin", "admin/RegionTwo", "admin/RegionOne",
    ]  # fmt: skip


@pytest.mark.usefixtures("cloud")
def test_what_makes_no_sense_asks_no_cloud(logins: Logins, tmp_path: Path) -> None:
    assert run(["audit", "--fix", "openstack:admin/*"], logins) == 2
    assert run(["audit", "--project", "p", "--write-baseline", str(tmp_path / "b"),
                "openstack:admin/*"], logins) == 2  # fmt: skip
    assert logins.all == []
