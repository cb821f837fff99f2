"""Somebody else is at work on the same server, or deletes it, in the middle of a run."""

import pytest
from msgspec.structs import replace

from tests.remedy.applying.clouds.conftest import MakeCloud
from tests.remedy.applying.clouds.fakes import MODEL, CloudWorld, Fault, server_step
from tests.remedy.applying.fakes import Killed
from vnicaudit.errors import ActionError
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.state import StateFolder

LATER = 1000.0


def test_two_operators_with_a_state_folder_each(world: CloudWorld) -> None:
    """The second begins while the first has the server off."""
    (server,) = world.servers
    server.boot()
    steps = (server_step(server),)
    context = world.context("restart")
    other = replace(context, state=StateFolder(str(world.folder / "other")))
    second: list[RunRecord] = []

    def look() -> None:
        if server.vm_state == "stopped" and not second:
            world.looks.clear()
            second.append(world.apply(steps, other).run)

    world.looks.append(look)
    (unit,) = world.apply(steps, context).run.steps
    (refused,) = second[0].steps
    assert (refused.outcome, refused.codes) == ("refused", ("power",))
    back = f"openstack --os-cloud test server start {server.id} and repeat the command"
    assert back in refused.message
    assert (unit.outcome, server.model) == ("applied", "virtio")
    assert (world.calls.count("stop"), world.calls.count("set")) == (1, 1)


@pytest.mark.parametrize("when", range(1, 12))
def test_somebody_stops_it_before_the_run_does(world: CloudWorld, when: int) -> None:
    """It is theirs, and not started; once the run has stopped it, it is the run's."""
    (server,) = world.servers
    server.boot()
    looks = iter(range(1000))

    def look() -> None:
        if next(looks) == when and server.vm_state == "active" and server.task_state is None:
            server.stop()

    world.looks.append(look)
    (unit,) = world.apply((server_step(server),), world.context("restart")).run.steps
    world.clock.sleep(LATER)
    server.catch_up()
    if unit.outcome == "refused":
        assert unit.message.startswith("somebody else stopped it meanwhile, or another run is")
        assert (server.vm_state, server.kept[MODEL]) == ("stopped", "rtl8139")
        assert not {"set", "start", "hard_reboot"} & set(world.calls)
    else:
        assert server.vm_state == "active"


def test_what_somebody_stopped_since_it_was_begun_is_theirs(world: CloudWorld) -> None:
    (server,) = world.servers
    server.boot()
    world.kill_when = "behind line begin", 1
    with pytest.raises(Killed):
        world.apply((server_step(server),), world.context("restart"))
    world.kill_when = "", 1
    server.stop()
    world.clock.sleep(LATER)
    (unit,) = world.apply((server_step(server),), world.context("restart")).run.steps
    server.catch_up()
    assert (unit.outcome, unit.codes) == ("refused", ("power",))
    assert (server.vm_state, server.kept[MODEL]) == ("stopped", "rtl8139")


def test_what_was_never_stopped_is_not_started_when_it_is_taken_back(world: CloudWorld) -> None:
    (server,) = world.servers
    server.boot()
    looks = iter(range(1000))

    def look() -> None:
        if next(looks) == 1:
            raise KeyboardInterrupt

    world.looks.append(look)
    with pytest.raises(KeyboardInterrupt):
        world.apply((server_step(server),), world.context("restart"))
    server.stop()
    world.clock.sleep(LATER)
    (went,) = world.rollback(world.context("restart"))
    assert went.run.steps[0].outcome == "rolled-back"
    server.catch_up()
    assert server.vm_state == "stopped"


def test_one_that_was_left_off_is_started_though_its_volume_is_not_shown(
    world: CloudWorld,
) -> None:
    """It is off for an earlier run of this: to have it run counts more."""
    (server,) = world.servers
    server.boot()
    steps = (server_step(server),)
    server.wont_start = lambda: True
    world.apply(steps, world.context("restart"))
    assert server.vm_state == "error"
    server.wont_start = lambda: False
    world.faults["volumes"] = Fault(ActionError("Cinder knows no volume 1"), "before", None)
    (unit,) = world.apply(steps, world.context("restart")).run.steps
    assert (unit.outcome, server.model) == ("applied", "virtio")


@pytest.mark.parametrize("says_kept", [True, False])
@pytest.mark.parametrize("when", range(16))
def test_it_is_deleted_in_the_middle(make_cloud: MakeCloud, when: int, *, says_kept: bool) -> None:
    """Nothing is left to do, nothing to try again, and the run goes on to the next server."""
    world = make_cloud(2)
    world.says_kept = says_kept
    first, second = world.servers
    for server in world.servers:
        server.boot()
    looks = iter(range(1000))

    def look() -> None:
        if next(looks) == when:
            first.deleted = True

    world.looks.append(look)
    steps = tuple(server_step(server) for server in world.servers)
    done = world.apply(steps, world.context("restart"))
    unit, other = done.run.steps
    assert done.run.outcome == "done"
    assert (unit.outcome == "gone") is (unit.outcome != "applied")
    assert (unit.outcome == "gone") or when > 8
    if unit.outcome == "gone":
        assert unit.message == f"server {first.id} no longer exists: there is nothing left to do"
    assert (other.outcome, second.model) == ("applied", "virtio")
    assert {run.outcome for run in runs(str(world.folder))} == {"done"}


def test_it_is_deleted_while_a_run_is_away(world: CloudWorld) -> None:
    """Its program was ended; neither of the two commands has anything to do then."""
    (server,) = world.servers
    server.boot()
    world.interrupt_while_off(server)
    steps = (server_step(server),)
    with pytest.raises(KeyboardInterrupt):
        world.apply(steps, world.context("restart"))
    server.deleted = True
    (went,) = world.rollback(world.context("restart"))
    assert went.run.steps[0].outcome == "gone"
    assert world.apply(steps, world.context("restart")).run.steps[0].outcome == "gone"


def test_another_cloud_is_not_one_in_which_all_were_deleted(make_cloud: MakeCloud) -> None:
    world = make_cloud(2)
    world.elsewhere = True
    steps = tuple(server_step(server) for server in world.servers)
    done = world.apply(steps, world.context("restart"))
    assert [unit.outcome for unit in done.run.steps] == ["refused", "refused"]
    assert done.run.outcome == "failed"
    assert world.calls == []


@pytest.mark.parametrize("way", ["apply", "rollback"])
def test_a_run_is_carried_on_in_another_cloud(world: CloudWorld, way: str) -> None:
    """The server is off for it: that is said, and the same command in the right cloud starts it."""
    (server,) = world.servers
    server.boot()
    steps, context = (server_step(server),), world.context("restart")
    world.interrupt_while_off(server)
    with pytest.raises(KeyboardInterrupt):
        world.apply(steps, context)
    world.elsewhere = True
    done = world.apply(steps, context) if way == "apply" else world.rollback(context)[0]
    (unit,) = done.run.steps
    assert (unit.outcome, done.run.outcome) == ("failed", "failed")
    unknown = f"Nova knows no server {server.id}"
    undo = "not everything could be undone: "
    reasons = {"apply": f"{unknown}; {undo}", "rollback": f"rolled back; {undo}{unknown}; "}
    by_hand = f"openstack --os-cloud test server start {server.id}"
    assert unit.message == (
        f"{reasons[way]}it was running before and may be off now; to start it by hand: "
        f"{by_hand} (to try again, repeat the command or use vnicaudit rollback on "
        "this run)"
    )
    world.elsewhere = False
    (again,) = world.apply(steps, context).run.steps
    assert (again.outcome, server.model) == ("applied", "virtio")
