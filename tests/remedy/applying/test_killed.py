"""The program is ended anywhere, and run again or taken back: nothing is lost."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.remedy.applying.fakes import Killed, Machine, World, installed
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.history import runs

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


Folders = Iterator[Path]


@pytest.fixture
def folders() -> Iterator[Folders]:
    """Folders, one after the other, in memory: there are thousands."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield (Path(folder, str(number)) for number in count())


class Life:
    """One guest, one plan, and what is done to them."""

    def __init__(self, world: World, mode: Mode, *, on: bool) -> None:
        self.world, self.mode, self.on = world, mode, on
        self.machine: Machine = world.machines[0]
        self.before = self.machine.persistent
        self.goal = self.before.replace(b"'e1000'", b"'virtio'")
        if on:
            self.machine.boot()

    def apply(self, kill_at: int | None = None) -> bool:
        """Whether it came to its end."""
        return self._do(
            lambda: self.world.apply(self.world.steps, self.world.context(self.mode)), kill_at
        )

    def rollback(self, kill_at: int | None = None) -> bool:
        """Take the first run back; whether that came to its end."""
        return self._do(lambda: self.world.rollback(self.world.context(self.mode)), kill_at)

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
    folders: Folders, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    clean = life(case, next(folders), monkeypatch)
    assert clean.apply()
    clean.check(changed=True)
    assert clean.world.passed
    for place in range(len(clean.world.passed)):
        one = life(case, next(folders), monkeypatch)
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


def test_killed_twice(
    case: tuple[Mode, bool, int],
    folders: Folders,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    """In the first life, and in the one that goes on or undoes; then it is run a third time. In CI
    a third of the second places is for each first one, another third for the next."""
    share = 1 if pytestconfig.getoption("--long") else 3
    for place in count():
        first = life(case, next(folders), monkeypatch)
        if first.apply(place):
            break
        step = 3 * len(first.machine.macs)
        for second_place in count(1 + step * (place % share), step * share):
            one = life(case, next(folders), monkeypatch)
            one.apply(place)
            go_on = one.apply if place % 2 or not runs(str(one.world.folder)) else one.rollback
            over = go_on(second_place)
            one.world.clock.sleep((second_place % 3) * 0.5)
            assert go_on()
            one.check(changed=go_on == one.apply)
            if over:
                break


def test_killed_on_the_way_back(
    case: tuple[Mode, bool, int], folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in count():
        one = life(case, next(folders), monkeypatch)
        assert one.apply()
        over = one.rollback(place)
        one.world.clock.sleep((place % 3) * 0.5)
        assert one.rollback()
        one.check(changed=False)
        if over:
            break


Trouble = Callable[[Machine], None]


def _set(**facts: bool) -> Trouble:
    def set_all(machine: Machine) -> None:
        for name, value in facts.items():
            setattr(machine, name, value)

    return set_all


def _refusing(call: str) -> Trouble:
    return lambda machine: machine.refuses.update({call: "libvirt says no"})


@pytest.mark.parametrize(
    ("mode", "trouble", "outcome", "message"),
    [
        ("restart", _set(driverless=True), "rolled-back", "the guest has no interface with"),
        ("restart", _set(deaf=True), "failed", "the guest did not shut down within 60 s"),
        ("restart", _refusing("define"), "failed", "libvirt says no; nothing was changed"),
        ("hotswap", _set(driverless=True), "rolled-back", "the guest has no interface with"),
        ("hotswap", _set(stubborn=True), "failed", "the guest did not release 52:54:00:00:01:01"),
        ("hotswap", _refusing("detach"), "failed", "libvirt says no; it was put back"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_work_is_undone_however_often_it_is_killed(
    mode: Mode, trouble: Trouble, outcome: str, message: str,
    folders: Folders, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for place in count():
        one = life((mode, True, 1), next(folders), monkeypatch)
        trouble(one.machine)
        if one.apply(place):
            break
        assert one.apply()
        one.machine.refuses.clear()
        one.check(changed=False)
        (run,) = runs(str(one.world.folder))[-1:]
        (unit,) = run.steps
        assert unit.outcome in (outcome, "refused"), (one.world.passed, unit)
        assert message in unit.message


@pytest.mark.parametrize("resume", ["apply", "rollback"])
@pytest.mark.parametrize("mode", ["next-boot", "restart", "hotswap"])
def test_somebody_edits_the_definition_while_the_run_is_in_the_middle(
    mode: Mode, resume: str, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The edit stays, and the guest gets back what this run took from it."""
    for place in count():
        one = life((mode, True, 1), next(folders), monkeypatch)
        if one.apply(place):
            break
        edited = one.machine.persistent.replace(b"262144", b"524288")
        one.machine.persistent = edited
        if resume == "apply" or not runs(str(one.world.folder)):
            one.apply()
        else:
            with contextlib.suppress(UsageError):  # nothing was begun
                one.rollback()
        one.world.clock.sleep(LATER)
        assert one.machine.persistent == edited, one.world.passed
        assert set(one.machine.at_work) == {one.machine.macs[0]}, one.world.passed
