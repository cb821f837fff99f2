"""``openstack:CLOUD/*``: which regions there are was asked with 30 s and no pace, whatever
``--deadline`` and ``--max-rps`` said; and a region that was named beside it was read twice."""

from functools import partial
from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import FakeCloud
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.platforms.openstack.entering import connect, run
from tests.regressions.cloud.test_regions import more_regions
from vnicaudit.model.fleet import CloudLimits
from vnicaudit.platforms.openstack.connect import CloudLogin
from vnicaudit.platforms.openstack.session import Pace

__all__ = ["cloud", "nowhere"]

AUDIT = ("audit", "--fail-on", "never", "--quiet")
PLAN = ("plan", "--quiet")
LIMITS = ("--deadline", "17", "--max-rps", "1000", "--cloud-deadline", "900")


class Logins:
    """Each login: to which cloud, with which deadline, and how much may be asked."""

    def __init__(self) -> None:
        self.all: list[tuple[str, float, CloudLimits | None]] = []

    def __call__(self, name: str, /, *, deadline: float, limits: CloudLimits | None) -> CloudLogin:
        self.all.append((name, deadline, limits))
        return connect(name, deadline=deadline, limits=limits)


@pytest.fixture
def logins() -> Logins:
    return Logins()


@pytest.mark.parametrize("words", [AUDIT, PLAN, ("nics",)])
def test_asking_for_the_regions_takes_no_more_than_reading_them(
    cloud: FakeCloud, logins: Logins, words: tuple[str, ...]
) -> None:
    more_regions(cloud, "RegionTwo")
    run([*words, *LIMITS, "openstack:admin/*"], logins)
    limits = CloudLimits(1000.0, 900.0)
    assert logins.all == [
        (name, 17.0, limits) for name in ("admin", "admin/RegionOne", "admin/RegionTwo")
    ]


@pytest.mark.parametrize("words", [AUDIT, PLAN])
def test_a_region_that_is_named_twice_is_read_once(
    cloud: FakeCloud, logins: Logins, words: tuple[str, ...]
) -> None:
    more_regions(cloud, "RegionTwo")
    run([*words, "openstack:admin/RegionTwo", "openstack:admin/*"], logins)
    assert [name for name, _deadline, _limits in logins.all] == [
        "admin", "admin/RegionTwo", "admin/RegionOne",
    ]  # fmt: skip


@pytest.mark.usefixtures("cloud")
def test_what_makes_no_sense_asks_no_cloud(logins: Logins, tmp_path: Path) -> None:
    assert run(["audit", "--fix", "openstack:admin/*"], logins) == 2
    assert run(["audit", "--project", "p", "--write-baseline", str(tmp_path / "b"),
                "openstack:admin/*"], logins) == 2  # fmt: skip
    assert logins.all == []


@pytest.mark.parametrize("by", ["option", "variable"])
@pytest.mark.parametrize("words", [AUDIT, PLAN, ("nics",)])
def test_the_pace_that_is_asked_for_is_kept(
    cloud: FakeCloud, monkeypatch: pytest.MonkeyPatch, by: str, words: tuple[str, ...]
) -> None:
    """To the session that sends the requests."""
    paces: list[float | None] = []

    def pace(rate: float | None = None) -> Pace:
        paces.append(rate)
        return Pace(rate)

    given = _given("--max-rps", "500", by, monkeypatch)
    run([*words, *given, "openstack:admin"], partial(connect, pace=pace))
    assert paces == [500.0]
    assert len(cloud.asked) > 1


def _given(option: str, value: str, by: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """An option on the command line, or its variable in the environment."""
    if by == "option":
        return (option, value)
    monkeypatch.setenv("VNICAUDIT_" + option[2:].upper().replace("-", "_"), value)
    return ()


def test_no_limit_is_not_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "openstack:admin", "--max-rps", "nan"]) == 2
    assert "'nan' is not a number" in capsys.readouterr().err
