"""The program is ended anywhere while it changes an object of a real API server, and run again or
taken back: nothing is lost, nothing is done by half, and no virtual machine stays halted."""

from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import pytest

from tests.kube.changing import SUBJECTS, Changing, changing
from tests.kube.server import Server
from tests.kube.virt import Virt
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.history import runs

pytestmark = pytest.mark.kube
CASES: list[tuple[str, Mode]] = [("vm", "restart"), *((one, "next-boot") for one in SUBJECTS)]
SHARE = 9
"""Of the places one in so many is tried where it is not said that all are."""


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def case(request: pytest.FixtureRequest) -> tuple[str, Mode]:
    """What is changed, and how."""
    found: tuple[str, Mode] = request.param
    return found


@pytest.fixture
def share(pytestconfig: pytest.Config) -> int:
    return 1 if pytestconfig.getoption("--long") else SHARE


Lives = Iterator[tuple[Changing, int]]


@pytest.fixture
def lives(
    case: tuple[str, Mode], share: int,
    cluster: Server, virt: Virt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> Lives:  # fmt: skip
    """A fresh one for each place; who comes to the end of it does not ask for another."""
    first = CASES.index(case) % share  # other cases, other places
    return (
        (changing(tmp_path / str(place), cluster, virt, monkeypatch, SUBJECTS[case[0]]), place)
        for place in islice(count(), first, None, share)
    )


def check(world: Changing, case: tuple[str, Mode], *, changed: bool) -> None:
    """All is as it should be, and stays so."""
    assert world.is_changed() is changed, world.results
    if case[0] == "vm":
        assert world.now()["spec"]["runStrategy"] == "Always"
        now = "virtio" if changed and case[1] == "restart" else "e1000"
        assert world.runs_with() == now, world.passed
    world.over()


@pytest.mark.parametrize("resume", ["apply", "rollback"])
def test_killed_once(lives: Lives, case: tuple[str, Mode], resume: str) -> None:
    kills = 0
    for world, place in lives:
        killed = world.killed(case[1], place)
        if killed and (place % 2 == 1) is (resume == "apply"):
            world.virt.settle()  # what was asked for goes on meanwhile
        if resume == "apply":
            assert not world.killed(case[1], None)
        elif runs(str(world.folder)):
            assert not world.killed(case[1], None, back=True)
        check(world, case, changed=resume == "apply")
        kills += killed
        if not killed:
            break
    print(f"{'-'.join(case)}, then {resume}: {kills} kills")


def test_killed_on_the_way_back(lives: Lives, case: tuple[str, Mode]) -> None:
    kills = 0
    for world, place in lives:
        assert not world.killed(case[1], None)
        killed = world.killed(case[1], place, back=True)
        if killed and place % 2:
            world.virt.settle()
        assert not killed or not world.killed(case[1], None, back=True)
        check(world, case, changed=False)
        kills += killed
        if not killed:
            break
    print(f"{'-'.join(case)}, on the way back: {kills} kills")
