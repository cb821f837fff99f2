"""libvirt refused to shut a guest down, and a few milliseconds later "the guest did not shut down
within 300 s" was said."""

from pathlib import Path

import pytest

from tests.remedy.applying.fakes import World, installed

REFUSED = "this function is not supported by the connection driver"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """One guest, that runs."""
    world = installed(World(tmp_path), monkeypatch)
    world.machines[0].boot()
    world.clock.sleep(1000)
    return world


def test_why_it_was_not_asked_is_said(world: World) -> None:
    (machine,) = world.machines
    machine.refuses["shut_down"] = REFUSED
    (unit,) = world.apply(world.steps, world.context("restart")).run.steps
    assert unit.outcome == "failed"
    assert unit.message.startswith(
        f"the guest did not accept a request to shut down: through its agent: {REFUSED}; "
        f"through its power button: {REFUSED} (--force-off powers such a guest off)"
    )
    assert "within" not in unit.message
    assert machine.persistent == world.before[0]
    assert machine.active


def test_one_way_that_was_refused_leaves_its_time_to_the_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent takes it and the guest is slow; the power button is refused."""
    (machine,) = world.machines
    real = machine.shut_down

    def shut_down(*, agent: bool) -> None:
        if not agent:
            machine.refuses["shut_down"] = REFUSED
        real(agent=agent)
        machine._off_at = world.clock.seconds + 45.0

    monkeypatch.setattr(machine, "shut_down", shut_down)
    context = world.context("restart", guest_deadline=60.0)
    (unit,) = world.apply(world.steps, context).run.steps
    assert unit.outcome == "applied"


def test_one_that_was_asked_and_did_not_is_late(world: World) -> None:
    (machine,) = world.machines
    machine.deaf = True
    (unit,) = world.apply(world.steps, world.context("restart")).run.steps
    assert "the guest did not shut down within 60 s (--force-off" in unit.message


def test_one_that_is_not_asked_is_powered_off_where_that_is_allowed(world: World) -> None:
    (machine,) = world.machines
    machine.refuses["shut_down"] = REFUSED
    (unit,) = world.apply(world.steps, world.context("restart", force_off=True)).run.steps
    assert unit.outcome == "applied"
