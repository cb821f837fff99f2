"""One guest that was undefined, or migrated in the evening, was a failed canary: it ended the
night's run, and the rollback of all others in an emergency."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.remedy.applying.conftest import MakeWorld
from tests.remedy.applying.fakes import Killed, Machine, World, uuid_of
from vnicaudit.cli.remedy.run_output import code_of, code_of_undone
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import GoneError
from vnicaudit.model.host import HostLock
from vnicaudit.model.plan import Mode
from vnicaudit.platforms.libvirt.control import connect
from vnicaudit.remedy.applying.apply import dry_run_apply
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.rollback import RollbackSelection, dry_run_rollback
from vnicaudit.remedy.applying.runner import RunResult

OTHER = "qemu+ssh://b.example/system"
NOWHERE = (
    "the domain is no longer on its host, nor on another host of this run: it was "
    "undefined, or moved to a host outside the run (make a plan there)"
)


def outcomes(went: RunResult) -> dict[str, str]:
    """Name -> what became of it."""
    return {unit.name: unit.outcome for unit in went.run.steps}


@dataclass
class OtherHost:
    """Another one of the run."""

    machines: list[Machine]
    deadline: float = 30.0
    uri: str = OTHER
    key: str = "other"
    name: str = "b.example"
    local: bool = False

    def machine(self, uuid: str) -> Machine:
        for machine in self.machines:
            if machine.uuid == uuid:
                return machine
        raise GoneError(f"cannot find domain {uuid}")

    def take_lock(self, lock: HostLock) -> HostLock:
        """Nobody else is there."""
        return lock

    def find_lock(self) -> HostLock | None:
        return None

    def drop_lock(self, owner: str) -> None:
        del owner

    def close(self) -> None:
        """Nothing is open."""


def two_hosts(world: World) -> OtherHost:
    """The last guest is on another host."""
    other = OtherHost([world.machines[-1]])
    world.steps = (*world.steps[:-1], replace(world.steps[-1], target=OTHER))

    def connect(uri: str, **_given: float) -> World | OtherHost:
        return other if uri == OTHER else world

    world.adapters = world.adapters._replace(connect=connect)  # type: ignore[arg-type]
    return other


def test_an_apply_goes_on(make_world: MakeWorld) -> None:
    world = make_world(4)
    world.leaves(1)
    went = world.apply(world.steps, world.context())
    assert outcomes(went) == {
        "guest-1": "gone", "guest-2": "applied", "guest-3": "applied", "guest-4": "applied",
    }  # fmt: skip
    assert went.stopped == ""
    assert went.run.steps[0].message == NOWHERE
    assert code_of(went.run, every_platform().unit_kinds(), refused=False) == 5


def test_a_rollback_goes_on(make_world: MakeWorld) -> None:
    world = make_world(4)
    world.apply(world.steps, world.context())
    world.leaves(4)
    (went,) = world.rollback(world.context())
    assert outcomes(went) == {
        "guest-4": "gone", "guest-3": "applied", "guest-2": "applied", "guest-1": "applied",
    }  # fmt: skip
    assert went.stopped == ""
    assert [machine.persistent for machine in world.machines[:3]] == world.before[:3]
    assert code_of(went.run, every_platform().unit_kinds(), refused=False) == 5


def test_a_dry_run_says_so(make_world: MakeWorld) -> None:
    world = make_world(2)
    world.leaves(2)
    seen = dry_run_apply(world.steps, b"plan", world.context())
    assert [(one.name, one.outcome, one.message) for one in seen] == [
        ("guest-1", "would-change", ""),
        ("guest-2", "gone", NOWHERE),
    ]
    world.apply(world.steps, world.context())
    world.leaves(1)
    (run,) = runs(str(world.folder))
    (back,) = dry_run_rollback(run.id, RollbackSelection(), world.context())
    assert (back.name, back.outcome, back.message) == ("guest-1", "gone", NOWHERE)


@pytest.mark.parametrize("mode", ["next-boot", "restart", "hotswap"])
@pytest.mark.parametrize("moment", ["define", "shut_down", "start", "detach", "attach"])
def test_one_that_goes_in_the_middle_stops_nobody_else(
    make_world: MakeWorld, mode: Mode, moment: str
) -> None:
    world = make_world(3)
    for machine in world.machines:
        machine.boot()
    first = world.machines[0]
    first.leaves_at = moment
    went = world.apply(world.steps, world.context(mode))
    found = outcomes(went)
    assert found.pop("guest-1") == ("gone" if first.left else "applied")
    assert found == {"guest-2": "applied", "guest-3": "applied"}
    assert went.stopped == ""
    if first.left:
        assert went.run.steps[0].message == (
            f"{NOWHERE}; this happened in the middle of the change: its old definition is "
            "saved with the run"
        )


@pytest.mark.parametrize("mode", ["next-boot", "restart"])
def test_an_unfinished_run_of_it_can_be_ended(make_world: MakeWorld, mode: Mode) -> None:
    """The program was killed, then the guest was undefined: what was left in the middle of others
    is undone, and no later run is refused because of it."""
    world = make_world(3)
    for machine in world.machines:
        machine.boot()
    world.kill_when = "behind line begin", 2
    with pytest.raises(Killed):
        world.apply(world.steps, world.context(mode))
    world.kill_when = "", 1
    world.leaves(2)
    middle, back = world.rollback(world.context(mode))
    assert outcomes(middle)["guest-2"] == "gone"
    assert code_of_undone(middle.run) == 0
    assert outcomes(back) == {"guest-1": "applied"}
    assert world.machines[0].persistent == world.before[0]


def test_one_that_moved_is_named_with_its_new_host(make_world: MakeWorld) -> None:
    world = make_world(3)
    other = two_hosts(world)
    moved = world.machines[0]
    other.machines.append(moved)
    world.leaves(1)
    went = world.apply(world.steps, world.context())
    assert outcomes(went) == {"guest-1": "refused", "guest-2": "applied", "guest-3": "applied"}
    assert went.run.steps[0].message == (f"it is now on {OTHER}: make a plan there")
    assert moved.persistent == world.before[0]


def test_one_that_moved_in_the_middle_is_for_its_owner_to_look_at(make_world: MakeWorld) -> None:
    world = make_world(3)
    other = two_hosts(world)
    first = world.machines[0]
    first.leaves_at = "define"
    other.machines.append(Machine(world, 1))
    went = world.apply(world.steps, world.context(canary=0, max_failures=1))
    assert outcomes(went) == {"guest-1": "failed", "guest-2": "applied", "guest-3": "applied"}
    assert went.run.steps[0].message == (
        f"it moved to {OTHER} in the middle of the change: check it there"
    )


NODE = """<node><domain type='test'><name>a</name><uuid>{}</uuid><memory>1024</memory>
<os><type>hvm</type></os></domain></node>"""


def test_libvirts_no_such_domain_is_told_from_what_it_refuses(tmp_path: Path) -> None:
    """From libvirt itself, of a domain that was never there and of one that is undefined."""
    path = tmp_path / "node.xml"
    path.write_text(NODE.format(uuid_of(1)))
    host = connect(f"test://{path}", deadline=30.0)
    try:
        with pytest.raises(GoneError, match="Domain not found"):
            host.machine(uuid_of(2))
        machine = host.machine(uuid_of(1))
        machine.power_off()
        host.ask("undefine it", lambda line: line.domain(uuid_of(1)).undefine())
        for ask in (machine.state, machine.live, lambda: machine.definition(secrets=True)):
            with pytest.raises(GoneError):
                ask()
    finally:
        host.close()
