"""Whatever goes wrong, a server that ran before a run runs after it, or after the next one."""

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.remedy.applying.clouds.fakes import (
    BROKEN,
    CONFLICT,
    FLAVOR,
    MODEL,
    SILENT,
    CloudWorld,
    Fault,
    Server,
    flavor_step,
    image_step,
    installed,
    server_step,
)
from tests.remedy.applying.fakes import Killed
from vnicaudit.errors import UsageError
from vnicaudit.model.runs import FlavorState, UnitRun
from vnicaudit.remedy.applying.clouds.transaction import EarlierRuns
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.runner import RunResult
from vnicaudit.remedy.hypervisor import CloudAccess, CommandOutput

LATER = 1000.0
ERRORS: dict[str, Exception] = {"500": BROKEN, "409": CONFLICT, "silent": SILENT}
API = ["server", "stop", "start", "hard_reboot", "ports", "sent", "volumes"]
MANAGE = ["show", "set", "version"]
ENDINGS = ["before", "between", "behind"]
LOST = CommandOutput(255, "", "client_loop: send disconnect: Broken pipe")


class Cloud:
    """One server that runs, and the plan for it."""

    def __init__(self, world: CloudWorld) -> None:
        self.world = world
        self.server: Server = world.servers[0]
        self.server.boot()
        self.step = server_step(self.server)

    def apply(self) -> tuple[RunResult, UnitRun]:
        """How it went."""
        done = self.world.apply((self.step,), self.world.context("restart"))
        (unit,) = done.run.steps
        return done, unit

    def rollback(self) -> None:
        """Take the first run back."""
        self.world.rollback(self.world.context("restart"))

    def check(self, *models: str) -> None:
        """It runs, as what is kept says, and Nova has nothing more to do."""
        self.world.clock.sleep(LATER)
        assert self.server.model in models
        assert self.server.kept[MODEL] == self.server.model
        assert self.server.requested[MODEL] == self.server.model
        assert self.server.task_state is None


@pytest.fixture
def cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cloud:
    """In which nothing is wrong yet."""
    return Cloud(installed(CloudWorld(tmp_path), monkeypatch))


@pytest.mark.parametrize("resume", ["apply", "rollback"])
@pytest.mark.parametrize("first", [1, 2, 4])
@pytest.mark.parametrize("times", [1, 3, None], ids=["once", "thrice", "for good"])
@pytest.mark.parametrize("ending", ["before", "behind"])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("call", API)
def test_the_api_fails(
    cloud: Cloud, call: str, error: str, ending: str, times: int | None, first: int, resume: str
) -> None:
    """Once, for a while, and until somebody puts it right."""
    world = cloud.world
    world.faults[call] = Fault(ERRORS[error], ending, times, first)  # type: ignore[arg-type]
    done, unit = cloud.apply()
    if times is not None and done.run.outcome != "unfinished":
        cloud.check("rtl8139", "virtio")
    if cloud.server.model is None:  # then it is said what to do
        assert f"openstack --os-cloud test server start {cloud.server.id}" in unit.message
    world.faults.clear()
    if resume == "apply":
        assert cloud.apply()[1].outcome in ("applied", "already")
        cloud.check("virtio")
    elif unit.outcome != "applied":
        if done.run.outcome == "unfinished" or "not everything could be undone" in unit.message:
            cloud.rollback()
        cloud.check("rtl8139")
    assert [run for run in runs(str(world.folder)) if run.outcome == "unfinished"] == []


HALF = CommandOutput(1, "Unexpected error, see nova-manage.log for the full trace: x\n")
ENDS = [CommandOutput(code) for code in (1, 2, 4, 5, 6, 127, 137, 255)] + [LOST, HALF]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("call", "said"),
    [*((call, said) for call in MANAGE for said in ENDS), ("set", CommandOutput(3))],
)
def test_nova_manage_ends_badly(cloud: Cloud, call: str, said: CommandOutput, ending: str) -> None:
    """Before, in the middle of and behind what it does; for good: nothing can be set back either.
    What is read says nothing of the request specification."""
    cloud.world.faults[call] = Fault(said, ending, None)  # type: ignore[arg-type]
    _done, unit = cloud.apply()
    assert unit.outcome == "failed"
    assert f"ended with {said.code}" in unit.message
    half = call == "set" and ending != "before"
    assert ("not everything could be undone" in unit.message) is half
    cloud.check("rtl8139")
    stopped = "stop" in cloud.world.calls
    assert stopped is (call == "set"), "no server is stopped where nova-manage does not work"


@pytest.mark.parametrize("resume", ["apply", "rollback"])
@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize(
    ("said", "ending"),
    [
        *(
            (said, ending)
            for said in (CommandOutput(1), HALF, CommandOutput(137), LOST)
            for ending in ENDINGS
        ),
        *((CommandOutput(code), "before") for code in (2, 127)),
    ],
)
@pytest.mark.parametrize("driverless", [True, False])
def test_nova_manage_ends_badly_for_a_while(
    cloud: Cloud, said: CommandOutput, ending: str, times: int, resume: str, *, driverless: bool
) -> None:
    """It is set until it ends with 0, in this run or the next."""
    cloud.server.driverless = driverless
    first = 2 if driverless else 1
    cloud.world.faults["set"] = Fault(said, ending, times, first)  # type: ignore[arg-type]
    _done, unit = cloud.apply()
    cloud.world.clock.sleep(LATER)
    assert cloud.server.vm_state == "active"
    if unit.outcome == "applied" or "not everything could be undone" not in unit.message:
        cloud.check("virtio" if unit.outcome == "applied" else "rtl8139")
    cloud.world.faults.clear()
    cloud.server.driverless = False
    if resume == "apply":
        assert cloud.apply()[1].outcome in ("applied", "already")
        cloud.check("virtio")
    elif unit.outcome == "applied" or "not everything could be undone" in unit.message:
        cloud.rollback()
        cloud.check("rtl8139")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("said", [HALF, LOST])
def test_a_set_that_ends_in_doubt_is_done_again(
    cloud: Cloud, said: CommandOutput, ending: str
) -> None:
    cloud.world.faults["set"] = Fault(said, ending, 1)  # type: ignore[arg-type]
    assert cloud.apply()[1].outcome == "applied"
    assert cloud.world.calls.count("set") == 2
    cloud.check("virtio")


def test_what_never_came_is_no_doubt_of_later_runs(cloud: Cloud) -> None:
    """It would be stopped for nothing."""
    cloud.world.faults["set"] = Fault(LOST, "before", None)
    _done, unit = cloud.apply()
    assert re.search(
        r"; nothing was changed; the server was off for it, \d+ s from stop to start$", unit.message
    )
    assert not EarlierRuns("server", StateFolder(str(cloud.world.folder))).in_doubt


def test_a_set_by_half_that_cannot_be_put_back_is_made_whole_by_the_next_run(cloud: Cloud) -> None:
    """It shows what was wanted, so that nobody would set it again for what is read."""
    world = cloud.world
    world.faults["set"] = Fault(HALF, "between", None)
    world.faults["show"] = Fault(LOST, "before", None, 2)
    _done, unit = cloud.apply()
    assert "not everything could be undone" in unit.message
    assert (cloud.server.kept[MODEL], cloud.server.requested[MODEL]) == ("virtio", "rtl8139")
    state = StateFolder(str(world.folder))
    assert EarlierRuns("server", state).in_doubt == {cloud.server.id}
    world.faults.clear()
    assert cloud.apply()[1].outcome == "applied"
    cloud.check("virtio")
    assert cloud.apply()[1].outcome == "already"


def test_what_was_not_set_and_was_put_back_by_half_is_put_back_whole(cloud: Cloud) -> None:
    """What the way back sets is neither what it was before nor what was wanted."""
    del cloud.server.kept[MODEL]
    cloud.step = server_step(cloud.server)
    cloud.server.driverless = True
    cloud.world.faults["set"] = Fault(SILENT, "between", first=2)
    done, _unit = cloud.apply()
    assert done.run.outcome == "unfinished"
    assert (cloud.server.kept[MODEL], cloud.server.requested[MODEL]) == ("rtl8139", "virtio")
    cloud.rollback()
    cloud.check("rtl8139")


def test_what_an_earlier_run_left_in_doubt_is_not_put_back_for_it(cloud: Cloud) -> None:
    """It shows what it showed before: it is not stopped again where this run has set nothing."""
    cloud.server.driverless = True
    cloud.world.faults["set"] = Fault(HALF, "between", 2, first=2)
    assert "not everything could be undone" in cloud.apply()[1].message
    cloud.world.faults["stop"] = Fault(CONFLICT, "before", None)
    _done, unit = cloud.apply()
    assert "; nothing was changed" in unit.message
    assert cloud.server.model == "rtl8139"


@pytest.mark.parametrize("seconds", [10.0, 30.0, 100.0, 170.0])
def test_a_nova_manage_whose_end_was_not_seen_comes_late(cloud: Cloud, seconds: float) -> None:
    """The connection was lost, and it is at work for as long as one may take."""
    world = cloud.world
    world.faults["set"] = Fault(LOST, "before", None)
    real = world.manage

    def manage(arguments: Sequence[str]) -> CommandOutput:
        if "set" in arguments and "set" not in world.calls:
            cloud.server.later(seconds, lambda: cloud.server.keep({MODEL: "virtio"}))
        return real(arguments)

    world.reach = CloudAccess(manage)
    _done, unit = cloud.apply()
    assert unit.outcome == "failed"
    assert "not everything could be undone" in unit.message
    if seconds > 20:
        assert (
            "a nova-manage call with unknown result took effect later: hw_vif_model is virtio"
        ) in (unit.message)
    world.faults.clear()
    cloud.rollback()
    cloud.check("rtl8139")


@pytest.mark.parametrize("seconds", [5.0, 60.0, 180.0])
def test_one_whose_end_was_not_seen_is_waited_out_for_as_long_as_one_may_take(
    cloud: Cloud, seconds: float
) -> None:
    cloud.world.faults["set"] = Fault(LOST, "before", None)
    began = cloud.world.clock.seconds
    context = cloud.world.context("restart", manage_seconds=seconds)
    (unit,) = cloud.world.apply((cloud.step,), context).run.steps
    assert "; nothing was changed" in unit.message
    took = cloud.world.clock.seconds - began
    assert max(seconds, 15) <= took < seconds + 60
    off = re.search(r"was off for it, (\d+) s", unit.message)
    assert off is not None
    assert int(off.group(1)) < min(seconds, 20) + 15


@pytest.mark.parametrize("says_kept", [True, False])
def test_the_controller_dies_between_stop_and_set(cloud: Cloud, *, says_kept: bool) -> None:
    cloud.world.says_kept = says_kept
    _dying_at(cloud, "set")
    _done, unit = cloud.apply()
    assert unit.outcome == "failed"
    cloud.check("rtl8139")
    _living(cloud)
    assert cloud.apply()[1].outcome == "applied"
    cloud.check("virtio")


@pytest.mark.parametrize("says_kept", [True, False])
def test_the_controller_dies_and_the_guest_has_no_driver(cloud: Cloud, *, says_kept: bool) -> None:
    """The property cannot be put back; the server is not stopped for nothing, and said."""
    cloud.world.says_kept = says_kept
    cloud.server.driverless = True
    cloud.world.looks.append(lambda: _dying_at(cloud, "all") if cloud.server.running.get(MODEL)
                             == "virtio" else None)  # fmt: skip
    _done, unit = cloud.apply()
    assert unit.outcome == "failed"
    assert "not everything could be undone" in unit.message
    cloud.check("virtio")
    assert cloud.world.calls.count("stop") == 1

    cloud.world.looks.clear()
    _living(cloud)
    cloud.rollback()
    cloud.check("rtl8139")


def _dying_at(cloud: Cloud, *calls: str) -> None:
    for call in MANAGE if calls == ("all",) else calls:
        cloud.world.faults[call] = Fault(LOST, "before", None)


def _living(cloud: Cloud) -> None:
    cloud.world.faults.clear()


def test_a_guest_without_a_driver_is_taken_back(cloud: Cloud) -> None:
    cloud.server.driverless = True
    _done, unit = cloud.apply()
    assert unit.outcome == "rolled-back"
    away = "the server was off for it, 22 s from stop to start"
    assert unit.message == f"{cloud.server.mac} has sent no packet yet; it was put back; {away}"
    cloud.check("rtl8139")


def test_a_server_that_crashes_with_it_is_taken_back(cloud: Cloud) -> None:
    cloud.server.crashes_with = "virtio"
    _done, unit = cloud.apply()
    assert unit.outcome == "rolled-back"
    assert unit.message == (
        "the server is SHUTOFF: it did not stay up; it was put back; the server was off for it, "
        "11 s from stop to start"
    )
    cloud.check("rtl8139")


def test_a_server_that_does_not_start_with_it_is_taken_back(cloud: Cloud) -> None:
    """It goes to ERROR by the hard reboot, and comes out of it by one."""
    cloud.server.wont_start = lambda: cloud.server.kept[MODEL] == "virtio"
    _done, unit = cloud.apply()
    assert unit.outcome == "failed"
    assert "could not be started: internal error: qemu unexpectedly closed the monitor" in (
        unit.message
    )
    away = "the server was off for it, 41 s from stop to start"
    assert unit.message.endswith(f"; it was put back; {away}")
    cloud.check("rtl8139")


@pytest.mark.parametrize("resume", ["apply", "rollback"])
def test_a_server_that_nobody_can_start_is_named_and_started_next_time(
    cloud: Cloud, resume: str
) -> None:
    cloud.server.wont_start = lambda: True
    _done, unit = cloud.apply()
    assert (unit.outcome, cloud.server.vm_state) == ("failed", "error")
    hint = f"openstack --os-cloud test server reboot --hard {cloud.server.id}"
    assert f"start it by hand: {hint}" in unit.message
    cloud.server.wont_start = lambda: False
    if resume == "apply":
        assert cloud.apply()[1].outcome == "applied"
        cloud.check("virtio")
    else:
        cloud.rollback()
        cloud.check("rtl8139")


def test_its_way_back_can_fail_and_be_taken_again(cloud: Cloud) -> None:
    cloud.apply()
    cloud.server.wont_start = lambda: cloud.server.kept[MODEL] == "rtl8139"
    (went,) = cloud.world.rollback(cloud.world.context("restart"))
    (unit,) = went.run.steps
    assert unit.outcome == "failed"
    cloud.check("virtio")
    cloud.server.wont_start = lambda: True
    cloud.rollback()
    assert cloud.server.model is None
    cloud.server.wont_start = lambda: False
    cloud.world.rollback(cloud.world.context("restart"), run=runs(str(cloud.world.folder))[-1].id)
    cloud.check("rtl8139")


def test_a_server_that_is_not_stopped_runs_on(cloud: Cloud) -> None:
    cloud.server.wont_stop = True
    _done, unit = cloud.apply()
    assert unit.outcome == "failed"
    assert unit.message == "Nova did not stop it: it is ACTIVE; nothing was changed"
    cloud.check("rtl8139")
    assert "set" not in cloud.world.calls


@pytest.mark.parametrize("hangs", [50.0, 100.0, 500.0])
def test_a_node_that_hangs(cloud: Cloud, hangs: float) -> None:
    """The server stays in its task: Nova lets nobody do anything with it then."""
    cloud.server.hangs = hangs
    _done, unit = cloud.apply()
    cloud.server.hangs = 0.0
    if hangs > 60:
        assert "Nova is still working on it (powering-off)" in unit.message
    cloud.world.clock.sleep(LATER)
    assert cloud.apply()[1].outcome in ("applied", "already")
    cloud.check("virtio")


SOMEBODY: dict[str, Callable[[Server], None]] = {
    "locks it": lambda one: setattr(one, "locked", True),
    "starts it": lambda one: one.start() if one.vm_state == "stopped" and not one.task_state
    else None,
    "sets it": lambda one: one.keep({MODEL: "e1000"}) if one.vm_state == "stopped"
    else None,
}  # fmt: skip


@pytest.mark.parametrize("admin", [True, False])
@pytest.mark.parametrize("what", SOMEBODY)
@pytest.mark.parametrize("when", range(1, 12))
def test_somebody_else_is_at_work(cloud: Cloud, what: str, when: int, *, admin: bool) -> None:
    """It runs at the end, or it is locked and that is said."""
    looks = iter(range(1000))
    cloud.world.admin = admin
    cloud.world.looks.append(lambda: SOMEBODY[what](cloud.server) if next(looks) == when else None)
    _done, unit = cloud.apply()
    cloud.world.looks.clear()
    cloud.world.clock.sleep(LATER)
    if cloud.server.model is None:
        assert (cloud.server.locked, admin) == (True, False)
        asked = {way: cloud.world.calls.count(way) for way in ("start", "hard_reboot")}
        assert asked in ({"start": 1, "hard_reboot": 0}, {"start": 2, "hard_reboot": 0}), (
            "once on the way there and once on the way back: Nova says it again however often"
        )
        assert f"server unlock {cloud.server.id}, then openstack" in unit.message
        cloud.server.locked = False
        cloud.apply()
    cloud.server.catch_up()
    assert cloud.server.vm_state == "active"
    if what == "sets it" and cloud.server.kept[MODEL] == "e1000":
        assert (
            "somebody else changed it in the meantime"
        ) in unit.message or unit.outcome == "refused"


def test_what_somebody_else_sets_while_it_is_off_stays(cloud: Cloud) -> None:
    def look() -> None:
        if cloud.server.vm_state == "stopped" and "set" not in cloud.world.calls:
            cloud.server.keep({MODEL: "e1000"})

    cloud.world.looks.append(look)
    _done, unit = cloud.apply()
    assert unit.outcome == "failed"
    assert unit.message == (
        "somebody else changed it in the meantime: hw_vif_model is e1000, not rtl8139; "
        "their change was kept; the server was off for it, 7 s from stop to start"
    )
    assert "set" not in cloud.world.calls
    cloud.check("e1000")


def test_a_server_is_not_stopped_again_for_what_somebody_else_set(cloud: Cloud) -> None:
    """Its guest has no driver, and by then it is another's."""
    cloud.server.driverless = True

    def look() -> None:
        if cloud.server.running.get(MODEL) == "virtio":
            cloud.server.kept[MODEL] = "e1000"

    cloud.world.looks.append(look)
    _done, unit = cloud.apply()
    assert unit.outcome == "failed"
    assert "hw_vif_model is e1000, not rtl8139; their change was kept" in unit.message
    assert cloud.world.calls.count("stop") == 1
    assert cloud.server.vm_state == "active"


def test_an_api_that_is_away_for_a_minute_is_waited_for(cloud: Cloud) -> None:
    """It is upgraded, say, while the server is off."""
    began: list[float] = []

    def look() -> None:
        if cloud.server.vm_state == "stopped" and not began:
            began.append(cloud.world.clock.seconds)
        if began and cloud.world.clock.seconds < began[0] + 45:
            raise SILENT

    cloud.world.looks.append(look)
    done, unit = cloud.apply()
    assert (done.stopped, unit.outcome) == ("", "applied")
    cloud.check("virtio")
    assert len(runs(str(cloud.world.folder))) == 1


@pytest.mark.parametrize("way", ["apply", "rollback"])
def test_a_server_that_its_owner_stops_afterwards_stays_off(cloud: Cloud, way: str) -> None:
    cloud.apply()
    cloud.server.stop()
    cloud.world.clock.sleep(LATER)
    if way == "rollback":
        cloud.rollback()
    else:
        cloud.server.kept[MODEL] = "rtl8139"
        assert cloud.apply()[1].outcome == "refused"
        cloud.step = server_step(cloud.server)
        assert cloud.apply()[1].outcome == "applied"
    cloud.world.clock.sleep(LATER)
    assert cloud.server.model is None
    assert cloud.server.kept[MODEL] == ("rtl8139" if way == "rollback" else "virtio")


def test_an_image_that_somebody_changes_in_the_middle_stays(cloud: Cloud) -> None:
    world = cloud.world
    step = image_step(world, {MODEL: "virtio"})
    world.kill_when = "behind line begin", 1
    with pytest.raises(Killed):
        world.apply((step,), world.context())
    world.kill_when = "", 1
    world.image[MODEL] = "e1000"
    (unit,) = world.apply((step,), world.context()).run.steps
    assert unit.outcome == "failed"
    assert "somebody else changed it in the meantime: hw_vif_model is e1000" in unit.message
    assert world.image[MODEL] == "e1000"


LATE = {"image": ("set_image", image_step), "flavor": ("copy_flavor", flavor_step)}


@pytest.mark.parametrize("kind", LATE)
@pytest.mark.parametrize("error", [SILENT, BROKEN], ids=["silent", "500"])
def test_what_comes_late_is_waited_for_and_taken_back(
    cloud: Cloud, kind: str, error: Exception
) -> None:
    """The cloud did not answer when it was asked for it, or a proxy before it had no patience; it
    does it when it has been seen that all is as before."""
    world = cloud.world
    before = dict(world.image), dict(world.flavors)
    call, made = LATE[kind]
    world.faults[call] = Fault(error, "before")

    def comes() -> None:
        if kind == "image":
            world.image[MODEL] = "virtio"
        else:
            (journal,) = world.folder.glob("runs/*/journal.jsonl")
            events = [json.loads(line)["event"] for line in journal.read_text().splitlines()]
            (copy,) = [event["id"] for event in events if event["event"] == "copying"]
            world.flavors[copy] = FlavorState(copy, "m1.small-multiqueue", {MODEL: "virtio"})

    if error is BROKEN:
        world.on_its_way = world.clock.seconds + 1, comes
    (unit,) = world.apply((made(world, {MODEL: "virtio"}),), world.context()).run.steps
    assert unit.outcome == ("unfinished" if error is SILENT else "failed")
    world.faults.clear()
    if error is SILENT:
        world.on_its_way = world.clock.seconds + 1, comes
        (went,) = world.rollback(world.context())
        assert went.run.steps[0].outcome == "rolled-back"
    assert world.on_its_way is None
    assert (world.image, world.flavors) == before


@pytest.mark.parametrize("kind", LATE)
def test_what_never_comes_is_waited_for_two_seconds(cloud: Cloud, kind: str) -> None:
    world = cloud.world
    call, made = LATE[kind]
    world.faults[call] = Fault(SILENT, "before")
    world.apply((made(world, {MODEL: "virtio"}),), world.context())
    world.faults.clear()
    began = world.clock.seconds
    (went,) = world.rollback(world.context())
    assert went.run.steps[0].outcome == "rolled-back"
    assert 2 <= world.clock.seconds - began < 3


def test_a_copy_that_nova_deletes_late_is_made_again(cloud: Cloud) -> None:
    """It was asked to when the copy was taken back, and did not answer; that is taken back too."""
    world = cloud.world
    world.apply((flavor_step(world, {MODEL: "virtio"}),), world.context())
    (copy,) = set(world.flavors) - {FLAVOR}
    made = dict(world.flavors)
    world.faults["delete_flavor"] = Fault(SILENT, "before")
    (went,) = world.rollback(world.context())
    assert went.run.steps[0].outcome == "unfinished"
    world.faults.clear()
    world.on_its_way = world.clock.seconds + 1, lambda: world.flavors.pop(copy)
    (again,) = world.rollback(world.context(), run=went.run.id)
    assert again.run.steps[0].outcome == "rolled-back"
    assert world.on_its_way is None
    assert world.flavors == made


@pytest.mark.parametrize("ending", ["before", "behind"])
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("call", ["image", "set_image", "flavor", "copy_flavor", "delete_flavor"])
def test_the_api_fails_over_an_image_or_a_flavor(
    cloud: Cloud, call: str, error: str, ending: str
) -> None:
    world = cloud.world
    before = dict(world.image), dict(world.flavors)
    steps = image_step(world, {MODEL: "virtio"}), flavor_step(world, {"hw:x": "1"})
    context = world.context(canary=0, max_failures=9)
    world.faults[call] = Fault(ERRORS[error], ending, 1, 2)  # type: ignore[arg-type]
    world.apply(steps, context)
    world.faults.clear()
    done = world.apply(steps, context)
    assert {unit.outcome for unit in done.run.steps} <= {"applied", "already"}
    assert (world.image[MODEL], len(world.flavors)) == ("virtio", 2)
    for run in reversed([run.id for run in runs(str(world.folder))]):
        with contextlib.suppress(UsageError):  # nothing is left of it
            world.rollback(context, run=run)
    assert (world.image, world.flavors) == before


@pytest.mark.parametrize("look", range(1, 6))
def test_a_server_that_was_off_and_that_its_owner_starts_is_not_stopped(
    cloud: Cloud, look: int
) -> None:
    cloud.server.vm_state, cloud.server.running = "stopped", {}
    cloud.step = server_step(cloud.server)
    looks = iter(range(1000))
    cloud.world.looks.append(
        lambda: cloud.server.boot() if next(looks) == look and not cloud.world.calls.count("set")
        else None
    )  # fmt: skip
    _done, unit = cloud.apply()
    started = cloud.server.vm_state == "active"
    assert "stop" not in cloud.world.calls
    if started:
        assert unit.outcome == "failed"
        assert cloud.server.model == cloud.server.kept[MODEL] == "rtl8139"
    else:
        assert unit.outcome == "applied"
