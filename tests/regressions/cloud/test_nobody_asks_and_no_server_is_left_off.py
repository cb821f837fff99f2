"""A program died while servers were off for it. What carries the run on from its journal alone may
not know where nova-manage is: servers that are off have to run all the same, and one that runs is
not stopped for a change that nobody could make.
"""

from pathlib import Path

import pytest

from tests.remedy.applying.clouds.fakes import CloudWorld, installed, server_step
from tests.remedy.applying.fakes import Killed
from vnicaudit.remedy.hypervisor import CloudAccess

PLACES = [
    "before stop", "within stop", "behind stop", "behind line stopped", "before set", "within set",
    "between set", "behind set", "behind line set", "before start", "within start", "behind start",
]  # fmt: skip


class Life(CloudWorld):
    """Ends the program in each thread where it comes to that place, in its first life."""

    place = ""

    def passing(self, place: str) -> None:
        super().passing(place)
        if place == self.place:
            raise Killed(place)


@pytest.mark.parametrize("place", PLACES)
def test_every_server_runs_in_the_end_without_nova_manage(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Life(tmp_path, 3)
    installed(world, monkeypatch)
    for server in world.servers:
        server.boot()
    steps = tuple(server_step(server) for server in world.servers)
    context = world.context("restart", canary=0, batch=3, max_failures=9)
    world.place = place
    with pytest.raises(Killed):
        world.apply(steps, context)
    world.place, world.reach = "", CloudAccess(None)
    world.clock.sleep(60)
    ran = [server.model is not None for server in world.servers]
    world.calls.clear()
    done = world.apply(steps, world.context("restart", canary=0, batch=3, max_failures=9))
    world.clock.sleep(60)
    assert [server.model is not None for server in world.servers] == [True] * 3, done.run.steps
    if all(ran) and place in ("before stop", "within stop"):
        assert "stop" not in world.calls
    for unit in done.run.steps:
        assert unit.outcome in ("applied", "failed", "refused"), unit
        assert unit.outcome == "applied" or "this needs nova-manage" in unit.message
