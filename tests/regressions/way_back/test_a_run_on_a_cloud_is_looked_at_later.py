"""Nothing showed that ``runs --verify`` tells the truth of servers, images and flavors."""

from pathlib import Path

import pytest

from tests.cli.inside import run_here as run
from tests.cli.remedy.test_apply_cloud import apply, plan, world
from tests.cli.remedy.test_apply_cloud import run as run_on
from tests.remedy.applying.clouds.fakes import (
    MODEL,
    CloudWorld,
    flavor_step,
    image_step,
    server_step,
)
from vnicaudit.errors import TargetError
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.hypervisor import Cloud

__all__ = ["world"]

Capture = pytest.CaptureFixture[str]
QUEUES = {"hw:vif_multiqueue_enabled": "true"}
MANAGE = ("VNICAUDIT_NOVA_MANAGE=local",)


@pytest.fixture
def applied(world: CloudWorld, capsys: Capture) -> str:
    """The id of a run on a server, an image and a flavor."""
    world.flavors["m1"].properties.update(dict.fromkeys(QUEUES, "false"))
    plan(
        server_step(world.servers[0]), image_step(world, {MODEL: "virtio"}),
        flavor_step(world, dict(QUEUES)),
    )  # fmt: skip
    assert apply(world, "--quiet", *MANAGE) == 0
    capsys.readouterr()
    return runs("state")[0].id


def states(world: CloudWorld, run_id: str, capsys: Capture) -> tuple[int, dict[str, str], str]:
    """The exit code of ``runs --verify``, the state of each unit, and all that was said."""
    capsys.readouterr()
    code = run(["runs", "--verify", run_id], world.wiring)
    said = capsys.readouterr().out
    units = [line.split() for line in said.splitlines() if line[:2] == "  " and line[2] != " "]
    return code, {name: state for state, name in units}, said


def test_all_is_in_effect(applied: str, world: CloudWorld, capsys: Capture) -> None:
    code, found, said = states(world, applied, capsys)
    assert (code, set(found.values()), len(found)) == (0, {"in-effect"}, 3)
    assert said.endswith("\n3 units: 3 in-effect\n")


def test_a_server_that_ran_and_is_off_differs(
    applied: str, world: CloudWorld, capsys: Capture
) -> None:
    world.servers[0].stop()
    world.clock.sleep(1000)
    code, found, said = states(world, applied, capsys)
    assert (code, found["server-1"]) == (5, "differs")
    assert "the server was running before, and is now SHUTOFF: openstack " in said


def test_a_server_that_was_set_back_differs(
    applied: str, world: CloudWorld, capsys: Capture
) -> None:
    world.servers[0].keep({MODEL: "rtl8139"})
    code, found, said = states(world, applied, capsys)
    assert (code, found["server-1"], found["legacy"]) == (5, "differs", "in-effect")
    assert "rtl8139" in said


def test_an_image_that_was_set_back_differs(
    applied: str, world: CloudWorld, capsys: Capture
) -> None:
    world.image[MODEL] = "e1000"
    code, found, said = states(world, applied, capsys)
    assert (code, found["legacy"], found["server-1"]) == (5, "differs", "in-effect")
    assert f"the image was changed since: {MODEL}=e1000" in said


def test_a_copy_of_a_flavor_that_was_deleted_differs(
    applied: str, world: CloudWorld, capsys: Capture
) -> None:
    (copy,) = set(world.flavors) - {"m1"}
    del world.flavors[copy]
    code, found, said = states(world, applied, capsys)
    assert (code, found["m1.small"]) == (5, "differs")
    assert "the flavor m1.small-multiqueue is gone" in said


def test_a_server_that_was_deleted_is_gone(
    applied: str, world: CloudWorld, capsys: Capture
) -> None:
    world.servers[0].deleted = True
    code, found, _said = states(world, applied, capsys)
    assert (code, found["server-1"]) == (5, "gone")


def test_a_cloud_that_cannot_be_reached(applied: str, world: CloudWorld, capsys: Capture) -> None:
    def reach(name: str, *, deadline: float) -> Cloud:
        del deadline
        raise TargetError(f"openstack:{name}: cannot connect")

    world.adapters = world.adapters._replace(cloud=reach)
    code, found, said = states(world, applied, capsys)
    assert (code, set(found.values())) == (4, {"unknown"})
    assert "cannot connect" in said


def test_what_was_taken_back_does_not_differ(
    applied: str, world: CloudWorld, capsys: Capture
) -> None:
    assert run_on(world, "rollback", applied, "--yes", "--quiet", *MANAGE) == 0
    code, found, _said = states(world, applied, capsys)
    assert (code, set(found.values())) == (0, {"taken-back"})


def test_nothing_of_it_is_changed_by_looking(
    applied: str, world: CloudWorld, capsys: Capture
) -> None:
    before, journal = list(world.calls), Path(f"state/runs/{applied}/journal.jsonl")
    text = journal.read_bytes()
    states(world, applied, capsys)
    assert journal.read_bytes() == text
    changing = {"stop", "start", "hard_reboot", "set", "set_image_properties", "delete_flavor"}
    assert not changing & set(world.calls[len(before) :])
