"""A process died while guests were off for it, and nothing but an operator at a terminal could
bring them back."""

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.remedy.applying.fakes import TARGET, Killed, World, installed
from vnicaudit.cli.main import run
from vnicaudit.errors import NoResponseError, TargetError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.apply import apply
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.pruning import Recovered, recover
from vnicaudit.remedy.applying.rollback import RollbackSelection, rollback
from vnicaudit.remedy.hypervisor import Hypervisor

MODES: tuple[Mode, ...] = ("next-boot", "restart", "hotswap")
MOST = 500
Capture = pytest.CaptureFixture[str]


def silent(name: str, text: str) -> None:
    """Tells nobody."""
    del name, text


def made(folder: Path, monkeypatch: pytest.MonkeyPatch, guests: int = 2) -> World:
    """Guests that run."""
    world = installed(World(folder, guests), monkeypatch)
    for machine in world.machines:
        machine.boot()
    return world


def recovered(world: World) -> Sequence[Recovered]:
    """What ``runs --recover`` finds and does."""
    return list(recover(world.context(), silent))


def all_well(world: World, goals: Sequence[bytes]) -> None:
    """Each guest runs, and has the one definition or the other, with what runs as it says."""
    for machine, before, goal in zip(world.machines, world.before, goals, strict=True):
        assert machine.active
        assert machine.persistent in (before, goal)
        models = set(machine.at_work.values())
        assert len(machine.at_work) == len(machine.macs)
        assert models <= {"e1000", "virtio"}


@pytest.mark.parametrize("mode", MODES)
def test_wherever_it_died_nobody_is_left_in_the_middle(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in range(MOST):
        with monkeypatch.context() as patch:
            world = made(tmp_path / str(place), patch)
            goals = [text.replace(b"'e1000'", b"'virtio'") for text in world.before]
            world.kill_at = place
            with contextlib.suppress(Killed):
                apply(world.steps, b"plan", world.context(mode), silent)
                world.kill_at = None
            died = world.kill_at is not None
            world.kill_at = None
            found = recovered(world)
            assert all(one.is_well and not one.at_work for one in found)
            world.clock.sleep(1000)
            all_well(world, goals)
            shown = [unit for one in runs(str(world.folder)) for unit in one.steps]
            assert "unfinished" not in [unit.outcome for unit in shown]
            assert recovered(world) == []  # again: there is nothing to do
            done = apply(world.steps, b"plan", world.context(mode), silent)
            assert {unit.outcome for unit in done.run.steps} <= {"applied", "already"}
            assert [machine.persistent for machine in world.machines] == goals
        if not died:
            return
    raise AssertionError("not so many places")


def test_a_way_back_that_died_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = made(tmp_path, monkeypatch)
    done = apply(world.steps, b"plan", world.context("restart"), silent)
    world.passed.clear()
    world.kill_when = ("behind shut_down", 1)
    with pytest.raises(Killed):
        rollback(done.run.id, RollbackSelection(), world.context("restart"), silent)
    world.kill_when = ("", 1)
    world.clock.sleep(10)
    assert [machine.active for machine in world.machines] == [True, False]
    (one,) = recovered(world)
    assert [(unit.name, unit.outcome) for unit in one.units] == [("guest-2", "applied")]
    assert [machine.active for machine in world.machines] == [True, True]
    assert world.machines[1].persistent == world.before[1]


def left_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A guest that is off, since the process that shut it down died."""
    world = made(folder, monkeypatch, 1)
    world.kill_when = ("behind shut_down", 1)
    with pytest.raises(Killed):
        apply(world.steps, b"plan", world.context("restart"), silent)
    world.kill_when = ("", 1)
    world.clock.sleep(10)
    assert not world.machines[0].active
    return world


def test_the_command_asks_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    world = left_off(tmp_path, monkeypatch)
    run_id = runs(str(tmp_path))[0].id
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 0
    assert f"run {run_id}: guest-1: applied\n" in capsys.readouterr().err
    assert world.machines[0].active
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 0
    assert capsys.readouterr().err == ""


def test_a_run_that_somebody_is_at_work_on_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    world = left_off(tmp_path, monkeypatch)
    context = world.context()
    with context.state.lock(world.key, world.name):
        assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 0
        assert "another run is working on host.example" in capsys.readouterr().err
        assert not world.machines[0].active


def test_a_host_that_cannot_be_reached_is_code_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    world = left_off(tmp_path, monkeypatch)

    def connect(uri: str, *, deadline: float) -> Hypervisor:
        del deadline
        raise TargetError(f"{uri}: cannot connect")

    world.adapters = world.adapters._replace(connect=connect)
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 4
    assert f"{TARGET}: cannot connect" in capsys.readouterr().err


@pytest.mark.parametrize("measured", [False, True])
def test_a_host_that_falls_silent_is_code_4_and_says_why(
    measured: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    world = left_off(tmp_path, monkeypatch)
    run_id = runs(str(tmp_path))[0].id
    if measured:  # it is taken back then
        (tmp_path / "runs" / run_id / "guest-1.bench").write_text("")
    passing = world.passing

    def silent_from(place: str) -> None:
        passing(place)
        if place == "before start":
            raise NoResponseError("libvirt did not answer within 30 s when asked to start guest-1")

    monkeypatch.setattr(world, "passing", silent_from)
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 4
    said = capsys.readouterr().err
    assert f"run {run_id}: guest-1: unfinished" in said
    assert f"run {run_id}: libvirt did not answer within 30 s when asked to start guest-1\n" in said


def test_a_guest_that_does_not_come_back_is_code_5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    world = left_off(tmp_path, monkeypatch)
    world.machines[0].refuses = {"start": "no free memory"}
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 5
    assert "no free memory" in capsys.readouterr().err


def test_a_nic_that_was_taken_out_meanwhile_ends_it_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood before the one that was changed, whose place it took: an internal error."""
    world = installed(World(tmp_path, 1, nics=2), monkeypatch)
    (machine,) = world.machines
    world.kill_when = ("behind define", 1)
    with pytest.raises(Killed):
        apply(world.steps[1:], b"plan", world.context(), silent)
    world.kill_when = ("", 1)
    start = machine.persistent.index(b"    <interface")
    end = machine.persistent.index(b"</interface>\n") + len(b"</interface>\n")
    edited = machine.persistent[:start] + machine.persistent[end:]
    machine.persistent = edited
    (one,) = recovered(world)
    assert [unit.outcome for unit in one.units] == ["failed"]
    assert "somebody else changed the definition in the meantime" in one.units[0].message
    assert machine.persistent == edited


@pytest.mark.parametrize("quiet", [False, True])
def test_a_run_of_which_nothing_can_be_told_is_no_success(
    quiet: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Its guest is off. The unit that looked for it every five minutes was green."""
    world = left_off(tmp_path, monkeypatch)
    (folder,) = (tmp_path / "runs").iterdir()
    for path in folder.rglob("*.json*"):
        path.write_bytes(b"\xff" * 100 + b"\n")
    words = ["--quiet"] if quiet else []
    assert run(["runs", "--recover", "--state", str(tmp_path), *words], world.wiring) == 5
    assert str(folder) in capsys.readouterr().err


@pytest.mark.parametrize("quiet", [False, True])
def test_a_guest_of_which_only_the_original_is_left_is_no_success(
    quiet: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    world = left_off(tmp_path, monkeypatch)
    (folder,) = (tmp_path / "runs").iterdir()
    (folder / "journal.jsonl").write_bytes(b"")
    for copy in (folder / "definitions").glob("*.begin.json"):
        copy.unlink()
    words = ["--quiet"] if quiet else []
    assert run(["runs", "--recover", "--state", str(tmp_path), *words], world.wiring) == 5
    said = capsys.readouterr().err
    assert "the journal lost the record of this change" in said
    assert f"rollback {folder.name} --restore" in said
    restored = ["rollback", folder.name, "--restore", "--mode", "restart", "--yes"]
    assert run([*restored, "--state", str(tmp_path)], world.wiring) == 0
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 0


def test_a_damaged_line_is_named_by_who_brings_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    world = left_off(tmp_path, monkeypatch)
    (journal,) = (tmp_path / "runs").glob("*/journal.jsonl")
    lines = journal.read_bytes().split(b"\n")
    journal.write_bytes(b"\n".join([b"x" + lines[0], *lines[1:]]))
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 0
    assert f"Warning: {journal}:1: damaged" in capsys.readouterr().err
    assert world.machines[0].active


def two_left_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest of each of two hosts is off, and the second host cannot be reached any more."""
    other = "qemu+ssh://b.example/system"
    first, second = world.steps
    steps = (first, msgspec.structs.replace(second, target=other))
    passing = world.passing

    def until_they_start(place: str) -> None:
        passing(place)
        if place == "before line starting":
            raise Killed(place)

    with monkeypatch.context() as patch:
        patch.setattr(world, "passing", until_they_start)
        with pytest.raises(Killed):
            apply(steps, b"plan", world.context("restart", canary=0, batch=2), silent)
    world.clock.sleep(10)

    there: Any = world
    found: Hypervisor = there

    def connect(uri: str, *, deadline: float) -> Hypervisor:
        del deadline
        if uri == other:
            raise TargetError(f"{uri}: cannot connect")
        return found

    world.adapters = world.adapters._replace(connect=connect)


def test_a_host_that_cannot_be_reached_leaves_no_guest_of_another_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    world = made(tmp_path, monkeypatch)
    two_left_off(world, monkeypatch)
    assert [machine.active for machine in world.machines] == [False, False]
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 4
    said = capsys.readouterr().err
    assert "cannot connect" in said
    assert "guest-1: applied" in said
    assert world.machines[0].active


def test_a_journal_that_cannot_be_opened_ends_no_other_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = left_off(tmp_path, monkeypatch)
    real = os.open

    def refuses(path: str | Path, flags: int, *more: int, **named: int) -> int:
        if str(path).endswith("journal.jsonl"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        return real(path, flags, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuses)
        (one,) = recovered(world)
        assert "journal.jsonl cannot be written" in str(one.error)
    assert run(["runs", "--recover", "--state", str(tmp_path)], world.wiring) == 0
    assert world.machines[0].active
