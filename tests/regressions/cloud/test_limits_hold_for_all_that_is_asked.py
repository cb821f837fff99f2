"""``openstack:CLOUD/*``: which regions there are was asked with 30 s and no pace, whatever
``--deadline`` and ``--max-rps`` said; and a region that was named beside it was read twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.platforms.openstack.cloud import FakeCloud
from tests.platforms.openstack.conftest import cloud, nowhere
from tests.regressions.cloud.test_regions import more_regions
from vnicaudit.cli.main import run
from vnicaudit.model.host import CloudLimits
from vnicaudit.platforms.openstack import connect as connecting
from vnicaudit.platforms.openstack import read as reading
from vnicaudit.platforms.openstack.connect import CloudLogin, connect
from vnicaudit.platforms.openstack.session import Pace

__all__ = ["cloud", "nowhere"]

Asked = list[tuple[str, float, CloudLimits | None]]
AUDIT = ("audit", "--exit-zero", "--quiet")
PLAN = ("plan", "--quiet")
LIMITS = ("--deadline", "17", "--max-rps", "1000", "--cloud-deadline", "900")


@pytest.fixture
def logins(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Each login: to which cloud, with which deadline, and how much may be asked."""
    found: Asked = []

    def noted(name: str, *, deadline: float, limits: CloudLimits | None = None) -> CloudLogin:
        found.append((name, deadline, limits))
        return connect(name, deadline=deadline, limits=limits)

    monkeypatch.setattr(reading, "connect", noted)
    return found


@pytest.mark.parametrize("words", [AUDIT, PLAN, ("nics",)])
def test_asking_for_the_regions_takes_no_more_than_reading_them(
    cloud: FakeCloud, logins: Asked, words: tuple[str, ...]
) -> None:
    more_regions(cloud, "RegionTwo")
    run([*words, *LIMITS, "openstack:admin/*"])
    limits = CloudLimits(1000.0, 900.0)
    assert logins == [
        (name, 17.0, limits) for name in ("admin", "admin/RegionOne", "admin/RegionTwo")
    ]


@pytest.mark.parametrize("words", [AUDIT, PLAN])
def test_a_region_that_is_named_twice_is_read_once(
    cloud: FakeCloud, logins: Asked, words: tuple[str, ...]
) -> None:
    more_regions(cloud, "RegionTwo")
    run([*words, "openstack:admin/RegionTwo", "openstack:admin/*"])
    assert [name for name, _deadline, _limits in logins] == [
        "admin", "admin/RegionTwo", "admin/RegionOne",
    ]  # fmt: skip


@pytest.mark.usefixtures("cloud")
def test_what_makes_no_sense_asks_no_cloud(logins: Asked, tmp_path: Path) -> None:
    assert run(["audit", "--fix", "openstack:admin/*"]) == 2
    assert run(["audit", "--project", "p", "--write-baseline", str(tmp_path / "b"),
                "openstack:admin/*"]) == 2  # fmt: skip
    assert logins == []


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

    monkeypatch.setattr(connecting, "Pace", pace)
    given = _given("--max-rps", "500", by, monkeypatch)
    run([*words, *given, "openstack:admin"])
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
