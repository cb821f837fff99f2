"""A run with ``next-boot`` was done, and nobody could tell which guests had been powered off and on
since; a kept original was put back by no command."""

import json
from pathlib import Path

import pytest

from tests.cli.definitions import E1000
from tests.regressions.way_back.test_a_domain_that_is_gone_stops_nobody_else import (
    NOWHERE,
    OTHER,
    two_hosts,
)
from tests.remedy.applying.fakes import World, installed
from vnicaudit.cli.main import run
from vnicaudit.errors import TargetError
from vnicaudit.remedy.applying.apply import apply
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.hypervisor import Hypervisor

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Three guests; the first two run, and all have been changed."""
    monkeypatch.setenv("COLUMNS", "100")
    world = installed(World(tmp_path, 3), monkeypatch)
    world.machines[0].boot()
    world.machines[1].boot()
    done = apply(world.steps, b"plan", world.context(), lambda _name, _text: None)
    assert done.run.outcome == "done"
    assert [unit.waiting for unit in done.run.steps] == [True, True, False]
    return world


def verified(world: World, capsys: Capture) -> tuple[int, list[list[str]]]:
    """The exit code of ``runs --verify``, and the lines of units."""
    capsys.readouterr()
    code = run(
        ["runs", "--verify", runs(str(world.folder))[-1].id, "--state", str(world.folder)],
        world.wiring,
    )
    lines = capsys.readouterr().out.splitlines()
    return code, [line.split() for line in lines if line.startswith("  ") and line[2] != " "]


def test_who_waits_is_in_the_run(world: World, capsys: Capture) -> None:
    run_id = runs(str(world.folder))[0].id
    assert (
        run(["runs", run_id, "--state", str(world.folder), "--format", "json"], world.wiring) == 0
    )
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    assert [unit["waiting"] for unit in one["steps"]] == [True, True, False]


def test_who_waits_is_told_until_it_was_powered_off_and_on(world: World, capsys: Capture) -> None:
    waits = [["waiting", f"guest-{number}"] for number in (1, 2, 3)]
    assert verified(world, capsys) == (1, waits)
    for machine in world.machines:
        machine.running = None
        machine.boot()
    world.clock.sleep(1)
    code, lines = verified(world, capsys)
    assert (code, lines) == (0, [["in-effect", f"guest-{number}"] for number in (1, 2, 3)])


def test_what_a_waiting_guest_waits_for_is_said(world: World, capsys: Capture) -> None:
    (run_id,) = [one.id for one in runs(str(world.folder))]
    assert run(["runs", "--verify", run_id, "--state", str(world.folder)], world.wiring) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "its old NIC: power it off and start it again (a reboot inside the guest is not enough)"
        in said
    )


def test_a_guest_without_a_driver_is_not_well(world: World, capsys: Capture) -> None:
    for machine in world.machines:
        machine.running = None
        machine.driverless = machine is world.machines[1]
        machine.boot()
    code, lines = verified(world, capsys)
    assert (code, [line[0] for line in lines]) == (5, ["in-effect", "differs", "in-effect"])


def test_a_definition_that_was_changed_since_differs(world: World, capsys: Capture) -> None:
    world.machines[0].persistent = world.before[0]
    code, lines = verified(world, capsys)
    assert (code, [line[0] for line in lines]) == (5, ["differs", "waiting", "waiting"])


def test_one_that_moved_is_named_with_its_new_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """It was called gone, where apply says where it is."""
    monkeypatch.setenv("COLUMNS", "1000")
    world = installed(World(tmp_path, 3), monkeypatch)
    other = two_hosts(world)
    world.apply(world.steps, world.context())
    other.machines.append(world.machines[0])
    world.leaves(1)
    world.leaves(2)
    code, lines = verified(world, capsys)
    assert (code, lines) == (
        5, [["moved", "guest-1"], ["gone", "guest-2"], ["waiting", "guest-3"]],
    )  # fmt: skip
    run_id = runs(str(world.folder))[-1].id
    run(["runs", "--verify", run_id, "--state", str(world.folder)], world.wiring)
    out = capsys.readouterr().out
    assert f"it is now on {OTHER}:" in out
    assert NOWHERE in out


def test_a_host_that_cannot_be_reached(world: World, capsys: Capture) -> None:
    def connect(uri: str, *, deadline: float) -> Hypervisor:
        del deadline
        raise TargetError(f"{uri}: cannot connect")

    world.adapters = world.adapters._replace(connect=connect)
    code, lines = verified(world, capsys)
    assert (code, {line[0] for line in lines}) == (4, {"unknown"})


def test_to_verify_a_run_there_is_none_of(world: World, capsys: Capture) -> None:
    folder = str(world.folder)
    assert run(["runs", "--verify", "--state", folder], world.wiring) == 2
    assert "--verify needs a RUN" in capsys.readouterr().err
    assert run(["runs", "--verify", "20261121-101500-3f2a", "--state", folder], world.wiring) == 2


def test_an_original_is_put_back_by_a_command(world: World, capsys: Capture) -> None:
    """Whoever changed the definition since; what they made of it is kept."""
    first = runs(str(world.folder))[0].id
    edited = world.machines[1].persistent.replace(b">262144<", b">524288<")
    world.machines[1].persistent = edited
    words = ["--yes", "--state", str(world.folder)]
    assert run(["rollback", first, "--domain", "guest-2", *words], world.wiring) == 5
    assert world.machines[1].persistent == edited
    assert run(["rollback", first, "--restore", "--domain", "guest-2", *words], world.wiring) == 0
    assert world.machines[1].persistent == world.before[1]
    assert world.machines[0].persistent != world.before[0]
    restored = runs(str(world.folder))[0].id
    assert run(["rollback", restored, *words], world.wiring) == 0
    assert world.machines[1].persistent == edited
    assert "undone" in capsys.readouterr().out


def test_an_original_that_was_edited_is_not_put_back(world: World, capsys: Capture) -> None:
    first = runs(str(world.folder))[0].id
    (kept,) = (world.folder / "runs" / first / "definitions").glob("*000001-*.before.xml")
    kept.write_bytes(kept.read_bytes().replace(b">262144<", b">131072<"))
    goal = world.machines[0].persistent
    words = ["--restore", "--domain", "guest-1", "--yes", "--state", str(world.folder)]
    assert run(["rollback", first, *words], world.wiring) == 5
    assert world.machines[0].persistent == goal
    assert str(kept) in "".join(capsys.readouterr().out.split())


@pytest.fixture
def applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that has changed two files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "1000")
    for name in "ab":
        (tmp_path / f"{name}.xml").write_text(E1000.replace("<name>a<", f"<name>{name}<"))
    assert run(["plan", "a.xml", "b.xml", "-o", "plan.json", "--quiet"]) == 0
    assert run(["apply", "plan.json", "--yes", "--state", "state", "--quiet"]) == 0
    return tmp_path / "state/runs" / runs("state")[0].id


def looked_at(folder: Path, capsys: Capture) -> tuple[int, str]:
    """What ``runs --verify`` ends with, and says."""
    capsys.readouterr()
    return run(["runs", "--verify", folder.name, "--state", "state"]), capsys.readouterr().out


def test_a_run_that_was_taken_back_does_not_differ(applied: Path, capsys: Capture) -> None:
    assert looked_at(applied, capsys)[0] == 0
    words = ["rollback", applied.name, "--yes", "--state", "state"]
    assert run([*words, "--domain", "a"]) == 0
    code, said = looked_at(applied, capsys)
    first = runs("state")[0].id
    assert (code, said.splitlines()[:4]) == (0, [
        "  taken-back  a", f"    by run {first}", "  in-effect   b", "    the file is as planned",
    ])  # fmt: skip
    assert run(words) == 0  # one is back already
    code, said = looked_at(applied, capsys)
    assert (code, said.splitlines()[-1]) == (0, "2 units: 2 taken-back")


def test_a_run_that_was_put_back_as_a_whole_does_not_differ(applied: Path, capsys: Capture) -> None:
    assert run(["rollback", applied.name, "--restore", "--yes", "--state", "state"]) == 0
    code, said = looked_at(applied, capsys)
    assert (code, said.splitlines()[-1]) == (0, "2 units: 2 taken-back")


@pytest.mark.parametrize("journal", ["missing", "empty"])
def test_a_run_without_its_journal_is_looked_at(
    applied: Path, capsys: Capture, journal: str
) -> None:
    path = applied / "journal.jsonl"
    path.unlink() if journal == "missing" else path.write_bytes(b"")
    code, said = looked_at(applied, capsys)
    assert (code, said.splitlines()[:2]) == (5, [
        "  unknown     a",
        (
            f"    the run is unfinished on it: vnicaudit rollback {applied.name} --state state "
            "undoes it; its state now: in-effect: the file is as planned"
        ),
    ])  # fmt: skip
    assert said.splitlines()[-1] == "2 units: 2 unknown"
    assert run(["runs", "--state", "state"]) == 0
    assert f"{path.relative_to(Path.cwd())}: it is {journal}" in capsys.readouterr().err


def test_a_run_that_was_ended_before_it_began_lacks_nothing(applied: Path, capsys: Capture) -> None:
    (applied / "journal.jsonl").unlink()
    for path in (applied / "definitions").iterdir():
        path.unlink()
    assert run(["runs", "--state", "state"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("journal", ["missing", "empty"])
def test_a_run_that_lost_all_but_its_originals_is_told(
    applied: Path, capsys: Capture, journal: str
) -> None:
    path = applied / "journal.jsonl"
    path.unlink() if journal == "missing" else path.write_bytes(b"")
    for copy in (applied / "definitions").glob("*.begin.json"):
        copy.unlink()
    code, said = looked_at(applied, capsys)
    assert code == 5
    assert said.count(f"vnicaudit rollback {applied.name} --restore --state state\n") == 2
    assert said.splitlines()[-1] == "2 units: 2 unknown"
    assert run(["runs", "--state", "state"]) == 0
    assert f"{path.relative_to(Path.cwd())}: it is {journal}" in capsys.readouterr().err
