"""The power fails anywhere: what was not synced is lost, and no guest with it."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remedy.applying.fakes import Killed, Machine, World, installed
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.events import ANNOUNCE_NOTHING, name_of
from vnicaudit.remedy.applying.journal.journal_file import read_journal

LATER = 1000.0
_QUIET = {kind.__struct_config__.tag for kind in ANNOUNCE_NOTHING}


class Disk:
    """Remembers what was synced of each file and folder, by inode, until the program ends."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, set[str]] = {}

    def fsync(self, descriptor: int) -> None:
        """In place of ``os.fsync``."""
        if self._world.kill_at is not None and len(self._world.passed) > self._world.kill_at:
            return  # what unwinds behind a kill never ran
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            self._names[status.st_ino] = set(os.listdir(descriptor))
        else:
            self._contents[status.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()

    def cut_power(self, *, names: bool) -> None:
        """Leave what was synced alone. ``names``: of files too that were not, of which half is
        there then."""
        for folder, _, files in os.walk(self._world.folder / "runs"):
            known = self._names.get(os.stat(folder).st_ino, set())
            for path in (Path(folder, file) for file in files):
                if names or path.name in known:
                    data = path.read_bytes()
                    half = data[: len(data) // 2]
                    path.write_bytes(self._contents.get(path.stat().st_ino, half))
                else:
                    path.unlink()


@pytest.fixture
def folders() -> Iterator[Iterator[Path]]:
    """Folders, one after the other, in memory, where no inode is used twice."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield (Path(folder, str(number)) for number in range(10_000))


def begun(folder: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> tuple[World, Disk]:
    """Two guests, which run unless they are to be changed for their next boot."""
    monkeypatch.undo()
    world = installed(World(folder, guests=2), monkeypatch)
    if mode != "next-boot":
        for machine in world.machines:
            machine.boot()
    disk = Disk(world)
    monkeypatch.setattr(os, "fsync", disk.fsync)
    return world, disk


def ended(world: World, mode: Mode, kill_at: int | None, *, back: bool = False) -> bool:
    """Whether it came to its end."""
    world.passed.clear()
    world.kill_at = kill_at
    with contextlib.suppress(Killed):
        if back:
            world.rollback(world.context(mode))
        else:
            world.apply(world.steps, world.context(mode))
        return True
    return False


def check_kept(world: World) -> None:
    """Of each guest that was changed, the journal says so, and the original is there."""
    for machine, before in zip(world.machines, world.before, strict=True):
        if machine.persistent == before:
            continue
        (folder,) = (world.folder / "runs").iterdir()
        lines = [
            name_of(one.event) for one in read_journal(folder).entries if machine.uuid in one.unit
        ]
        assert lines[0] == "begin", world.passed
        assert "defining" in lines, world.passed
        if machine.active and machine.live() != before:
            assert {"captured", "detaching"} <= set(lines) or "starting" in lines, world.passed
        (kept,) = folder.glob(f"definitions/*{machine.uuid}*.before.xml")
        assert kept.read_bytes() == before, world.passed


def check(machine: Machine, before: bytes, mode: Mode, *, changed: bool) -> None:
    """It is as it should be."""
    goal = before.replace(b"'e1000'", b"'virtio'")
    assert machine.persistent == (goal if changed else before), machine.world.passed
    assert machine.active == (mode != "next-boot"), machine.world.passed
    if machine.active:
        model = "virtio" if changed else "e1000"
        assert machine.at_work == dict.fromkeys(machine.macs, model), machine.world.passed


@pytest.mark.parametrize("mode", ["next-boot", "restart", "hotswap"])
def test_the_power_fails_anywhere(
    mode: Mode,
    folders: Iterator[Path],
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
) -> None:
    """Then it is gone on with, or taken back. In CI each place is tried one way."""
    world, _disk = begun(next(folders), mode, monkeypatch)
    assert ended(world, mode, None)
    ways = [(back, names) for back in (False, True) for names in (False, True)]
    for place in range(len(world.passed)):
        number = (place + place // 4) % 4  # places are before something and behind it, in turn
        chosen = ways if pytestconfig.getoption("--long") else ways[number : number + 1]
        for back, names in chosen:
            world, disk = begun(next(folders), mode, monkeypatch)
            assert not ended(world, mode, place)
            disk.cut_power(names=names)
            check_kept(world)
            world.clock.sleep(LATER)
            back = back and bool(runs(str(world.folder)))
            assert ended(world, mode, None, back=back)
            for machine, before in zip(world.machines, world.before, strict=True):
                check(machine, before, mode, changed=not back)
            states = {run.outcome for run in runs(str(world.folder))}
            assert "unfinished" not in states, world.passed


def test_each_line_that_announces_a_change_is_on_disk_before_it(
    folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing is synced for the others: an fsync takes longer than most of the rest."""
    world, disk = begun(next(folders), "restart", monkeypatch)
    synced: list[str] = []

    def fsync(descriptor: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        disk.fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    assert ended(world, "restart", None)
    (folder,) = (world.folder / "runs").iterdir()
    events = [name_of(one.event) for one in read_journal(folder).entries]
    assert set(events) > _QUIET
    assert synced.count("journal.jsonl") == sum(event not in _QUIET for event in events)
    assert synced.count("definitions") == len(world.machines)
