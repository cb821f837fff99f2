"""Runs as an earlier version of the program left them: ``data/`` holds what was in their folders.

Each was written by that version with the fakes of this folder, and ended where its scenario says.
The same scenario brings a fresh world to the same place: then its own notes are put away, and those
of the earlier version are all that is known.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from tests.remedy.applying import fakes
from tests.remedy.applying.clouds import fakes as clouds
from tests.remedy.applying.fakes import Killed, Stage, World
from vnicaudit.model.plan import FileUnit, Mode, Step
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.planning.diffs import unified_diff

DATA = Path(__file__).parent / "data"


class Case(NamedTuple):
    """What is changed, how, and where the program was ended; an empty ``killed``: nowhere."""

    kind: str
    mode: Mode
    killed: str = ""
    nics: int = 1
    driverless: bool = False


CASES: dict[str, Case] = {
    "domain-finished": Case("domain", "hotswap", nics=2),
    "domain-at-begin": Case("domain", "restart", "behind line begin"),
    "domain-at-defining": Case("domain", "next-boot", "behind line defining"),
    "domain-at-define": Case("domain", "restart", "behind define"),
    "domain-at-stopping": Case("domain", "restart", "behind line stopping"),
    "domain-at-starting": Case("domain", "restart", "behind line starting"),
    "domain-before-done": Case("domain", "restart", "before line done"),
    "domain-at-captured": Case("domain", "hotswap", "behind line captured"),
    "domain-at-detaching": Case("domain", "hotswap", "behind line detaching", nics=2),
    "domain-at-attached": Case("domain", "hotswap", "behind line attached"),
    "domain-at-undoing": Case("domain", "hotswap", "behind line undoing", driverless=True),
    "domain-before-end": Case("domain", "hotswap", "before line end"),
    "file-finished": Case("file", "next-boot"),
    "file-at-replacing": Case("file", "next-boot", "behind line replacing"),
    "server-finished": Case("server", "restart"),
    "server-at-stopping": Case("server", "restart", "behind line stopping"),
    "server-at-setting": Case("server", "restart", "behind line setting"),
    "server-at-set": Case("server", "restart", "behind line set"),
    "server-at-starting": Case("server", "restart", "behind line starting"),
    "server-at-undoing": Case("server", "restart", "behind line undoing", driverless=True),
    "image-finished": Case("image", "next-boot"),
    "image-at-setting": Case("image", "next-boot", "behind line setting"),
    "flavor-finished": Case("flavor", "next-boot"),
    "flavor-at-copying": Case("flavor", "next-boot", "behind line copying"),
}


class _Sheet(msgspec.Struct):
    id: str


class Life:
    """One thing, one plan, and the program that works on it."""

    def __init__(self, case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.case = case
        make = {"domain": _domain, "file": _file}.get(case.kind, _in_cloud)
        self.stage, self.steps, self.looks = make(case, folder, monkeypatch)
        self.before = self.looks()

    @property
    def context(self) -> RunContext:
        """What is asked for."""
        return self.stage.context(self.case.mode)

    def go(self) -> None:
        """Apply the plan, as far as the case goes."""
        self.stage.kill_when = (self.case.killed, 1)
        with suppress(Killed):
            self.stage.apply(self.steps, self.context)
        self.stage.kill_when = ("", 1)

    @property
    def runs(self) -> Path:
        """Where the runs are."""
        return self.stage.folder / "runs"

    def put_old(self, name: str) -> None:
        """Have the earlier version's notes be all that is known."""
        run = msgspec.json.decode((DATA / name / "run.json").read_bytes(), type=_Sheet).id
        shutil.rmtree(self.runs)
        shutil.copytree(DATA / name, self.runs / run)
        for path in (self.runs, *self.runs.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)


Made = tuple[Stage, tuple[Step, ...], Callable[[], object]]


def _domain(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    world = fakes.installed(World(folder, nics=case.nics), monkeypatch)
    machine = world.machines[0]
    machine.driverless = case.driverless
    machine.boot()
    world.plan_again()
    return world, world.steps, lambda: (machine.persistent, machine.at_work, machine.active)


def _file(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    del case
    stage = Stage(folder)
    fakes.watch(stage, monkeypatch)
    monkeypatch.chdir(folder)
    path = Path("guest-1.xml")
    path.write_bytes(fakes.definition("guest-1", 1))
    step = fakes.step_of(fakes.Machine(World(folder), 1))
    before = path.read_bytes()
    place = "/domain/devices/interface[1]"
    after = stage.adapters.texts.changed_at(before, place, step.changes)
    step = replace(
        step, unit=FileUnit(str(path), place), running=False,
        target=str(path), digest=digest(before),
        diff=unified_diff(before, after, str(path), stage.adapters.texts.writer.text_of),
    )  # fmt: skip
    return stage, (step,), path.read_bytes


def _in_cloud(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    world = clouds.installed(clouds.CloudWorld(folder), monkeypatch)
    server = world.servers[0]
    server.driverless = case.driverless
    server.boot()
    if case.kind == "server":
        step = clouds.server_step(server)
        return world, (step,), lambda: (dict(server.kept), server.model, server.vm_state)
    if case.kind == "image":
        step = clouds.image_step(world, {clouds.MODEL: "virtio"})
        return world, (step,), lambda: dict(world.image)
    step = clouds.flavor_step(world, {"hw:vif_multiqueue_enabled": "true"})
    return world, (step,), lambda: sorted(world.flavors)
