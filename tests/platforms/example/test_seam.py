"""The seam, proven: a platform that is registered by one object is planned, applied, killed
anywhere, gone on with and taken back, by the command line as everybody starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.platforms.example.driver import Command, nicctl
from tests.platforms.example.inventory import KIND, NAME
from tests.platforms.example.nicctl import KILLS, main
from tests.platforms.example.platform import with_example
from tests.platforms.example.write import models_in
from tests.remedy.applying.fakes import Killed, Stage, watch
from vnicaudit.cli.main import run
from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.platforms import PlatformRegistry, every_platform
from vnicaudit.errors import RefusedError
from vnicaudit.model.owner import name_of
from vnicaudit.model.plan import ObjectUnit, Plan
from vnicaudit.model.refs import mac_of
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.history import runs
from vnicaudit.reports.plan.json import from_json

MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:00:00:03")
BEFORE = dict(zip(MACS, ("e1000", "rtl8139", "e1000"), strict=True))
GOAL = dict.fromkeys(MACS, "virtio")
UUIDS = ("6f2c3a52-5d0e-4a35-9d15-3f3b1f1f0a01", "6f2c3a52-5d0e-4a35-9d15-3f3b1f1f0a02")

Capture = pytest.CaptureFixture[str]


def text(models: dict[str, str]) -> str:
    """An inventory: a guest with two NICs, and one with one."""
    first, second, third = (f"{model} {mac} br0" for mac, model in models.items())
    return (
        f"# inventory/1\n[mail]\nuuid = {UUIDS[0]}\nnic0 = {first}\nnic1 = {second}\n"
        f"[web]\nuuid = {UUIDS[1]}\nnic0 = {third}\n"
    )


class Program(Stage):
    """The command line with that platform, which may be ended anywhere."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "state")
        folder.mkdir(exist_ok=True)
        self.file, self.plan_file = folder / "guests.ini", folder / "plan.json"
        self.file.write_text(text(BEFORE))
        self.command: Command = self._command

    def run(self, *arguments: str, platforms: PlatformRegistry | None = None) -> int:
        """The exit code."""
        wiring = Wiring(platforms=lambda: platforms or with_example(self.command))
        state = () if arguments[0] in ("plan", "audit") else ("--state", str(self.folder))
        return run([*arguments, *state], wiring)

    def plan(self, *more: str, prefix: str = "inventory:") -> Plan:
        """The plan, as its file has it."""
        assert (
            self.run("plan", f"{prefix}{self.file}", "-o", str(self.plan_file), "--quiet", *more)
            == 0
        )
        self.passed.clear()
        return from_json(self.plan_file.read_bytes(), "plan")

    def apply_plan(self, *more: str) -> int:
        """Carry it out, or go on with it."""
        return self.run("apply", str(self.plan_file), "--yes", "--quiet", *more)

    def take_back(self) -> int:
        """The first run."""
        return self.run("rollback", self.runs[-1].id, "--yes", "--quiet")

    @property
    def models(self) -> dict[str, str]:
        """MAC -> model, as it is now."""
        return models_in(self.file.read_bytes())

    @property
    def runs(self) -> list[RunRecord]:
        """All runs, newest first."""
        return runs(str(self.folder))

    @property
    def outcomes(self) -> list[str]:
        """Of all runs, newest first."""
        return [one.outcome for one in self.runs]

    def _command(self, path: str, mac: str, model: str) -> None:
        self.passing("before nicctl")
        assert main(path, mac, model) == 0  # as the command does, without its start
        self.passing("behind nicctl")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    found = Program(tmp_path)
    watch(found, monkeypatch)
    return found


def test_it_is_planned(program: Program) -> None:
    steps = program.plan().steps
    assert [(one.unit.shown_under, mac_of(one.about), one.rules) for one in steps] == [
        (NAME, MACS[0], ("VNIC002",)),
        (NAME, MACS[1], ("VNIC001",)),
        (NAME, MACS[2], ("VNIC002",)),
    ]
    units = [ObjectUnit(KIND, uuid, NAME) for uuid in (UUIDS[0], UUIDS[0], UUIDS[1])]
    assert [one.unit for one in steps] == units
    assert f"-nic1 = rtl8139 {MACS[1]} br0\n+nic1 = virtio {MACS[1]} br0\n" in steps[1].diff
    assert all(one.safe and not one.refused for one in steps)


def test_what_is_named_alone_is_planned(program: Program) -> None:
    assert [mac_of(one.about) for one in program.plan("--domain", "web").steps] == [MACS[2]]
    assert [mac_of(one.about) for one in program.plan("--nic", MACS[1]).steps] == [MACS[1]]
    named = f"inventory:{program.file}"
    assert program.run("plan", named, "--domain", "none") == 2


def test_the_plan_says_what_it_is_about(program: Program, capsys: Capture) -> None:
    assert program.run("plan", f"inventory:{program.file}", "--diff") == 0
    said = capsys.readouterr().out
    assert f"  mail  {NAME}  {KIND}  readiness: ready\n" in said
    assert f"3 steps on 2 {KIND}s: 3 safe" in said


def test_its_file_is_a_target_as_well(program: Program) -> None:
    assert [one.unit.kind for one in program.plan(prefix="").steps] == [KIND] * 3
    assert program.apply_plan() == 0
    assert program.models == GOAL


def test_it_is_applied_looked_at_and_taken_back(program: Program) -> None:
    program.plan()
    assert program.apply_plan("--dry-run") == 0
    assert program.models == BEFORE
    assert program.apply_plan() == 0
    assert [(unit.kind, unit.name, unit.outcome) for unit in program.runs[0].steps] == [
        (KIND, "mail", "applied"), (KIND, "web", "applied"),
    ]  # fmt: skip
    assert program.models == GOAL
    assert program.run("runs", program.runs[0].id, "--verify") == 0
    assert program.plan().steps == ()
    assert program.take_back() == 0
    assert program.file.read_text() == text(BEFORE)
    assert program.outcomes == ["done", "done"]


def test_what_somebody_changed_is_refused(program: Program, capsys: Capture) -> None:
    program.plan()
    program.file.write_text(text({**BEFORE, MACS[0]: "ne2k_pci"}))
    capsys.readouterr()
    assert program.apply_plan("--dry-run", "--format", "json") == 5
    seen = json.loads(capsys.readouterr().out)["units"]
    assert [(one["name"], one["outcome"], one["codes"]) for one in seen] == [
        ("mail", "refused", ["edited"]), ("web", "would-change", []),
    ]  # fmt: skip
    program.file.write_text(text(BEFORE))
    assert program.apply_plan() == 0
    program.file.write_text(text({**GOAL, MACS[0]: "ne2k_pci"}))
    assert program.run("runs", program.runs[0].id, "--verify") == 5
    assert program.take_back() == 5
    assert [(unit.outcome, unit.codes) for unit in program.runs[0].steps] == [
        ("applied", ()), ("refused", ("edited",)),
    ]  # fmt: skip
    assert program.models == {**BEFORE, MACS[0]: "ne2k_pci", MACS[1]: "virtio"}


def test_a_driver_that_has_no_code_for_its_refusal_gets_one(program: Program) -> None:
    """A machine that goes by codes is not left with none."""

    def refuses(*_arguments: str) -> None:
        raise RefusedError("not today")

    program.plan("--domain", "web")
    program.command = refuses
    assert program.apply_plan() == 5
    (unit,) = program.runs[0].steps
    assert (unit.outcome, unit.codes, unit.message) == ("refused", ("other",), "not today")


def of_engine(program: Program) -> str:
    """An inventory whose guests somebody else writes anew for each start."""
    kept = text(BEFORE).replace("uuid =", "engine = yes\nuuid =")
    program.file.write_text(kept)
    return kept


def test_a_guest_that_its_owner_writes_anew_is_changed_there(program: Program) -> None:
    kept = of_engine(program)
    steps = program.plan().steps
    assert [name_of(one.owner) for one in steps] == ["engine"] * 3
    assert [[each.code for each in one.blocked] for one in steps] == [["owner-changes-it"]] * 3
    assert steps[0].blocked[0].text == (
        "the definition belongs to the Engine, which rewrites it: change it there, not here"
    )
    assert steps[0].procedure == (
        "engine stop mail", "Set model to virtio in the engine.", "engine start mail",
    )  # fmt: skip
    assert program.apply_plan() == 5
    assert (program.file.read_text(), program.runs) == (kept, [])


def test_an_edited_plan_does_not_get_behind_its_owner(program: Program) -> None:
    kept = of_engine(program)
    program.plan()
    plan = json.loads(program.plan_file.read_bytes())
    for step in plan["steps"]:
        step["blocked"] = step["blocked_codes"] = []
    program.plan_file.write_text(json.dumps(plan))
    assert program.apply_plan() == 5
    assert [(unit.outcome, unit.codes) for unit in program.runs[0].steps] == [
        ("refused", ("owner",)), ("refused", ("owner",)),
    ]  # fmt: skip
    assert program.file.read_text() == kept


def test_its_file_is_not_fixed_behind_its_owner(program: Program, capsys: Capture) -> None:
    kept = of_engine(program)
    audit = ("audit", str(program.file), "--fix", "--select", "VNIC001", "--format", "json")
    assert program.run(*audit) == 1
    report = json.loads(capsys.readouterr().out)
    assert [one["code"] for one in report["not_fixed"]] == ["owner"]
    assert [one["fix"] for one in report["findings"]] == ["Set model to virtio in the engine."]
    assert program.file.read_text() == kept


def test_a_command_that_fails_is_undone(program: Program) -> None:
    def fails(path: str, mac: str, model: str) -> None:
        nicctl(path, mac if (mac, model) != (MACS[1], "virtio") else "none", model)

    program.plan("--domain", "mail")
    program.command = fails
    assert program.apply_plan() == 5
    (unit,) = program.runs[0].steps
    assert unit.outcome == "failed"
    assert unit.message == "nicctl: there is no NIC none; it was put back"
    assert program.models == BEFORE


def test_without_the_platform_its_plans_and_runs_are_nobodys(
    program: Program, capsys: Capture
) -> None:
    program.plan()
    shipped = every_platform()
    apply = ("apply", str(program.plan_file), "--yes")
    assert program.run(*apply, platforms=shipped) == 2
    program.apply_plan()
    capsys.readouterr()
    assert program.run("rollback", program.runs[0].id, "--yes", platforms=shipped) == 2
    assert f"unknown kind of unit '{KIND}'" in capsys.readouterr().err


def test_a_platform_that_plans_nothing_is_told(program: Program, capsys: Capture) -> None:
    reads_only = replace(with_example().registered[-1], planner=None)
    platforms = PlatformRegistry((*every_platform().registered, reads_only))
    named = f"inventory:{program.file}"
    assert program.run("plan", named, platforms=platforms) == 2
    said = capsys.readouterr().err
    assert f"{named}: changes cannot be planned for this kind of target" in said


def test_it_is_not_measured(program: Program, capsys: Capture) -> None:
    program.plan()
    bench = ("--bench", "quick", "--bench-peer", "local:")
    assert program.apply_plan("--mode", "next-boot", *bench) == 2
    assert f"this plan has steps on {KIND}s" in capsys.readouterr().err
    assert program.models == BEFORE


@pytest.mark.parametrize("other", [{"file": "a.xml"}, {"cloud": {}}])
def test_an_edit_that_makes_a_step_one_of_two_kinds_is_refused(
    other: dict[str, object], program: Program
) -> None:
    program.plan()
    plan = json.loads(program.plan_file.read_bytes())
    if "cloud" in other:
        other = {"cloud": {"object": "server", "properties": {}, "old": {}}}
    plan["steps"][0] |= other
    program.plan_file.write_text(json.dumps(plan))
    assert program.apply_plan() == 2


def test_its_files_are_fixed_in_place(program: Program) -> None:
    assert program.run("audit", str(program.file), "--fix", "--quiet", "--select", "VNIC001") == 0
    assert program.models == {**BEFORE, MACS[1]: "virtio"}


@pytest.mark.parametrize("resume", ["apply", "rollback", "recover"])
def test_it_is_killed_anywhere(
    resume: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = Program(tmp_path / "clean")
    watch(clean, monkeypatch)
    clean.plan("--domain", "mail")
    clean.apply_plan()
    places = tuple(clean.passed)
    assert len(places) > 10
    goal = {**BEFORE, MACS[0]: "virtio", MACS[1]: "virtio"}
    for number, place in enumerate(places):
        one = Program(tmp_path / str(number))
        monkeypatch.undo()
        watch(one, monkeypatch)
        one.plan("--domain", "mail")
        one.kill_at = number
        with suppress(Killed):
            one.apply_plan()
        one.kill_at = None
        if resume == "apply":
            assert one.apply_plan() == 0, place
            assert one.models == goal, place
        elif resume == "recover":
            assert one.run("runs", "--recover", "--quiet") == 0, place
            assert one.models in (BEFORE, goal), place
        elif one.runs:
            assert one.take_back() == 0, place
            assert one.models == BEFORE, place
        assert resume == "recover" or "unfinished" not in one.outcomes, place


def test_a_process_that_is_killed_is_gone_on_with(tmp_path: Path) -> None:
    """By the kernel, between the command and what is noted of it."""
    one = Program(tmp_path)
    one.plan()

    def started(**environment: str) -> int:
        words = ("apply", str(one.plan_file), "--yes", "--state", str(one.folder))
        return subprocess.run(
            [sys.executable, "-m", "tests.platforms.example", *words],
            cwd=Path(__file__).parents[3],
            env={**os.environ, **environment},
            capture_output=True,
            check=False,
        ).returncode

    assert started(**{KILLS: MACS[1]}) == -signal.SIGKILL
    assert one.models == {**BEFORE, MACS[0]: "virtio", MACS[1]: "virtio"}
    assert one.outcomes == ["unfinished"]
    assert started() == 0
    assert (one.models, one.outcomes) == (GOAL, ["done"])
    assert one.take_back() == 0
    assert one.models == BEFORE
