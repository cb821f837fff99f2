"""What is defined is read back; whose a definition is."""

import pytest

from tests.remedy.applying.fakes import Killed, World
from vnicaudit.model.runs import UnitRun
from vnicaudit.remedy.applying.history import runs


def applied(world: World) -> UnitRun:
    """How the one unit ended."""
    (unit,) = world.apply(world.steps, world.context()).run.steps
    return unit


def test_what_libvirt_adds_is_no_reason_to_complain(world: World) -> None:
    (machine,) = world.machines
    controller = b"    <controller type='pci' index='1' model='pci-bridge'/>\n    <graphics "
    machine.makes_of_it = lambda text: text.replace(b"    <graphics ", controller)
    assert applied(world).outcome == "applied"
    assert b"pci-bridge" in machine.persistent


@pytest.mark.parametrize(
    ("old", "new", "missing"),
    [
        (b"'virtio'", b"'e1000e'", "model of 52:54:00:00:01:01 is e1000e, not virtio"),
        (b"<source bridge='br0'/>", b"", "<source>"),
        (
            b"    <graphics type='vnc' passwd='s3cret'/>\n",
            b"",
            "<graphics> is missing or different",
        ),
    ],
)
def test_what_libvirt_silently_drops_is_said_and_put_back(
    world: World, old: bytes, new: bytes, missing: str
) -> None:
    (machine,) = world.machines
    machine.makes_of_it = lambda text: text if text in world.before else text.replace(old, new)
    unit = applied(world)
    assert unit.outcome == "failed"
    assert unit.message.startswith("accepted but not applied by libvirt: ")
    assert missing in unit.message
    assert unit.message.endswith("; it was put back")
    assert machine.persistent == world.before[0]


def test_an_original_that_libvirt_no_longer_takes_whole_is_not_called_put_back(
    world: World,
) -> None:
    (machine,) = world.machines
    graphics = b"    <graphics type='vnc' passwd='s3cret'/>\n"
    machine.makes_of_it = lambda text: text.replace(graphics, b"")
    unit = applied(world)
    assert unit.outcome == "failed"
    assert (
        "not everything could be undone: the restored definition differs from the original: "
        in (unit.message)
    )


def test_a_way_back_that_does_not_come_out_the_same_is_said(world: World) -> None:
    (machine,) = world.machines
    assert applied(world).outcome == "applied"
    machine.makes_of_it = lambda text: text.replace(b"262144", b"262145")
    (went,) = world.rollback(world.context())
    assert went.run.steps[0].outcome == "failed"
    assert went.run.steps[0].message.startswith(
        "the restored definition differs from the saved one"
    )


def test_an_edit_meanwhile_is_left_alone(world: World) -> None:
    """Made while the program was away, on top of what it had made or not."""
    (machine,) = world.machines
    world.kill_when = "behind define", 1
    with pytest.raises(Killed):
        world.apply(world.steps, world.context())
    world.kill_when = "", 1
    machine.persistent = edited = machine.persistent.replace(b"262144", b"524288")
    unit = applied(world)
    (run,) = runs(str(world.folder))
    assert unit.outcome == "failed"
    assert unit.message == (
        "somebody else changed the definition in the meantime: their change was kept; the "
        f"change of this run is still in it (to undo only that: vnicaudit rollback {run.id} "
        f"--domain guest-1 --over-edits --state {world.folder})"
    )
    assert machine.persistent == edited


def test_a_definition_that_libvirt_stores_late_is_waited_for_and_taken_back(world: World) -> None:
    """The host did not answer when it was asked to define it. The definition was on its way: it is
    stored when the next run has seen the old one."""
    (machine,) = world.machines
    world.silent_at = "define"
    assert applied(world).outcome == "unfinished"
    world.silent_at = ""
    machine.defines_at = world.clock.seconds + 1, world.before[0].replace(b"'e1000'", b"'virtio'")
    (went,) = world.rollback(world.context())
    (unit,) = went.run.steps
    assert (unit.outcome, unit.message) == ("rolled-back", "rolled back; it was put back")
    world.clock.sleep(1000)
    assert machine.definition(secrets=True) == world.before[0]


def test_an_edit_that_comes_instead_of_it_is_left_alone(world: World) -> None:
    (machine,) = world.machines
    world.silent_at = "define"
    assert applied(world).outcome == "unfinished"
    world.silent_at = ""
    edited = world.before[0].replace(b"262144", b"524288")
    machine.defines_at = world.clock.seconds + 1, edited
    (went,) = world.rollback(world.context())
    (unit,) = went.run.steps
    assert unit.outcome == "failed"
    assert "somebody else changed the definition in the meantime" in unit.message
    assert machine.definition(secrets=True) == edited


def test_a_definition_that_never_comes_is_waited_for_two_seconds(world: World) -> None:
    world.silent_at = "define"
    assert applied(world).outcome == "unfinished"
    world.silent_at = ""
    began = world.clock.seconds
    (went,) = world.rollback(world.context())
    (unit,) = went.run.steps
    assert (unit.outcome, unit.message) == ("rolled-back", "rolled back; nothing was changed")
    assert 2 <= world.clock.seconds - began < 3


def test_one_that_comes_after_the_resumed_run_was_refused_is_taken_back(world: World) -> None:
    (machine,) = world.machines
    world.silent_at = "define"
    assert applied(world).outcome == "unfinished"
    world.silent_at = ""
    machine.refuses["define"] = "libvirt is busy with it"
    machine.defines_at = world.clock.seconds + 1, world.before[0].replace(b"'e1000'", b"'virtio'")

    def seen() -> None:  # by the time it is taken back, libvirt is no longer busy
        machine.refuses.clear()

    machine.at_define_late = seen
    unit = applied(world)
    assert unit.outcome == "failed"
    assert unit.message == "libvirt is busy with it; it was put back"
    assert machine.definition(secrets=True) == world.before[0]


def test_a_definition_that_was_made_and_not_noted_is_known_as_its_own(world: World) -> None:
    """libvirt wrote it in its own words."""
    (machine,) = world.machines
    machine.makes_of_it = lambda text: text.replace(
        b"<model type='virtio'/>\n", b"<model type='virtio'/>\n      <driver name='qemu'/>\n"
    )
    world.kill_when = "behind define", 1
    with pytest.raises(Killed):
        world.apply(world.steps, world.context())
    world.kill_when = "", 1
    assert applied(world).outcome == "applied"
    assert world.calls == [("guest-1", "define")]
    assert b"<driver name='qemu'/>" in machine.persistent


def test_definition_that_libvirt_refuses_changes_nothing(world: World) -> None:
    world.machines[0].refuses["define"] = "cannot define the domain: XML error"
    unit = applied(world)
    assert (unit.outcome, unit.message) == (
        "failed", "cannot define the domain: XML error; nothing was changed",
    )  # fmt: skip
    assert world.machines[0].persistent == world.before[0]
