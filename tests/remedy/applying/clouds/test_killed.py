"""The program is ended anywhere, and run again or taken back: every server that ran runs."""

import contextlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.remedy.applying.clouds.fakes import (
    FLAVOR,
    MODEL,
    CloudWorld,
    Server,
    flavor_step,
    image_step,
    installed,
    server_step,
)
from tests.remedy.applying.fakes import Killed
from vnicaudit.model.plan import Step
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.history import runs

LATER = 1000.0
CASES = ["running", "running-unsaid", "running-group", "off", "image", "flavor"]
"""``unsaid``: Nova does not say what it keeps, nova-manage does; ``group``: three servers of one
server group."""


@pytest.fixture
def folders() -> Iterator[Iterator[Path]]:
    """Folders, one after the other, in memory."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield (Path(folder, str(number)) for number in count())


class Life:
    """One cloud, one plan, and what is done to them."""

    def __init__(self, case: str, world: CloudWorld) -> None:
        self.case, self.world = case, world
        self.most_away = 0
        world.says_kept = not case.endswith("unsaid")
        self.on = case.startswith("running")
        for server in world.servers:
            if self.on:
                server.boot()
        world.looks.append(self._look)
        self.steps = self._steps()

    def _look(self) -> None:
        away = sum(server.vm_state != "active" for server in self.world.servers)
        self.most_away = max(self.most_away, away)

    def _steps(self) -> tuple[Step, ...]:
        if self.case == "image":
            return (image_step(self.world, {MODEL: "virtio", "os_distro": None}),)
        if self.case == "flavor":
            return (flavor_step(self.world, {"hw:vif_multiqueue_enabled": "true"}),)
        groups = ("g",) if self.case.endswith("group") else ()
        return tuple(server_step(server, groups=groups) for server in self.world.servers)

    def apply(self, kill_at: int | None = None) -> bool:
        """Whether it came to its end."""
        return self._do(lambda: self.world.apply(self.steps, self._order()), kill_at)

    def _order(self) -> RunContext:
        return self.world.context("restart", canary=0, batch=3, max_failures=9)

    def rollback(self, kill_at: int | None = None) -> bool:
        """Take the first run back; whether that came to its end."""
        return self._do(lambda: self.world.rollback(self._order()), kill_at)

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
        if self.case == "image":
            new = {MODEL: "virtio"}
            assert self.world.image == (new if changed else {**_IMAGE}), places
        elif self.case == "flavor":
            names = {flavor.name for flavor in self.world.flavors.values()}
            assert names == {"m1.small"} | ({"m1.small-multiqueue"} if changed else set()), places
            assert FLAVOR in self.world.flavors
        else:
            model = "virtio" if changed else "rtl8139"
            assert self.most_away <= 1
            for server in self.world.servers:
                assert server.kept[MODEL] == model, places
                assert server.requested[MODEL] == model, places
                assert server.model == (model if self.on else None), places
                assert server.task_state is None
        assert [run for run in runs(str(self.world.folder)) if run.outcome == "unfinished"] == []


_IMAGE = {MODEL: "rtl8139", "os_distro": "debian"}


def life(case: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Life:
    """A fresh one."""
    monkeypatch.undo()
    servers = 3 if case.endswith("group") else 1
    return Life(case, installed(CloudWorld(folder, servers), monkeypatch))


@pytest.mark.parametrize("pause", [0, 0.5, LATER], ids=["at-once", "soon", "later"])
@pytest.mark.parametrize("resume", ["apply", "rollback"])
@pytest.mark.parametrize("case", CASES)
def test_killed_once(
    case: str, resume: str, pause: float,
    folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch,
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


def second_places(case: str, place: int, *, long: bool) -> Iterator[int]:
    """Where it is killed again: at each third place with ``--long``. In CI at each ninth, or in a
    group, which has three times as many places twice, at each 81st: others for the next first
    place."""
    share = 1 if long else 27 if case.endswith("group") else 3
    return count(1 + 3 * (place % share), 3 * share)


@pytest.mark.parametrize("case", CASES)
def test_killed_twice(
    case: str,
    folders: Iterator[Path],
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    """In the first life, and in the one that goes on or undoes; then it is run a third time."""
    long = bool(pytestconfig.getoption("--long"))
    for place in count():
        first = life(case, next(folders), monkeypatch)
        if first.apply(place):
            break
        for second_place in second_places(case, place, long=long):
            one = life(case, next(folders), monkeypatch)
            one.apply(place)
            go_on = one.apply if place % 2 or not runs(str(one.world.folder)) else one.rollback
            over = go_on(second_place)
            one.world.clock.sleep((second_place % 3) * 0.5)
            assert go_on()
            one.check(changed=go_on == one.apply)
            if over:
                break


@pytest.mark.parametrize("case", CASES)
def test_killed_on_the_way_back(
    case: str, folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch
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


def test_no_member_is_touched_after_one_failed_wherever_it_is_killed(
    folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the group cannot be started again; what went on to another one after a resume would be
    away with it. They come in any order: those before it are changed by then."""
    for place in count():
        one = life("running-group", next(folders), monkeypatch)
        failing, *others = one.world.servers
        failing.wont_start = lambda: True
        left_as = _when_it_has_failed(one.world, failing, others)
        over = one.apply(place)
        assert one.apply()
        assert failing.vm_state == "error"
        assert one.most_away == 1
        assert left_as == [_models(others)], one.world.passed
        if over:
            break


def _models(servers: Iterable[Server]) -> list[tuple[str | None, str | None]]:
    return [(server.model, server.kept[MODEL]) for server in servers]


def _when_it_has_failed(
    world: CloudWorld, failing: Server, others: Iterable[Server]
) -> list[list[tuple[str | None, str | None]]]:
    """Filled with the models of the others as they are when one is first seen to have failed."""
    seen: list[list[tuple[str | None, str | None]]] = []

    def look() -> None:
        if failing.vm_state == "error" and not seen:
            seen.append(_models(others))

    world.looks.append(look)
    return seen
