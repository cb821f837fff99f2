"""One guest that did not shut down ended the rollback of all others, and so did a host that did
not answer: one is reported with the command that ends it, the others are rolled back, and the same
command goes on with what is left."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.inside import run_here as run_command
from tests.remedy.applying.conftest import MakeWorld
from tests.remedy.applying.fakes import Killed, World
from tests.remedy.applying.test_host_by_host import Fleet
from vnicaudit.errors import NoResponseError, TargetError
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.apply import RunContext
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.pruning import recover
from vnicaudit.remedy.applying.rollback import RollbackSelection, dry_run_rollback
from vnicaudit.remedy.applying.runner import RunResult

Capture = pytest.CaptureFixture[str]


class Hosts(Fleet):
    """Three hosts with two guests each, changed by one plan without being called a fleet. ``deaf``:
    the number of the guest of which libvirt says nothing any more, from the call ``deaf_at`` on."""

    deaf, deaf_at = 0, ""
    error: type[Exception] = NoResponseError

    def plain_context(self, mode: Mode = "restart") -> RunContext:
        return self.context(mode, canary=0)

    def applied(self, mode: Mode = "restart") -> str:
        """The run that changed them all."""
        self.apply(self.steps, self.plain_context(mode))
        return runs(str(self.folder))[-1].id

    def passing(self, place: str) -> None:
        super().passing(place)
        if not self.deaf or place != f"before {self.deaf_at}":
            return
        if self.calls[-1] == (f"guest-{self.deaf}", self.deaf_at):
            raise self.error(f"libvirt did not answer when asked to {self.deaf_at}")


def outcomes(went: RunResult) -> dict[str, str]:
    """Number of a guest -> what became of it."""
    return {unit.name.removeprefix("guest-"): unit.outcome for unit in went.run.steps}


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    made = Hosts(tmp_path)
    monkeypatch.setattr("os.fsync", lambda _descriptor: None)
    return made


def as_before(world: World, *, but: tuple[int, ...] = ()) -> bool:
    return all(
        (machine.persistent == before) == (number not in but)
        for number, (machine, before) in enumerate(
            zip(world.machines, world.before, strict=True), 1
        )
    )


def test_a_deaf_guest_is_told_with_the_command_that_ends_it(
    make_world: MakeWorld, capsys: Capture
) -> None:
    world = make_world(4)
    for machine in world.machines:
        machine.boot()
    world.apply(world.steps, world.context("restart"))
    (run,) = runs(str(world.folder))
    world.machines[2].deaf = True
    rollback = ["rollback", run.id, "--yes", "--state", str(world.folder)]
    assert run_command([*rollback, "VNICAUDIT_GUEST_DEADLINE=8"], world.wiring) == 5
    (back, _) = runs(str(world.folder))
    assert [(unit.name, unit.outcome) for unit in back.steps] == [
        ("guest-4", "applied"), ("guest-3", "failed"), ("guest-2", "applied"),
        ("guest-1", "applied"),
    ]  # fmt: skip
    assert as_before(world, but=(3,))
    deaf = back.steps[1]
    command = (
        f"vnicaudit rollback {run.id} --domain guest-3 --mode restart --force-off "
        f"--state {world.folder}"
    )
    assert deaf.message == (
        "the guest did not shut down within 8 s; if it does so later, it stays off until it is "
        f"started; the change is back in it (to try again: {command})"
    )
    shown = capsys.readouterr()
    assert "guest-3: failed\n" in shown.err  # why is told once
    assert shown.out.count(command) == 1

    assert run_command([*shlex.split(command)[1:], "--yes"], world.wiring) == 0
    assert as_before(world)
    assert all(machine.at_work == {machine.macs[0]: "e1000"} for machine in world.machines)


def test_a_rollback_has_no_budget(make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one that the environment sets for runs."""
    monkeypatch.setenv("VNICAUDIT_CANARY", "2")
    monkeypatch.setenv("VNICAUDIT_MAX_FAILURES", "0")
    world = make_world(5)
    world.apply(world.steps, world.context())
    (run,) = runs(str(world.folder))
    for machine in world.machines[2:]:
        machine.refuses["define"] = "libvirt says no"
    words = ["rollback", run.id, "--yes", "--state", str(world.folder)]
    assert run_command(words, world.wiring) == 5
    (back, _) = runs(str(world.folder))
    assert [unit.outcome for unit in back.steps] == ["failed"] * 3 + ["applied"] * 2


def test_what_could_not_be_rolled_back_is_tried_again_by_the_command(world: World) -> None:
    """Its definition is back, and it still runs with the NIC of the change: it is deaf now."""
    (machine,) = world.machines
    machine.boot()
    world.apply(world.steps, world.context("restart"))
    machine.driverless = False
    machine.refuses["start"] = "no resources"
    (back,) = world.rollback(world.context("restart"))
    (unit,) = back.run.steps
    assert unit.outcome == "failed"
    run = runs(str(world.folder))[-1].id
    assert f"(to try again: vnicaudit rollback {run} --domain guest-1 --mode restart " in (
        unit.message
    )


@pytest.mark.parametrize("deaf_at", ["define", "shut_down", "start"])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_host_that_falls_silent_keeps_no_other_as_it_was(
    hosts: Hosts, deaf_at: str, batch: int
) -> None:
    run = hosts.applied()
    hosts.deaf, hosts.deaf_at = 4, deaf_at
    context = replace(
        hosts.plain_context(), schedule=replace(hosts.plain_context().schedule, batch=batch)
    )
    (back,) = hosts.rollback(context, run=run)
    assert outcomes(back) == {
        "6": "applied", "5": "applied", "4": "unfinished", "3": "applied", "2": "applied",
        "1": "applied",
    }  # fmt: skip
    assert (back.silent, back.stopped) == (True, f"libvirt did not answer when asked to {deaf_at}")
    hosts.deaf = 0
    (back,) = hosts.rollback(context, run=run)
    assert set(outcomes(back).values()) == {"applied"}
    assert as_before(hosts)
    assert all(machine.at_work == {machine.macs[0]: "e1000"} for machine in hosts.machines)
    assert len(runs(str(hosts.folder))) == 2


@pytest.mark.parametrize("deaf_at", ["define", "start"])
def test_a_mistake_of_ours_is_raised_when_all_others_are_undone(hosts: Hosts, deaf_at: str) -> None:
    run = hosts.applied()
    hosts.deaf, hosts.deaf_at, hosts.error = 5, deaf_at, KeyError
    with pytest.raises(KeyError):
        hosts.rollback(hosts.plain_context(), run=run)
    (back, _) = runs(str(hosts.folder))
    assert [unit.outcome for unit in back.steps] == [
        "applied", "unfinished", "applied", "applied", "applied", "applied",
    ]  # fmt: skip
    hosts.deaf = 0
    hosts.rollback(hosts.plain_context(), run=run)
    assert as_before(hosts)


def test_a_host_that_is_down_keeps_no_other_as_it_was(hosts: Hosts) -> None:
    run = hosts.applied()
    hosts.hosts[1].is_down = True
    seen = dry_run_rollback(run, RollbackSelection(), hosts.plain_context())
    expected = ["applied", "applied", "refused", "refused", "applied", "applied"]
    assert [one.outcome.replace("would-change", "applied") for one in seen] == expected
    (back,) = hosts.rollback(hosts.plain_context(), run=run)
    assert list(outcomes(back).values()) == expected
    assert as_before(hosts, but=(3, 4))
    hosts.hosts[1].is_down = False
    hosts.rollback(hosts.plain_context(), run=run)
    assert as_before(hosts)


def test_where_no_host_can_be_reached_nothing_is_begun(hosts: Hosts) -> None:
    run = hosts.applied()
    for host in hosts.hosts:
        host.is_down = True
    with pytest.raises(TargetError, match="no route to host"):
        hosts.rollback(hosts.plain_context(), run=run)
    assert len(runs(str(hosts.folder))) == 1


def killed(work: Callable[[], object], world: World, place: str, number: int) -> None:
    world.passed.clear()
    world.kill_when = place, number
    with pytest.raises(Killed):
        work()
    world.kill_when = "", 1


def test_what_is_half_done_on_a_host_that_is_down_keeps_nothing_that_was_done(
    tmp_path: Path,
) -> None:
    with Hosts(tmp_path).watched() as hosts:
        assert isinstance(hosts, Hosts)
        killed(hosts.applied, hosts, "behind line begin", 4)
        run = runs(str(hosts.folder))[0].id
        hosts.hosts[1].is_down = True
        middle, back = hosts.rollback(hosts.plain_context(), run=run)
        assert outcomes(middle)["4"] == "unfinished"
        assert outcomes(back) == {"3": "refused", "2": "applied", "1": "applied"}
        hosts.hosts[1].is_down = False
        hosts.rollback(hosts.plain_context(), run=run)
        assert as_before(hosts)


@pytest.mark.parametrize("fleet", [False, True])
def test_a_rollback_goes_on_though_it_left_something_half_done_on_a_host_that_is_down(
    tmp_path: Path, fleet: bool
) -> None:
    with Hosts(tmp_path).watched() as hosts:
        assert isinstance(hosts, Hosts)
        context = replace(hosts.plain_context(), host_by_host=fleet)
        hosts.apply(hosts.steps, context)
        run = runs(str(hosts.folder))[0].id
        killed(lambda: hosts.rollback(context, run=run), hosts, "behind line begin", 3)
        hosts.hosts[1].is_down = True
        (back,) = hosts.rollback(context, run=run)
        assert outcomes(back) == {
            "6": "applied", "5": "applied", "4": "unfinished", "3": "refused", "2": "applied",
            "1": "applied",
        }  # fmt: skip
        hosts.hosts[1].is_down = False
        hosts.rollback(context, run=run)
        hosts.rollback(context, run=run)
        assert as_before(hosts)


def test_all_that_is_half_done_is_undone_but_what_does_not_answer(
    tmp_path: Path,
) -> None:
    """Three were changed at once when the program was killed."""
    with Hosts(tmp_path).watched() as hosts:
        assert isinstance(hosts, Hosts)
        context = hosts.plain_context()
        for step in (0, 2, 4):  # one after the other, as nothing else is told by a fake
            killed(
                lambda: hosts.apply((hosts.steps[step],), context, b"%d" % step),  # noqa: B023
                hosts, "before start", 1,
            )  # fmt: skip
        hosts.deaf, hosts.deaf_at = 3, "start"
        recovered = list(recover(context, lambda _name, _text: None))
        assert [one.is_well for one in recovered] == [True, False, True]
        assert [machine.active for machine in hosts.machines] == [True, True, False] + [True] * 3


def test_another_run_that_is_half_done_keeps_only_its_own_guest(hosts: Hosts) -> None:
    with hosts.watched():
        run = hosts.applied("next-boot")
        hosts.before, before = [machine.persistent for machine in hosts.machines], hosts.before
        text = hosts.machines[1].persistent
        hosts.machines[1].persistent = text.replace(b"'virtio'", b"'e1000'")
        killed(
            lambda: hosts.apply((hosts.steps[1],), hosts.plain_context("next-boot"), b"other"),
            hosts, "behind define", 1,
        )  # fmt: skip
        (back,) = hosts.rollback(hosts.plain_context("next-boot"), run=run)
        found = outcomes(back)
        assert found.pop("2") == "refused"
        assert set(found.values()) == {"applied"}
        hosts.before = before
        assert as_before(hosts, but=(2,))
