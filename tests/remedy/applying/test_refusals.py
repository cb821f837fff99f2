"""Why a unit was refused, for machines: codes, kept with the run."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.remedy.applying.clouds.conftest import make_cloud as make_cloud
from tests.remedy.applying.clouds.fakes import CloudWorld, server_step
from tests.remedy.applying.fakes import World
from vnicaudit.remedy.applying.history import runs
from vnicaudit.reports.runs import runs_json


def codes_of(folder: object) -> list[str]:
    """Of the only unit of the last run, as its JSON has them."""
    document = msgspec.json.decode(runs_json(runs(str(folder))))
    (unit,) = document["runs"][0]["steps"]
    assert unit["outcome"] == "refused"
    found: list[str] = unit["codes"]
    return found


def test_a_domain_with_a_saved_memory(world: World) -> None:
    world.machines[0].managed_save = True
    world.apply(world.steps, world.context())
    assert codes_of(world.folder) == ["saved-memory"]


def test_a_definition_that_changed_since(world: World) -> None:
    machine = world.machines[0]
    machine.persistent = machine.persistent.replace(b"br0", b"br1")
    world.apply(world.steps, world.context())
    assert codes_of(world.folder) == ["drift"]


def test_a_step_that_was_edited_to_be_about_another_nic(tmp_path: Path) -> None:
    """Its change and its diff would fit that NIC: only the digest tells."""
    world = World(tmp_path, nics=2)
    first, second = world.steps
    world.apply((replace(second, digest=first.digest),), world.context())
    assert codes_of(world.folder) == ["plan"]
    assert world.machines[0].persistent == world.before[0]


def test_a_way_back_over_edits(world: World) -> None:
    world.apply(world.steps, world.context())
    machine = world.machines[0]
    machine.persistent = machine.persistent.replace(b"br0", b"br1")
    world.rollback(world.context())
    assert codes_of(world.folder) == ["edited"]


@pytest.fixture
def cloud(make_cloud: object) -> CloudWorld:
    found: CloudWorld = make_cloud()  # type: ignore[operator]
    return found


def test_several_things_speak_against_a_server(cloud: CloudWorld) -> None:
    (server,) = cloud.servers
    server.boot()
    steps = (server_step(server),)
    server.locked, server.host_status = True, "DOWN"
    cloud.apply(steps, cloud.context("next-boot"))
    assert codes_of(cloud.folder) == ["locked", "mode", "node-down"]
