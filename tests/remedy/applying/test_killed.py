"""The program is ended anywhere, and run again or taken back: nothing is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.remedy.applying.fakes import Killed, Machine, World, installed
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.back import Chosen, rollback
from vnicaudit.remedy.history import runs

LATER = 1000.0
CASES: list[tuple[Mode, bool, int]] = [
    ("next-boot", False, 1),
    ("next-boot", True, 1),
    ("restart", False, 1),
    ("restart", True, 1),
    ("hotswap", False, 1),
    ("hotswap", True, 1),
    ("hotswap", True, 2),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{'on' if case[1] else 'off'}-{case[2]}")
def case(request: pytest.FixtureRequest) -> tuple[Mode, bool, int]:
    """Mode, whether the guest runs, and how many NICs it has."""
    found: tuple[Mode, bool, int] = request.param
    return found


class Life:
    """One guest, one plan, and what is done to them."""

    def __init__(self, world: World, mode: Mode, *, on: bool) -> None:
        self.world, self.mode, self.on = world, mode, on
        self.machine: Machine = world.machines[0]
        self.steps = world.plan()
        self.before = self.machine.persistent
        self.goal = self.before.replace(b"'e1000'", b"'virtio'")
        if on:
            self.machine.boot()

    def apply(self, kill_at: int | None = None) -> bool:
        """Whether it came to its end."""
        return self._do(lambda: self.world.apply(self.steps, self.world.order(self.mode)), kill_at)

    def rollback(self, kill_at: int | None = None) -> bool:
        """Take the first run back; whether that came to its end."""
        (*_others, first) = runs(str(self.world.folder))
        chosen, order = Chosen(), self.world.order(self.mode)

        def back() -> object:
            return rollback(first.id, chosen, order, lambda *said: self.world.told.append(said))

        return self._do(back, kill_at)

    def _do(self, work: Callable[[], object], kill_at: int | None) -> bool:
        self.world.passed.clear()
        self.world.kill_at = kill_at
        with contextlib.suppress(Killed):
            work()
            return True
        return False

    def check(self, *, changed: bool) -> None:
        """All is as it should be, and stays so."""
        self.world.clock.sleep(LATER)
        places = self.world.passed
        assert self.machine.persistent == (self.goal if changed else self.before), places
        assert self.machine.active == self.on, places
        if self.on:
            model = "virtio" if changed and self.mode != "next-boot" else "e1000"
            assert self.machine.at_work == dict.fromkeys(self.machine.macs, model), places
        assert [run for run in runs(str(self.world.folder)) if run.outcome == "unfinished"] == []


def life(case: tuple[Mode, bool, int], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Life:
    """A fresh one."""
    mode, on, nics = case
    monkeypatch.undo()
    return Life(installed(World(folder, nics=nics), monkeypatch), mode, on=on)


@pytest.mark.parametrize("pause", [0, LATER], ids=["at-once", "later"])
@pytest.mark.parametrize("resume", ["apply", "rollback"])
def test_killed_once(
    case: tuple[Mode, bool, int], resume: str, pause: float,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    clean = life(case, tmp_path / "clean", monkeypatch)
    assert clean.apply()
    clean.check(changed=True)
    for place in range(len(clean.world.passed)):
        one = life(case, tmp_path / str(place), monkeypatch)
        assert not one.apply(place)
        one.world.clock.sleep(pause)
        if resume == "apply":
            assert one.apply()
            one.check(changed=True)
        elif runs(str(one.world.folder)):
            assert one.rollback()
            one.check(changed=False)
        else:
            one.check(changed=False)
