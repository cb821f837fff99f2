"""The definition that a run had kept was defined as it stood there: after a slip in an editor the
domain came back with an eighth of its memory and another password, and the run was "done"."""

from pathlib import Path

import pytest

from tests.remedy.applying.conftest import MakeWorld
from tests.remedy.applying.fakes import Killed, World, mac_of, uuid_of
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.rollback import RollbackSelection, dry_run_rollback

BY_HAND = (
    "restore that file from a backup and run this again, or undo the change by hand: virsh "
    f"-c qemu:///system edit {uuid_of(1)} (model of {mac_of(1)}: e1000)"
)


def kept(world: World, kind: str, number: int = 1) -> Path:
    """The file in which the first run kept it."""
    run = runs(str(world.folder))[-1].id
    folder = world.folder / "runs" / run / "definitions"
    (found,) = folder.glob(f"{uuid_of(number)}-*.{kind}.xml")
    return found


def edit(path: Path) -> None:
    """One slip."""
    path.write_bytes(path.read_bytes().replace(b"262144", b"32768"))


@pytest.mark.parametrize("over_edits", [False, True])
def test_it_is_refused_and_all_others_come_back(make_world: MakeWorld, over_edits: bool) -> None:
    world = make_world(3)
    world.apply(world.steps, world.context())
    now = world.machines[0].persistent
    path = kept(world, "before")
    edit(path)
    (went,) = world.rollback(world.context(), RollbackSelection(over_edits=over_edits))
    outcomes = {unit.name: unit.outcome for unit in went.run.steps}
    assert outcomes == {"guest-3": "applied", "guest-2": "applied", "guest-1": "refused"}
    assert went.run.steps[-1].codes == ("kept-original",)
    assert went.run.steps[-1].message == (
        f"{path} is not as the run saved it (it was edited or is damaged, as its digest in "
        f"the journal differs): {BY_HAND}"
    )
    assert [machine.persistent for machine in world.machines[1:]] == world.before[1:]
    assert world.machines[0].persistent == now


def test_a_dry_run_says_so(make_world: MakeWorld) -> None:
    world = make_world(2)
    world.apply(world.steps, world.context())
    edit(kept(world, "before"))
    (run,) = runs(str(world.folder))
    seen = dry_run_rollback(run.id, RollbackSelection(), world.context())
    assert [(one.name, one.outcome, one.codes) for one in seen] == [
        ("guest-2", "would-change", ()),
        ("guest-1", "refused", ("kept-original",)),
    ]


def test_one_that_is_gone_is_that_domains_matter_alone(make_world: MakeWorld) -> None:
    world = make_world(3)
    world.apply(world.steps, world.context())
    path = kept(world, "before", 2)
    path.unlink()
    (went,) = world.rollback(world.context())
    outcomes = {unit.name: unit.outcome for unit in went.run.steps}
    assert outcomes == {"guest-3": "applied", "guest-2": "refused", "guest-1": "applied"}
    assert went.run.steps[1].codes == ("kept-original",)
    assert went.run.steps[1].message.startswith(
        f"{path}, saved by the run, cannot be read (No such file or directory): restore that file"
    )


@pytest.mark.parametrize("kind", ["before", "goal"])
@pytest.mark.parametrize("mode", ["next-boot", "restart"])
def test_a_run_that_is_carried_on_defines_nothing_of_it(
    make_world: MakeWorld, kind: str, mode: Mode
) -> None:
    world = make_world()
    (machine,) = world.machines
    machine.boot()
    world.kill_when = "behind line begin", 1
    with pytest.raises(Killed):
        world.apply(world.steps, world.context(mode))
    world.kill_when = "", 1
    edit(kept(world, kind))
    (unit,) = world.apply(world.steps, world.context(mode)).run.steps
    assert unit.outcome == "failed"
    assert "is not as the run saved it" in unit.message
    assert machine.persistent == world.before[0]
    assert machine.at_work == {machine.macs[0]: "e1000"}


@pytest.mark.parametrize("kind", ["before", "goal", "settled"])
def test_what_a_guest_gets_by_hot_swap_is_held_against_it_too(
    make_world: MakeWorld, kind: str
) -> None:
    world = make_world()
    (machine,) = world.machines
    machine.boot()
    machine.makes_of_it = lambda text: text.replace(b"<vcpu ", b"<!-- libvirt's --><vcpu ", 1)
    world.kill_when = "before attach", 1
    with pytest.raises(Killed):
        world.apply(world.steps, world.context("hotswap"))
    world.kill_when = "", 1
    path = kept(world, kind)
    path.write_bytes(path.read_bytes().replace(b"br0", b"br9"))
    (unit,) = world.apply(world.steps, world.context("hotswap")).run.steps
    assert unit.outcome in ("failed", "rolled-back")
    assert "is not as the run saved it" in unit.message
    assert b"br9" not in machine.persistent + machine.live()
