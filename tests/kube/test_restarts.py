"""Virtual machines of a real API server are restarted for a change, whatever becomes of them; what
stands in the way is told, and nothing is done by half."""

from pathlib import Path

import pytest

from tests.kube.changing import Changing, changing
from tests.kube.objects import interface, virtual_machine
from tests.kube.server import Server
from tests.kube.virt import VMS, Course, Virt
from tests.remedy.applying.cluster_world import MODEL

pytestmark = pytest.mark.kube


@pytest.fixture
def world(cluster: Server, virt: Virt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Changing:
    return changing(tmp_path, cluster, virt, monkeypatch)


def test_a_restart_is_waited_for_until_it_runs_with_it(world: Changing) -> None:
    first = world.instance()["metadata"]["uid"]
    unit = world.applied("restart")
    assert (unit.outcome, unit.message, unit.waiting) == ("applied", "", False)
    assert {one.verdict for one in unit.checks} == {"ok"}
    assert world.instance()["metadata"]["uid"] != first
    assert world.runs_with() == "virtio"
    assert world.rolled_back("restart").outcome == "applied"
    assert (world.runs_with(), world.virt.asked) == ("e1000", ["shop/web"] * 2)


@pytest.mark.parametrize(
    ("course", "outcome", "words"),
    [
        (Course(ends_before="deleting"), "failed", "it was not restarted"),
        (Course(ends_before="created"), "failed", "it has no instance"),
        (Course(ends_before="running"), "failed", "its instance is Scheduling"),
        (Course(ends_before="agent"), "rolled-back", "its guest agent still does not answer"),
        (Course(keeps_nics=True), "rolled-back", 'default model is "e1000"'),
    ],
)
def test_what_does_not_come_back_with_it_is_set_back(
    world: Changing, course: Course, outcome: str, words: str
) -> None:
    world.virt.course = course
    unit = world.applied("restart")
    assert (unit.outcome, words in unit.message) == (outcome, True), unit.message
    assert not world.is_changed()
    world.virt.course = Course()
    assert world.runs_with() == "e1000"


def test_a_condition_that_stays_is_told(world: Changing) -> None:
    world.virt.course = Course(condition="never goes")
    world.at_place["before restart"] = world.virt.step
    unit = world.applied("restart")
    assert unit.outcome == "applied"
    assert ("condition", "unknown") in [(one.name, one.verdict) for one in unit.checks]


@pytest.mark.parametrize("version", [(1, 1), (1, 7), (1, 9)])
def test_a_change_for_the_next_boot_is_taken_back_in_every_version(
    world: Changing, version: tuple[int, int]
) -> None:
    world.virt.course = Course(version=version)
    world.applied()
    world.virt.settle()
    back = world.rolled_back()
    assert (back.outcome, world.is_changed()) == ("applied", False)
    assert ("RestartRequired" in back.message) is (version >= (1, 2))


@pytest.mark.parametrize("place", ["before line begin", "before dry run", "before patch"])
def test_an_edit_in_the_middle_is_drift(world: Changing, place: str) -> None:
    world.at_place[place] = lambda: world.edit(MODEL.path, "rtl8139")
    unit = world.applied("restart")
    assert (unit.outcome, unit.codes) == ("refused", ("drift",))
    devices = world.now()["spec"]["template"]["spec"]["domain"]["devices"]
    assert devices["interfaces"][0]["model"] == "rtl8139"
    assert "networkInterfaceMultiqueue" not in devices
    assert world.virt.asked == []


def test_a_halt_in_the_middle_is_not_undone_by_a_restart(world: Changing) -> None:
    """virt-api refuses the restart (409); the patch is taken back, and whoever halts it, does."""
    world.at_place["before restart"] = lambda: world.edit("/spec/runStrategy", "Halted")
    unit = world.applied("restart")
    assert (unit.outcome, "RunStategy Halted" in unit.message) == ("failed", True), unit.message
    found = world.now()["spec"]
    assert found["runStrategy"] == "Halted"
    assert found["template"] == world.first["spec"]["template"]


def test_one_that_does_not_run_is_refused_alone(world: Changing) -> None:
    off = virtual_machine("off", interface(model="e1000"))
    off["spec"]["runStrategy"] = "Halted"
    world.cluster.load(off)
    world.virt.settle()
    meta = world.cluster.ask("GET", VMS.format("shop", "off"))["metadata"]
    steps = (world.subject.step(world.target, meta, MODEL, 3), *world.steps)
    units = world.apply(steps, world.context("restart")).run.steps
    assert {(one.name, one.outcome, one.codes) for one in units} == {
        ("shop/off", "refused", ("power",)), ("shop/web", "applied", ()),
    }  # fmt: skip
    assert world.virt.asked == ["shop/web"]


def test_a_restart_that_is_under_way_is_not_asked_for_again(world: Changing) -> None:
    """The instance takes its time to end: a second request would be refused."""
    world.virt.course = Course(ends_before="gone")
    world.kill_when = ("behind restart", 1)
    assert world.killed("restart", None)
    world.virt.step()
    world.kill_when = ("", 1)
    world.virt.course = Course()
    unit = world.applied("restart")
    assert (unit.outcome, world.virt.asked) == ("applied", ["shop/web"])
