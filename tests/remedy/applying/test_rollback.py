"""The way back: of a run, of one domain, of one NIC; over somebody else's edits only if told."""

import pytest

from tests.remedy.applying.conftest import MakeWorld
from tests.remedy.applying.fakes import Killed, World, mac_of, uuid_of
from vnicaudit.errors import UsageError
from vnicaudit.model.plan import Mode
from vnicaudit.model.runs import UnitRun
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal.journal_file import NAME
from vnicaudit.remedy.applying.rollback import RollbackSelection, dry_run_rollback

VIRTIO = b"<model type='virtio'/>"


def taken_back(
    world: World, chosen: RollbackSelection | None = None, mode: Mode = "next-boot"
) -> UnitRun:
    """How the only unit of the way back ended."""
    (went,) = world.rollback(world.context(mode), chosen)
    assert went.run.kind == "rollback"
    (unit,) = went.run.steps
    return unit


def killed(world: World, mode: Mode, place: str, number: int = 1) -> None:
    """The run is ended there."""
    world.kill_when = place, number
    with pytest.raises(Killed):
        world.apply(world.steps, world.context(mode))
    world.kill_when = "", 1


def edit(world: World) -> bytes:
    """Somebody changes the first definition."""
    (machine, *_others) = world.machines
    machine.persistent = machine.persistent.replace(b"262144", b"524288")
    return machine.persistent


@pytest.mark.parametrize("mode", ["next-boot", "restart", "hotswap"])
def test_a_run(make_world: MakeWorld, mode: Mode) -> None:
    world = make_world(3, 2)
    for machine in world.machines:
        machine.boot()
    world.apply(world.steps, world.context(mode))
    (went,) = world.rollback(world.context(mode))
    assert [unit.name for unit in went.run.steps] == ["guest-3", "guest-2", "guest-1"]
    assert {unit.outcome for unit in went.run.steps} == {"applied"}
    assert [machine.persistent for machine in world.machines] == world.before
    for machine in world.machines:
        assert machine.at_work == dict.fromkeys(machine.macs, "e1000")


@pytest.mark.parametrize("name", ["guest-2", uuid_of(2)])
def test_one_domain(make_world: MakeWorld, name: str) -> None:
    world = make_world(3)
    world.apply(world.steps, world.context())
    assert taken_back(world, RollbackSelection(domains=(name,))).name == "guest-2"
    assert [VIRTIO in machine.persistent for machine in world.machines] == [True, False, True]


def test_an_edit_is_not_written_over(world: World) -> None:
    world.apply(world.steps, world.context())
    edited = edit(world)
    unit = taken_back(world)
    assert unit.outcome == "refused"
    assert unit.message == (
        "somebody has changed the definition since: check it (virsh dumpxml --inactive), then "
        "restore only the NIC with --over-edits"
    )
    assert world.machines[0].persistent == edited


def without_line(world: World, tag: str) -> None:
    """One kind of line of the journal is damaged."""
    (journal,) = world.folder.glob(f"runs/*/{NAME}")
    lines = journal.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if f'"event":"{tag}"'.encode() not in line]
    assert len(kept) < len(lines)
    journal.write_bytes(b"".join(kept))


def test_a_lost_line_is_no_edit(world: World) -> None:
    world.apply(world.steps, world.context())
    without_line(world, "defined")
    assert taken_back(world).outcome == "applied"
    assert world.machines[0].persistent == world.before[0]


def test_an_edit_is_not_written_over_where_a_line_is_lost(world: World) -> None:
    world.apply(world.steps, world.context())
    without_line(world, "defined")
    edited = edit(world)
    unit = taken_back(world)
    assert (unit.outcome, unit.message.partition(":")[0]) == (
        "refused",
        "somebody has changed the definition since",
    )
    assert world.machines[0].persistent == edited


def test_over_edits_only_the_nic_is_put_back(make_world: MakeWorld) -> None:
    world = make_world(1, 2)
    world.apply(world.steps, world.context())
    edit(world)
    assert taken_back(world, RollbackSelection(over_edits=True)).outcome == "applied"
    assert world.machines[0].persistent == world.before[0].replace(b"262144", b"524288")


def test_a_nic_that_is_gone_cannot_be_put_back(world: World) -> None:
    (machine,) = world.machines
    world.apply(world.steps, world.context())
    machine.persistent = machine.persistent.replace(mac_of(1).encode(), b"52:54:00:ff:ff:ff")
    unit = taken_back(world, RollbackSelection(over_edits=True))
    assert (unit.outcome, unit.message) == (
        "refused",
        f"there is no longer exactly one NIC {mac_of(1)}",
    )


@pytest.mark.parametrize("active", [False, True])
def test_again(world: World, active: bool) -> None:
    if active:
        world.machines[0].boot()
    world.apply(world.steps, world.context())
    assert [taken_back(world).outcome for _ in range(2)] == ["applied", "already"]


def test_the_way_back_can_be_taken_back(world: World) -> None:
    (machine,) = world.machines
    world.apply(world.steps, world.context())
    goal = machine.persistent
    taken_back(world)
    newest, _first = runs(str(world.folder))
    world.rollback(world.context(), run=newest.id)
    assert machine.persistent == goal


def test_a_run_that_was_left_in_the_middle_and_was_half_done(make_world: MakeWorld) -> None:
    """Both ways are told: that of the unit in the middle, and that of what was done before it."""
    world = make_world(3)
    killed(world, "next-boot", "behind define", 2)
    middle, done = world.rollback(world.context())
    assert (middle.rolled_back, middle.run.kind, middle.stopped) == (True, "apply", "rolled back")
    assert [unit.outcome for unit in middle.run.steps] == ["applied", "rolled-back", "not-reached"]
    assert middle.run.outcome == "rolled-back"
    assert [unit.outcome for unit in done.run.steps] == ["applied"]
    assert [machine.persistent for machine in world.machines] == world.before


def test_a_run_of_which_nothing_was_begun(world: World) -> None:
    killed(world, "next-boot", "behind file run.json")
    (went,) = world.rollback(world.context())
    assert (went.rolled_back, went.run.outcome) == (True, "rolled-back")
    assert [unit.outcome for unit in went.run.steps] == ["not-reached"]
    (again,) = world.rollback(world.context())
    assert (again.rolled_back, again.run) == (True, went.run)


def test_a_run_that_was_ended_twice_before_it_began_lost_nothing(world: World) -> None:
    """Its request was there without a line of the journal; then an original without one."""
    killed(world, "next-boot", "behind file run.json")
    world.passed.clear()
    killed(world, "next-boot", "before line begin")
    (went,) = world.rollback(world.context())
    assert (went.rolled_back, went.is_lost, went.run.outcome) == (True, False, "rolled-back")


def test_what_could_not_be_undone_is_no_success(world: World) -> None:
    (machine,) = world.machines
    killed(world, "next-boot", "behind define")
    machine.refuses["define"] = "libvirt says no"
    (went,) = world.rollback(world.context())
    assert went.run.outcome == went.run.steps[0].outcome == "failed"
    assert "not everything could be undone: libvirt says no" in went.run.steps[0].message


@pytest.mark.parametrize("mode", ["restart", "hotswap"])
def test_what_could_not_be_undone_is_undone_later(world: World, mode: Mode) -> None:
    (machine,) = world.machines
    machine.boot()
    killed(world, mode, "before start" if mode == "restart" else "before attach")
    call = "start" if mode == "restart" else "attach"
    machine.refuses[call] = "no resources"
    world.rollback(world.context(mode))
    machine.refuses.clear()
    world.rollback(world.context("restart"))
    assert machine.persistent == world.before[0]
    assert machine.at_work == {machine.macs[0]: "e1000"}


def test_the_next_boot_of_a_guest_that_its_owner_shut_down_stays_its_owners(world: World) -> None:
    """It was never this run's to start."""
    (machine,) = world.machines
    machine.boot()
    killed(world, "next-boot", "behind define")
    machine.running = None
    world.rollback(world.context())
    assert not machine.active
    assert machine.persistent == world.before[0]


def test_a_guest_that_was_still_going_down_is_started(world: World) -> None:
    """It had been asked to shut down, and does so when the definition is back already."""
    (machine,) = world.machines
    machine.boot()
    killed(world, "restart", "behind shut_down")
    assert machine.active
    world.rollback(world.context("restart"))
    world.clock.sleep(1000)
    assert machine.at_work == {machine.macs[0]: "e1000"}


def test_a_nic_that_was_still_going_is_given_back(world: World) -> None:
    (machine,) = world.machines
    machine.boot()
    killed(world, "hotswap", "behind detach")
    assert machine.at_work
    world.rollback(world.context("hotswap"))
    world.clock.sleep(1000)
    assert machine.at_work == {machine.macs[0]: "e1000"}


def test_what_runs_is_given_back_where_the_definition_says_so_already(world: World) -> None:
    """Somebody has defined virtio by hand; nobody knows any more what the NIC was in the file. It
    is put back from what ran."""
    (machine,) = world.machines
    machine.boot()
    machine.driverless = True
    machine.persistent = machine.persistent.replace(b"'e1000'", b"'virtio'")
    defined = machine.persistent
    (unit,) = world.apply(world.steps, world.context("hotswap")).run.steps
    assert unit.outcome == "rolled-back"
    assert machine.at_work == {machine.macs[0]: "e1000"}
    assert machine.persistent == defined


@pytest.mark.parametrize(
    ("run", "chosen", "words"),
    [
        ("20261121-101500-3f2a", RollbackSelection(), "there is no run '20261121-101500-3f2a'"),
        (None, RollbackSelection(domains=("other",)), "has no such domain"),
    ],
)
def test_what_there_is_not(
    world: World, run: str | None, chosen: RollbackSelection, words: str
) -> None:
    world.apply(world.steps, world.context())
    with pytest.raises(UsageError, match=words):
        world.rollback(world.context(), chosen, run=run)


def test_a_run_that_was_refused_has_nothing_to_take_back(world: World) -> None:
    world.machines[0].managed_save = True
    world.apply(world.steps, world.context())
    with pytest.raises(UsageError, match="there is nothing to undo"):
        world.rollback(world.context())


def test_a_run_that_found_all_done_names_the_run_that_did_it(world: World) -> None:
    """A plan was applied twice: the newest run is not the one to undo."""
    world.apply(world.steps, world.context())
    world.apply(world.steps, world.context())
    second, first = runs(str(world.folder))
    assert second.steps[0].outcome == "already"
    with pytest.raises(UsageError) as raised:
        world.rollback(world.context(), run=second.id)
    assert str(raised.value) == (
        f"there is nothing to undo; run {first.id} made the change; to undo it: vnicaudit "
        f"rollback {first.id} --state {world.folder}"
    )


def test_a_look_changes_nothing(make_world: MakeWorld) -> None:
    world = make_world(2)
    killed(world, "next-boot", "behind define", 2)
    before = [machine.persistent for machine in world.machines]
    (run,) = runs(str(world.folder))
    looked_at = dry_run_rollback(run.id, RollbackSelection(), world.context())
    assert [(one.name, one.outcome) for one in looked_at] == [
        ("guest-2", "would-change"), ("guest-1", "would-change"),
    ]  # fmt: skip
    assert [machine.persistent for machine in world.machines] == before
    assert runs(str(world.folder)) == [run]
