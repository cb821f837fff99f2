"""Runs on several hosts, each opened and locked on its own: what is half done stays locked, and a
host that is down keeps no other from being taken back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from tests.remedy.applying.fakes import Killed, Machine, World, installed
from vnicaudit.errors import ActionError, GoneError, TargetError
from vnicaudit.model.host import HostLock
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.journal_file import NAME
from vnicaudit.remedy.applying.journal.past_run import unfinished
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.pruning import recover
from vnicaudit.remedy.applying.rollback import RollbackSelection, dry_run_rollback
from vnicaudit.remedy.applying.runner import RunResult
from vnicaudit.remedy.hypervisor import Hypervisor

HOSTS, GUESTS = 3, 2
ALIAS = "qemu+ssh://10.0.0.1/system"
"""Leads to the second host."""


class Host:
    """One of the hosts."""

    deadline = 30.0
    local = False

    def __init__(self, number: int, machines: list[Machine]) -> None:
        self.uri = f"qemu+ssh://kvm{number}/system"
        self.key = self.name = f"kvm{number}"
        self.machines = {machine.uuid: machine for machine in machines}
        self.lock: HostLock | None = None
        self.is_down = False
        self.dialled = 0
        self.program_is_dead = False

    def machine(self, uuid: str) -> Machine:
        if uuid not in self.machines:
            raise GoneError(f"cannot find domain {uuid}")
        return self.machines[uuid]

    def find(self, name: str) -> Machine:
        raise NotImplementedError

    def take_lock(self, lock: HostLock) -> HostLock:
        if self.lock is None or self.lock.owner == lock.owner:
            self.lock = lock
        return self.lock

    def find_lock(self) -> HostLock | None:
        return self.lock

    def drop_lock(self, owner: str) -> None:
        if self.program_is_dead:
            raise ActionError("nobody asks")
        assert self.lock is not None
        assert self.lock.owner == owner
        self.lock = None

    def close(self) -> None:
        """Nothing is open."""


class ByAnotherUri:
    """One of the hosts, reached by another name of it."""

    def __init__(self, host: Host, uri: str) -> None:
        self._host = host
        self.uri = uri

    def __getattr__(self, name: str) -> object:
        return getattr(self._host, name)


class Fleet(World):
    """Some hosts with some guests each."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, HOSTS * GUESTS)
        self.dies_at_once = False
        places = range(HOSTS)
        self.hosts = [Host(n, self.machines[n * GUESTS : (n + 1) * GUESTS]) for n in places]
        self.steps = tuple(
            replace(step, target=self.hosts[place // GUESTS].uri)
            for place, step in enumerate(self.steps)
        )
        self.adapters = self.adapters._replace(connect=self._connect)
        for machine in self.machines:
            machine.boot()

    def _connect(self, uri: str, *, deadline: float) -> Hypervisor:
        del deadline
        if uri == ALIAS:
            return cast(Hypervisor, ByAnotherUri(self.hosts[1], uri))
        (host,) = (one for one in self.hosts if one.uri == uri)
        host.dialled += 1
        if host.is_down:
            raise TargetError("cannot connect: no route to host", file=uri)
        return cast(Hypervisor, host)

    def fleet_context(self) -> RunContext:
        """Of ``apply --mode restart`` of a fleet; the others get it from the run."""
        context = self.context("restart", canary=0)
        return replace(context, host_by_host=True, tell_remaining=self._tell)

    @contextmanager
    def watched(self) -> Iterator[Fleet]:
        """Each line and file that is written is a place to be ended at."""
        with pytest.MonkeyPatch.context() as patch:
            installed(self, patch)
            yield self

    def half_done(self) -> list[bool]:
        """Of each host: whether a run has begun something there, and not ended it."""
        targets = {
            unit.target for run in unfinished(StateFolder(str(self.folder)))
            for unit in run.request.units if run.is_open(unit.key)
        }  # fmt: skip
        return [host.uri in targets for host in self.hosts]

    def locked(self) -> list[bool]:
        """Of each host."""
        return [host.lock is not None for host in self.hosts]

    def kill(self, place: int, *, at_once: bool = False) -> None:
        """Carry it out up to that place; ``at_once``: nothing is unlocked, as after SIGKILL."""
        self.kill_at, self.dies_at_once = place, at_once
        with pytest.raises(Killed):
            self.apply(self.steps, self.fleet_context())
        self.kill_at = None
        self.passed.clear()
        for host in self.hosts:
            host.program_is_dead = False

    def passing(self, place: str) -> None:
        try:
            super().passing(place)
        except Killed:
            for host in self.hosts:
                host.program_is_dead = self.dies_at_once
            raise


def outcomes(went: RunResult) -> list[str]:
    """By guest, in the order of their names."""
    return [unit.outcome for unit in sorted(went.run.steps, key=lambda unit: unit.name)]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    with Fleet(tmp_path).watched() as made:
        yield made


def test_what_is_half_done_keeps_its_host_locked_wherever_it_stops(tmp_path: Path) -> None:
    with Fleet(tmp_path / "whole").watched() as whole:
        assert outcomes(whole.apply(whole.steps, whole.fleet_context())) == ["applied"] * 6
    assert whole.locked() == [False] * HOSTS
    kept = 0
    for place in range(0, len(whole.passed), 4):
        with Fleet(tmp_path / str(place)).watched() as fleet:
            fleet.kill(place)
            assert fleet.locked() == fleet.half_done(), whole.passed[place]
            said = {name for name, text in fleet.told if text.startswith("it stays locked")}
            assert said == {host.name for host in fleet.hosts if host.lock is not None}
            kept += any(fleet.locked())
            went = fleet.apply(fleet.steps, fleet.fleet_context())
        assert set(outcomes(went)) <= {"applied", "already"}
        assert {machine.persistent for machine in fleet.machines}.isdisjoint(fleet.before)
        assert fleet.locked() == [False] * HOSTS
    assert kept > 10


def test_the_same_command_unlocks_what_a_kill_left_locked(tmp_path: Path) -> None:
    with Fleet(tmp_path / "whole").watched() as whole:
        whole.apply(whole.steps, whole.fleet_context())
    left = 0
    for place in range(0, len(whole.passed), 3):
        with Fleet(tmp_path / str(place)).watched() as fleet:
            fleet.kill(place, at_once=True)
            left += sum(fleet.locked()) > sum(fleet.half_done())
            fleet.apply(fleet.steps, fleet.fleet_context())
        assert fleet.locked() == [False] * HOSTS, whole.passed[place]
    assert left > 5


def test_a_lock_that_cannot_be_looked_at_is_told(fleet: Fleet) -> None:
    fleet.kill_when, fleet.dies_at_once = ("behind line done", 2), True
    with pytest.raises(Killed):
        fleet.apply(fleet.steps, fleet.fleet_context())
    for host in fleet.hosts:
        host.program_is_dead = False
    fleet.hosts[0].is_down = True
    assert outcomes(fleet.apply(fleet.steps, fleet.fleet_context())) == ["applied"] * 6
    assert fleet.locked() == [True, False, False]
    assert (
        "qemu+ssh://kvm0/system",
        "an interrupted run may have left it locked: cannot connect: no route to host; repeat the "
        "command when it answers",
    ) in fleet.told
    fleet.hosts[0].is_down = False
    fleet.apply(fleet.steps, fleet.fleet_context())
    assert fleet.locked() == [False] * HOSTS


def test_all_lines_are_on_disk_before_a_host_is_left(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever comes next may change what this run would look at again."""
    on_disk = [0]
    left: list[bool] = []

    def fsync(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(NAME):
            on_disk.append(os.fstat(descriptor).st_size)

    def drop_lock(_host: Host, _owner: str) -> None:
        (journal,) = fleet.folder.glob(f"runs/*/{NAME}")
        left.append(journal.stat().st_size == on_disk[-1])

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Host, "drop_lock", drop_lock)
    assert outcomes(fleet.apply(fleet.steps, fleet.fleet_context())) == ["applied"] * 6
    assert left == [True] * HOSTS


def test_another_run_of_the_folder_leaves_the_lock_of_what_is_half_done(fleet: Fleet) -> None:
    fleet.kill_when = "behind line begin", 1
    with pytest.raises(Killed):
        fleet.apply(fleet.steps, fleet.fleet_context())
    assert fleet.half_done() == fleet.locked() == [True, False, False]
    other = (fleet.steps[1], fleet.steps[2])  # another guest there, and one elsewhere
    went = fleet.apply(other, fleet.fleet_context(), b"another plan")
    assert outcomes(went) == ["applied", "applied"]
    assert fleet.locked() == [True, False, False]
    (recovered,) = recover(fleet.context(), lambda _name, _text: None)
    assert recovered.is_well
    assert fleet.locked() == [False] * HOSTS


def half_done_on_the_second(fleet: Fleet) -> Path:
    """The folder of the run that was killed there."""
    fleet.kill_when = "behind line begin", 2 * GUESTS
    with pytest.raises(Killed):
        fleet.apply(fleet.steps, fleet.fleet_context())
    assert fleet.half_done() == fleet.locked() == [False, True, False]
    state = StateFolder(str(fleet.folder))
    return state.run(state.ids()[0])


def test_what_is_lost_keeps_its_host_locked(fleet: Fleet) -> None:
    folder = half_done_on_the_second(fleet)
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[1:-1]))
    for copy in folder.glob("definitions/*.begin.json"):
        copy.unlink()
    assert fleet.half_done() == [False] * HOSTS
    fleet.apply((fleet.steps[2],), fleet.fleet_context(), b"another plan")
    assert fleet.locked() == [False, True, False]


def test_a_run_that_cannot_be_read_keeps_hosts_locked(fleet: Fleet) -> None:
    folder = half_done_on_the_second(fleet)
    (folder / "run.json").write_text("{")
    (folder / "journal.jsonl").write_text("")
    for path in folder.glob("definitions/*"):
        path.unlink()
    fleet.told.clear()
    fleet.apply((fleet.steps[2], fleet.steps[4]), fleet.fleet_context(), b"another plan")
    assert fleet.locked() == [False, True, True]
    kept = dict(told for told in fleet.told if told[1].startswith("it stays locked"))
    assert kept.keys() == {"kvm1", "kvm2"}
    assert all("run.json" in text for text in kept.values())


def test_another_uri_of_a_host_leaves_the_lock_of_what_is_half_done(fleet: Fleet) -> None:
    half_done_on_the_second(fleet)
    fleet.told.clear()
    steps = (replace(fleet.steps[2], target=ALIAS), fleet.steps[4])
    fleet.apply(steps, fleet.fleet_context(), b"another plan")
    assert fleet.locked() == [False, True, False]
    assert (
        "kvm1",
        (
            "it stays locked, as before: a change is unfinished on qemu+ssh://kvm1/system, "
            "which may be this host"
        ),
    ) in fleet.told
    fleet.apply(fleet.steps, fleet.fleet_context())
    assert fleet.locked() == [False] * HOSTS


def test_what_is_half_done_on_a_host_that_is_down_leaves_other_hosts_to_another_plan(
    fleet: Fleet,
) -> None:
    half_done_on_the_second(fleet)
    fleet.hosts[1].is_down = True
    with pytest.raises(TargetError, match=r"half changed there: .*; meanwhile a plan without that"):
        fleet.apply(fleet.steps, fleet.fleet_context())
    went = fleet.apply(fleet.steps[4:], fleet.fleet_context(), b"another plan")
    assert outcomes(went) == ["applied"] * GUESTS
    assert fleet.half_done() == fleet.locked() == [False, True, False]
    fleet.hosts[1].is_down = False
    went = fleet.apply(fleet.steps, fleet.fleet_context())
    assert outcomes(went)[:4] == ["applied"] * 4
    assert set(outcomes(went)[4:]) <= {"already", "refused"}
    assert fleet.locked() == [False] * HOSTS


def test_a_host_that_is_down_keeps_no_other_from_being_taken_back(fleet: Fleet) -> None:
    fleet.apply(fleet.steps, fleet.fleet_context())
    run = runs(str(fleet.folder))[0].id
    fleet.hosts[1].is_down = True
    seen = dry_run_rollback(run, RollbackSelection(), fleet.context("restart"))
    assert [one.outcome for one in seen] == [
        "would-change", "would-change", "refused", "refused", "would-change", "would-change",
    ]  # fmt: skip
    (back,) = fleet.rollback(fleet.context("restart"), run=run)
    assert outcomes(back) == ["applied"] * 2 + ["refused"] * 2 + ["applied"] * 2
    assert {unit.codes for unit in back.run.steps if unit.outcome == "refused"} == {
        ("unreachable",)
    }
    fleet.hosts[1].is_down = False
    (back,) = fleet.rollback(fleet.context("restart"), run=run)
    assert outcomes(back) == ["applied"] * 2  # nobody else is restarted once more
    assert [machine.persistent for machine in fleet.machines] == fleet.before
    assert fleet.locked() == [False] * HOSTS


def test_a_way_back_that_was_interrupted_is_gone_on_with(fleet: Fleet) -> None:
    fleet.apply(fleet.steps, fleet.fleet_context())
    run = runs(str(fleet.folder))[0].id
    fleet.passed.clear()
    fleet.kill_when = "behind line begin", 3
    with pytest.raises(Killed):
        fleet.rollback(fleet.context("restart"), run=run)
    assert fleet.locked() == [False, True, False]
    (back,) = fleet.rollback(fleet.context("restart"), run=run)
    assert outcomes(back) == ["applied"] * 6
    assert [machine.persistent for machine in fleet.machines] == fleet.before
    assert len(runs(str(fleet.folder))) == 2
    assert fleet.locked() == [False] * HOSTS


def test_what_is_half_done_on_a_host_that_is_down_waits_for_it(fleet: Fleet) -> None:
    """The others are taken back; it stays locked, and is taken back by the same command."""
    run = half_done_on_the_second(fleet).name
    fleet.hosts[0].lock = StateFolder(str(fleet.folder)).host_lock()  # as a kill may leave it
    fleet.hosts[1].is_down, fleet.hosts[1].dialled = True, 0
    middle, back = fleet.rollback(fleet.context("restart"), run=run)
    assert fleet.hosts[1].dialled == 1  # not once for each unit
    assert middle.stopped == "its host does not answer: cannot connect: no route to host"
    assert outcomes(back) == ["applied"] * 2 + ["refused"]
    assert fleet.locked() == [False, True, False]
    fleet.hosts[1].is_down = False
    middle, back = fleet.rollback(fleet.context("restart"), run=run)
    assert outcomes(back) == ["applied"]
    assert [machine.persistent for machine in fleet.machines] == fleet.before
    assert all(machine.active for machine in fleet.machines)
    assert fleet.locked() == [False] * HOSTS


def test_a_host_that_cannot_be_locked_is_not_noted_as_locked(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every later `rollback` and `apply` asked it in vain."""

    def refuses(_host: Host, _lock: HostLock) -> HostLock:
        raise ActionError("it has no place for a lock")

    monkeypatch.setattr(Host, "take_lock", refuses)
    state = StateFolder(str(fleet.folder))
    went = fleet.apply(fleet.steps, fleet.fleet_context())
    assert all("cannot hold a lock" in unit.message for unit in went.run.steps)
    assert not any(state.may_be_locked(host.uri) for host in fleet.hosts)


def test_a_locked_host_is_named_as_in_the_inventory(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was named as libvirt does, which may be any name."""

    def refuses(_host: Host, _lock: HostLock) -> HostLock:
        raise ActionError("it has no place for a lock")

    names = {host.uri: f"rack-{place}" for place, host in enumerate(fleet.hosts)}
    context = replace(fleet.fleet_context(), host_names=names)
    fleet.hosts[0].lock = HostLock("of another", "vnicaudit of ann@desk")
    monkeypatch.setattr(fleet.hosts[1], "take_lock", lambda lock: refuses(fleet.hosts[1], lock))
    with context.state.lock(fleet.hosts[2].key, names[fleet.hosts[2].uri]):
        went = fleet.apply(fleet.steps, context)
    said = [unit.message for unit in sorted(went.run.steps, key=lambda unit: unit.name)]
    assert "another run is working on rack-0: vnicaudit of ann@desk" in said[0]
    assert "rack-1: this host cannot hold a lock" in said[2]
    assert "another run is working on rack-2 (process" in said[4]


def test_a_rollback_names_a_locked_host_as_in_the_inventory(fleet: Fleet) -> None:
    names = {host.uri: f"rack-{place}" for place, host in enumerate(fleet.hosts)}
    fleet.apply(fleet.steps, replace(fleet.fleet_context(), host_names=names))
    fleet.hosts[0].lock = HostLock("of another", "vnicaudit of ann@desk")
    (back,) = fleet.rollback(fleet.context())
    said = " ".join(unit.message for unit in back.run.steps)
    assert "another run is working on rack-0: vnicaudit of ann@desk" in said
