"""Many servers: in which order, how many at once, and when to stop."""

import threading

import pytest

from tests.remedy.applying.clouds.conftest import MakeCloud
from tests.remedy.applying.clouds.fakes import (
    MODEL,
    SILENT,
    CloudWorld,
    Fault,
    flavor_step,
    image_step,
    server_step,
)
from vnicaudit.errors import ActionError, JournalError, RefusedError
from vnicaudit.model.plan import Step
from vnicaudit.model.runs import RunRecord
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.events import Event, Setting
from vnicaudit.remedy.applying.journal.journal_file import Journal
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.runner import ExclusionLocks


def outcomes(run: RunRecord) -> list[str]:
    """Of its units, in order."""
    return [unit.outcome for unit in run.steps]


def running(world: CloudWorld) -> tuple[Step, ...]:
    """Steps for servers that all run."""
    for server in world.servers:
        server.boot()
    return tuple(server_step(server) for server in world.servers)


class Away:
    """Notes how many servers were away at the same time."""

    def __init__(self, world: CloudWorld) -> None:
        self.most = 0
        self._world = world
        world.looks.append(self._look)

    def _look(self) -> None:
        away = sum(server.vm_state != "active" for server in self._world.servers)
        self.most = max(self.most, away)


def test_images_and_flavors_come_first(make_cloud: MakeCloud) -> None:
    world = make_cloud(2)
    steps = (
        *running(world),
        image_step(world, {MODEL: "virtio"}),
        flavor_step(world, {"hw:x": "1"}),
    )
    assert [unit.kind for unit in world.context().kinds.units(steps)] == [
        "image",
        "flavor",
        "server",
        "server",
    ]
    done = world.apply(steps, world.context("restart"))
    assert outcomes(done.run) == ["applied"] * 4


def test_an_image_is_no_canary(make_cloud: MakeCloud) -> None:
    """That it could be changed says nothing of guests."""
    world = make_cloud(3)
    steps = (image_step(world, {MODEL: "virtio"}), *running(world))
    world.servers[0].driverless = True
    away = Away(world)
    context = world.context("restart", canary=1, batch=2, max_failures=9)
    done = world.apply(steps, context)
    assert done.stopped
    assert outcomes(done.run) == ["applied", "rolled-back", "not-reached", "not-reached"]
    assert away.most == 1


def test_an_image_that_cannot_be_changed_stops_the_run(world: CloudWorld) -> None:
    steps = (image_step(world, {MODEL: "virtio"}), *running(world))
    world.set_image_properties = _fails  # type: ignore[assignment]
    done = world.apply(steps, world.context("restart"))
    assert outcomes(done.run) == ["failed", "not-reached"]
    assert done.stopped == "1 failed (--max-failures 0)"


def _fails(_image: str, _properties: object) -> None:
    raise ActionError("403: you are not permitted to modify this image")


def test_canaries_then_batches(make_cloud: MakeCloud) -> None:
    world = make_cloud(7)
    away = Away(world)
    done = world.apply(running(world), world.context("restart", canary=2, batch=5))
    assert outcomes(done.run) == ["applied"] * 7
    assert all(server.model == "virtio" for server in world.servers)
    assert 1 <= away.most <= 5


@pytest.mark.parametrize("shares", ["group", "volume"])
def test_what_belongs_together_goes_one_after_the_other(make_cloud: MakeCloud, shares: str) -> None:
    world = make_cloud(4)
    steps = running(world)
    if shares == "group":
        steps = tuple(server_step(server, groups=("g",)) for server in world.servers)
    else:
        for server in world.servers:
            server.shared = ("volume-1",)
    away = Away(world)
    done = world.apply(steps, world.context("restart", canary=0, batch=4))
    assert outcomes(done.run) == ["applied"] * 4
    assert away.most == 1


def test_no_other_member_is_touched_where_one_failed(make_cloud: MakeCloud) -> None:
    world = make_cloud(3)
    running(world)
    world.servers[0].wont_start = lambda: True
    steps = tuple(server_step(server, groups=("g",)) for server in world.servers)
    done = world.apply(steps, world.context("restart", canary=0, batch=1, max_failures=9))
    assert outcomes(done.run) == ["failed", "refused", "refused"]
    assert done.run.steps[1].message.startswith("server-1, of the same server group, failed")


def test_who_holds_what() -> None:
    """Two wait for one another's names in the other order, and both come to an end."""
    apart, turns = ExclusionLocks(), []

    def work(*names: str) -> None:
        for _time in range(50):
            with apart.hold(names):
                turns.append(names)

    threads = [threading.Thread(target=work, args=names) for names in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(turns) == 100
    assert apart.failed_member(("a",)) == ""
    apart.failed("one", ("b",))
    assert apart.failed_member(("a", "b")) == "one"


def test_another_run_on_the_same_cloud_is_refused(world: CloudWorld) -> None:
    """Whatever name it was reached by."""
    state = StateFolder(str(world.folder))
    with (
        state.lock(world.key, "the cloud"),
        pytest.raises(RefusedError, match="another run is working on test"),
    ):
        world.apply(running(world), world.context("restart"))


def test_a_cloud_that_falls_silent_leaves_the_run_unfinished_and_names_the_server(
    make_cloud: MakeCloud,
) -> None:
    world = make_cloud(2)
    steps = running(world)
    silent_behind(world, "stopped")
    done = world.apply(steps, world.context("restart"))
    hint = (
        "server-1: it was running before and may be off now; to start it by hand: "
        f"openstack --os-cloud test server start {world.servers[0].id}"
    )
    assert done.stopped.endswith(hint)
    assert outcomes(done.run) == ["unfinished", "not-reached"]
    assert done.run.steps[0].message == hint.partition(": ")[2]
    world.looks.clear()
    world.faults.clear()
    done = world.apply(steps, world.context("restart"))
    assert outcomes(done.run) == ["applied", "applied"]
    assert [run.outcome for run in runs(str(world.folder))] == ["done"]


def silent_behind(world: CloudWorld, state: str) -> None:
    """The API is gone for good when the first server is in that state."""

    def look() -> None:
        if world.servers[0].vm_state == state:
            world.faults.update(
                {call: Fault(SILENT, "before", None) for call in ("server", "start", "sent")}
            )

    world.looks.append(look)


def test_a_full_disk_names_the_server_that_is_off(
    world: CloudWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing more can be noted, so nothing more is done."""
    steps = running(world)
    real = Journal.write

    def write(one: Journal, event: Event, unit: str = "") -> object:
        if isinstance(event, Setting):
            raise JournalError("journal.jsonl cannot be written (No space left on device)")
        return real(one, event, unit)

    with monkeypatch.context() as full:
        full.setattr(Journal, "write", write)
        with pytest.raises(JournalError) as raised:
            world.apply(steps, world.context("restart"))
    assert f"server start {world.servers[0].id}" in str(raised.value)
    done = world.apply(steps, world.context("restart"))
    assert outcomes(done.run) == ["applied"]
    assert world.servers[0].model == "virtio"


def test_a_member_of_a_run_is_known_by_its_cloud(make_cloud: MakeCloud) -> None:
    """Ids of flavors are anything; two clouds may have one id."""
    world = make_cloud(1)
    step = flavor_step(world, {"hw:x": "1"})
    (unit,) = world.context().kinds.units((step,))
    assert unit.key.startswith("flavor-")
    assert "/" not in unit.key


def test_what_becomes_of_it_is_told(world: CloudWorld) -> None:
    world.apply(running(world), world.context("restart"))
    assert [said for _name, said in world.told] == [
        "stopping (Nova powers it off if its guest has not shut down after 60 s)",
        "setting hw_vif_model=virtio",
        "starting",
        "applied",
    ]


def test_how_long_it_was_away(world: CloudWorld) -> None:
    (unit,) = world.apply(running(world), world.context("restart")).run.steps
    assert unit.downtime is not None
    assert 15 <= unit.downtime < 30
    assert [check.name for check in unit.checks] == ["server", "kept", "ports", "device", "traffic"]
    assert [check.verdict for check in unit.checks] == ["ok", "ok", "ok", "unknown", "ok"]


def test_each_thing_is_done_once(world: CloudWorld) -> None:
    world.apply(running(world), world.context("restart"))
    assert world.calls == ["version", "show", "stop", "set", "start"]
