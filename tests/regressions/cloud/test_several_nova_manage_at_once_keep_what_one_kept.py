"""One nova-manage ran at a time, four seconds each: 100,000 servers took days. Now several do, and
what the journal promises holds as before: a line before each of them, what its end was not seen of
is waited for, and nobody is off in the end.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.remedy.applying.clouds.fakes import (
    MODEL,
    CloudWorld,
    Fault,
    installed,
    server_step,
)
from tests.remedy.applying.fakes import Killed
from vnicaudit.cli.wiring import open_controller
from vnicaudit.errors import ActionError
from vnicaudit.model.plan import Step
from vnicaudit.remedy.applying.clouds.nova_manage import Manage
from vnicaudit.remedy.hypervisor import MANAGE_JOBS, CloudAccess, CommandOutput

PLACES = ["before set", "within set", "between set", "behind set"]
WAIT = 30.0
LOST = ActionError("nova-manage cannot be run: the connection was lost")


class Counting:
    """A nova-manage that notes how many of it run, and goes on when ``full`` of them do."""

    def __init__(self, full: int) -> None:
        self.most = self.now = 0
        self._lock = threading.Lock()
        self._all = threading.Barrier(full)

    def __call__(self, arguments: Sequence[str]) -> CommandOutput:
        del arguments
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self._all.wait(WAIT)
        with self._lock:
            self.now -= 1
        return CommandOutput(0)


def together(*works: Callable[[], object]) -> None:
    """Each in a thread, to their ends."""
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("jobs", [1, 3, MANAGE_JOBS])
def test_as_many_run_as_may_and_no_more(jobs: int) -> None:
    run = Counting(jobs)
    manage = Manage(run, jobs)
    together(*[lambda: manage.set_properties("x", {MODEL: "virtio"})] * (3 * jobs))
    assert run.most == jobs


def test_one_that_waits_for_others_has_not_begun() -> None:
    """Else the time in which it may come late would be over when it starts."""
    started, go = threading.Event(), threading.Event()
    begun: list[str] = []

    def run(arguments: Sequence[str]) -> CommandOutput:
        del arguments
        started.set()
        assert go.wait(WAIT)
        return CommandOutput(0)

    manage = Manage(run, 1)
    first = threading.Thread(
        target=lambda: manage.set_properties("x", {}, lambda: begun.append("first"))
    )
    second = threading.Thread(
        target=lambda: manage.set_properties("y", {}, lambda: begun.append("second"))
    )
    first.start()
    assert started.wait(WAIT)
    second.start()
    second.join(0.2)
    assert begun == ["first"]
    go.set()
    first.join(WAIT)
    second.join(WAIT)
    assert begun == ["first", "second"]


def test_what_cannot_be_noted_is_not_run() -> None:
    asked: list[object] = []

    def run(arguments: Sequence[str]) -> CommandOutput:
        asked.append(arguments)
        return CommandOutput(0)

    def begins() -> None:
        raise OSError("no space left on device")

    manage = Manage(run, 1)
    with pytest.raises(OSError, match="no space left"):
        manage.set_properties("x", {MODEL: "virtio"}, begins)
    assert asked == []
    manage.set_properties("x", {MODEL: "virtio"})
    assert len(asked) == 1


def booted(world: CloudWorld) -> tuple[Step, ...]:
    """Steps for servers that all run."""
    for server in world.servers:
        server.boot()
    return tuple(server_step(server) for server in world.servers)


def test_servers_of_a_batch_are_set_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = installed(CloudWorld(tmp_path, 4), monkeypatch)
    real, meet = world.manage, threading.Barrier(4)

    def manage(arguments: Sequence[str]) -> CommandOutput:
        if "set" in arguments:
            meet.wait(WAIT)  # broken where fewer than four run at once
        return real(arguments)

    world.reach = CloudAccess(manage, jobs=4)
    done = world.apply(booted(world), world.context("restart", canary=0, batch=4))
    assert [unit.outcome for unit in done.run.steps] == ["applied"] * 4
    assert [server.model for server in world.servers] == ["virtio"] * 4


def test_the_end_of_one_is_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is refused, one loses its connection, two are set."""
    world = installed(CloudWorld(tmp_path, 4), monkeypatch)
    real, meet = world.manage, threading.Barrier(4)
    refused, lost = world.servers[1].id, world.servers[2].id
    turns: dict[str, int] = {}

    def manage(arguments: Sequence[str]) -> CommandOutput:
        if "set" not in arguments:
            return real(arguments)
        server = arguments[2]
        turns[server] = turns.get(server, 0) + 1
        if turns[server] == 1:
            meet.wait(WAIT)
        if server == refused:
            return CommandOutput(6, "Field value is invalid")
        if server == lost:
            raise LOST
        return real(arguments)

    world.reach = CloudAccess(manage, jobs=4)
    context = world.context("restart", canary=0, batch=4, max_failures=9)
    done = world.apply(booted(world), context)
    units = done.run.steps
    assert [units[number].outcome for number in (0, 3)] == ["applied"] * 2
    assert "ended with 6" in units[1].message
    assert "the connection was lost" in units[2].message
    assert [server.model for server in world.servers] == ["virtio", "rtl8139", "rtl8139", "virtio"]
    assert all(server.vm_state == "active" for server in world.servers)


class Life(CloudWorld):
    """Ends the program in each thread where it comes to that place, in its first life."""

    place = ""

    def passing(self, place: str) -> None:
        super().passing(place)
        if place == self.place:
            raise Killed(place)


@pytest.mark.parametrize("jobs", [1, 2, 4])
@pytest.mark.parametrize("place", PLACES)
def test_killed_with_several_at_work_and_carried_on(
    place: str, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Life(tmp_path, 4)
    installed(world, monkeypatch)
    steps = booted(world)
    world.reach, world.place = CloudAccess(world.manage, jobs=jobs), place
    context = world.context("restart", canary=0, batch=4, max_failures=9)
    with pytest.raises(Killed):
        world.apply(steps, context)
    world.place = ""
    done = world.apply(steps, context)
    world.clock.sleep(600)
    assert [unit.outcome for unit in done.run.steps] == ["applied"] * 4
    assert [server.model for server in world.servers] == ["virtio"] * 4
    assert [server.requested.get(MODEL) for server in world.servers] == ["virtio"] * 4


@pytest.mark.parametrize("jobs", [1, 4])
def test_those_that_come_late_are_waited_for_one_by_one(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = installed(CloudWorld(tmp_path, 3), monkeypatch)
    steps = booted(world)
    world.reach = CloudAccess(world.manage, jobs=jobs)
    world.faults["set"] = Fault(LOST, "before", None)
    context = world.context("restart", canary=0, batch=3, max_failures=9)
    done = world.apply(steps, context)
    assert not any(unit.outcome == "applied" for unit in done.run.steps)
    world.clock.sleep(600)
    assert [server.model for server in world.servers] == ["rtl8139"] * 3


def test_each_call_has_a_connection_of_its_own(tmp_path: Path) -> None:
    """Three that wait for each other: over one connection none would end."""
    script = tmp_path / "nova-manage"
    script.write_text(
        f'#!/bin/sh\ntouch "{tmp_path}/$1"\n'
        f'while ! [ -e "{tmp_path}/a" -a -e "{tmp_path}/b" -a -e "{tmp_path}/c" ]; do sleep 0.05; '
        'done\necho "$1"\n'
    )
    script.chmod(0o755)
    controller = open_controller("local", (str(script),), WAIT)
    said: dict[str, str] = {}

    def call(name: str) -> None:
        said[name] = controller((name,)).text.strip()

    try:
        together(*(partial(call, name) for name in "abc"))
        assert said == {"a": "a", "b": "b", "c": "c"}
    finally:
        controller.close()
    with pytest.raises(ActionError, match="the connection was closed"):
        controller(("a",))
