"""libvirt sorts controllers whenever it reads a definition. One that it handed out in another order
was taken for one that "did not come out as the one that was saved": it stayed on virtio for ever,
and ten other domains were not reached."""

import random
import re

import pytest

from tests.remedy.applying.conftest import MakeWorld
from tests.remedy.applying.fakes import Killed, Machine, World
from tests.remedy.planning.planned import OFF, URI, step
from vnicaudit.model.fleet import LiveDefinition
from vnicaudit.model.plan import Mode
from vnicaudit.platforms.domain_xml.definitions import equal_but_controllers, rearranged, unlike
from vnicaudit.platforms.libvirt.domains import (
    Fetched,
    Surroundings,
    definition_from,
)
from vnicaudit.remedy.applying.rollback import RollbackSelection
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.planning.source import DomainSource
from vnicaudit.text.targets import parse

_CONTROLLER = re.compile(rb"    <controller .*?/>\n")
_SORTED = "libvirt lists the controllers in a different order"


def _controller(kind: str, index: int, model: str) -> bytes:
    return f"    <controller type='{kind}' index='{index}' model='{model}'/>\n".encode()


_OF_Q35 = (
    _controller("pci", 0, "pcie-root"),
    *(_controller("pci", index, "pcie-root-port") for index in (1, 2, 3)),
    _controller("usb", 0, "qemu-xhci"),
    _controller("sata", 0, "ich9"),
    _controller("pci", 4, "pcie-root-port"),
)
"""As libvirt 9.0 hands them out at first: the last port is its own."""


def _sorting(text: bytes) -> bytes:
    """libvirt's order, whatever stood there."""
    found = sorted(_CONTROLLER.findall(text), key=lambda one: (b"'pci'" not in one, one))
    return _with(_CONTROLLER.sub(b"", text), found)


def _with(text: bytes, controllers: list[bytes]) -> bytes:
    return text.replace(b"    <graphics ", b"".join(controllers) + b"    <graphics ")


def _shuffled(make_world: MakeWorld, seed: int = 0) -> World:
    """Guests whose controllers are in an order that libvirt changes."""
    world = make_world(3)
    world.before = []
    for machine in world.machines:
        controllers = list(_OF_Q35)
        while seed and controllers == sorted(controllers):
            random.Random(seed).shuffle(controllers)
        machine.persistent = _with(machine.persistent, controllers)
        machine.makes_of_it = _sorting
        world.before.append(machine.persistent)
    world.plan_again()
    return world


def _is_back(machine: Machine, before: bytes) -> bool:
    return machine.persistent == _sorting(before)


@pytest.mark.parametrize("mode", ["next-boot", "restart", "hotswap"])
def test_a_way_back_succeeds_though_libvirt_sorts_controllers(
    make_world: MakeWorld, mode: Mode
) -> None:
    world = _shuffled(make_world)
    for machine in world.machines:
        machine.boot()
    world.apply(world.steps, world.context(mode))
    (went,) = world.rollback(world.context(mode))
    assert {unit.outcome for unit in went.run.steps} == {"applied"}
    assert all(_SORTED in unit.message for unit in went.run.steps)
    assert all(map(_is_back, world.machines, world.before))
    assert {one for machine in world.machines for one in machine.at_work.values()} == {"e1000"}


@pytest.mark.parametrize("mode", ["restart", "hotswap"])
def test_undoing_a_guest_that_did_not_come_back_succeeds_though_libvirt_sorts_controllers(
    make_world: MakeWorld, mode: Mode
) -> None:
    world = _shuffled(make_world)
    first = world.machines[0]
    first.boot()
    first.driverless = True
    (unit, *_others) = world.apply(world.steps, world.context(mode)).run.steps
    assert unit.outcome == "rolled-back"
    assert "it was put back" in unit.message
    assert "not everything could be undone" not in unit.message
    assert _is_back(first, world.before[0])
    assert first.at_work == {first.macs[0]: "e1000"}


def test_a_daemon_that_is_started_anew_is_nobodys_edit(make_world: MakeWorld) -> None:
    """It reads its own files then, and so sorts what it had handed out unsorted."""
    world = _shuffled(make_world)
    for machine in world.machines:
        machine.makes_of_it = lambda text: text
    world.apply(world.steps, world.context())
    for machine in world.machines:
        machine.persistent = _sorting(machine.persistent)
    (went,) = world.rollback(world.context())
    assert {unit.outcome for unit in went.run.steps} == {"applied"}


def test_a_run_goes_on_though_the_daemon_was_started_anew(make_world: MakeWorld) -> None:
    world = _shuffled(make_world)
    world.kill_when = "behind line begin", 1
    with pytest.raises(Killed):
        world.apply(world.steps, world.context())
    world.kill_when = "", 1
    for machine in world.machines[:1]:
        machine.persistent = _sorting(machine.persistent)
    unit = world.apply(world.steps, world.context()).run.steps[0]
    assert unit.outcome == "applied"


def test_a_guest_that_runs_is_restarted_once_its_definition_is_back(make_world: MakeWorld) -> None:
    """The first way back leaves what runs alone; the second has nothing to define."""
    world = _shuffled(make_world)
    for machine in world.machines:
        machine.boot()
    world.apply(world.steps, world.context("restart"))
    world.rollback(world.context("next-boot"))
    (went,) = world.rollback(world.context("restart"), RollbackSelection())
    assert {unit.outcome for unit in went.run.steps} == {"applied"}
    assert {one for machine in world.machines for one in machine.at_work.values()} == {"e1000"}


def test_another_edit_is_still_somebody_elses(make_world: MakeWorld) -> None:
    """A controller more, or another order of anything else, is no order of controllers."""
    world = _shuffled(make_world)
    world.apply(world.steps, world.context())
    edited = world.machines[0].persistent.replace(
        b"    <graphics ", _controller("pci", 5, "pcie-root-port") + b"    <graphics "
    )
    world.machines[0].persistent = edited
    (went,) = world.rollback(world.context(), RollbackSelection(domains=("guest-1",)))
    assert (went.run.steps[0].outcome, went.run.steps[0].codes) == ("refused", ("edited",))
    assert world.machines[0].persistent == edited


def test_what_did_not_come_back_is_named(make_world: MakeWorld) -> None:
    world = _shuffled(make_world)
    world.apply(world.steps, world.context())
    for machine in world.machines:
        machine.makes_of_it = lambda text: _sorting(text).replace(b" passwd='s3cret'", b"")
    (went,) = world.rollback(world.context())
    assert went.run.steps[0].outcome == "failed"
    assert went.run.steps[0].message.startswith(
        "the restored definition differs from the saved one: <graphics> is missing or different"
    )
    assert "s3cret" not in went.run.steps[0].message


@pytest.mark.parametrize("seed", range(1, 26))
def test_no_order_of_controllers_is_a_difference(make_world: MakeWorld, seed: int) -> None:
    world = _shuffled(make_world, seed)
    before = world.before[0]
    after = _sorting(before)
    assert before != after
    assert equal_but_controllers(before, after)
    assert unlike(before, after) == ()
    assert rearranged(before, after) == "lists the controllers in a different order"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"index='3' model='pcie-root-port'", b"index='3' model='pcie-to-pci-bridge'",
         ("<controller> is missing or different",)),
        (_OF_Q35[5], b"", ("<controller> is missing or different",)),
        (b"262144", b"262145",
         ("<memory> is missing or different", "<memory> is new or different")),
        (b"'e1000'", b"'virtio'",
         ("<interface> is missing or different", "<interface> is new or different")),
        (b"<vcpu placement='static'>1", b"<vcpu placement='static'> 1",
         ("<vcpu> is missing or different", "<vcpu> is new or different")),
    ],
)  # fmt: skip
def test_every_other_difference_is_one(
    make_world: MakeWorld, old: bytes, new: bytes, words: tuple[str, ...]
) -> None:
    before = _shuffled(make_world).before[0]
    after = _sorting(before).replace(old, new)
    assert not equal_but_controllers(before, after)
    assert unlike(before, after) == words


def _planned(text: bytes, again: bytes) -> tuple[str, ...]:
    """The notes of the step on that definition, of which libvirt says what comes of it."""
    fetched = Fetched(text.decode(), OFF, again=again.decode())
    found = definition_from(fetched, Surroundings(parse(URI), {}, {}))
    assert isinstance(found, LiveDefinition)
    source = DomainSource(URI, found.running, found.domain, found.text, way_back=found.way_back)
    return step(source, PlanOptions(unsafe=True)).notes


def test_a_plan_says_what_the_way_back_will_be(make_world: MakeWorld) -> None:
    before = _shuffled(make_world).before[0]
    (note,) = _planned(before, _sorting(before))
    assert note == (
        "libvirt lists the controllers in a different order as soon as this definition is defined "
        "again: a rollback brings every device back as it was, at its address, in that order"
    )
    assert _planned(before, before) == ()


def test_a_plan_says_where_there_is_no_exact_way_back(make_world: MakeWorld) -> None:
    """But for the CPU, which libvirt puts in the host's terms when it is asked this way."""
    before = _shuffled(make_world).before[0].replace(b"<devices>", b"<cpu mode='x'/><devices>")
    assert _planned(before, before.replace(b"mode='x'", b"mode='y'")) == ()
    (note,) = _planned(before, before.replace(b"262144", b"262145"))
    assert note == (
        "libvirt changes this definition when it is defined again, so there is no exact way "
        "back: <memory> is missing or different; <memory> is new or different"
    )
