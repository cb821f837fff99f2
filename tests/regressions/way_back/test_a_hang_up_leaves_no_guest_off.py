"""A terminal hung up while ``rollback`` or ``runs --recover`` had a guest down."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remedy.applying.fakes import World, installed
from vnicaudit.cli.main import run
from vnicaudit.remedy.applying.apply import apply
from vnicaudit.remedy.applying.history import runs

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def as_at_start() -> Iterator[None]:
    """Hang-ups as a program meets them that nobody prepared."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Two guests that run, and a run that changed them."""
    world = installed(World(tmp_path, 2), monkeypatch)
    for machine in world.machines:
        machine.boot()
    apply(world.steps, b"plan", world.context("restart"), lambda _name, _text: None)
    return world


def hang_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever a guest was shut down, or started."""
    passing = world.passing

    def passed(place: str) -> None:
        passing(place)
        if place in ("behind shut_down", "behind start"):
            os.kill(os.getpid(), signal.SIGHUP)

    monkeypatch.setattr(world, "passing", passed)


def test_rollback_finishes_what_it_began_and_begins_no_more(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    hang_up(world, monkeypatch)
    words = ["rollback", runs(str(tmp_path))[0].id, "--yes", "--state", str(tmp_path)]
    assert run(words, world.wiring) == 5
    assert "SIGHUP" in capsys.readouterr().err
    assert [machine.active for machine in world.machines] == [True, True]
    back = [now.persistent == was for now, was in zip(world.machines, world.before, strict=True)]
    assert sorted(back) == [False, True]


def test_recover_brings_all_back_that_are_off(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = world.machines[1]
    world.interrupt_at = "behind shut_down"
    assert (
        run(
            ["rollback", runs(str(tmp_path))[0].id, "--yes", "--state", str(tmp_path)], world.wiring
        )
        == 130
    )
    world.interrupt_at = ""
    world.clock.sleep(10)
    assert not machine.active
    hang_up(world, monkeypatch)
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 0
    assert [machine.active for machine in world.machines] == [True, True]
