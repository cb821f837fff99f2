"""The table of the page in small: each world holds its bounds."""

from __future__ import annotations

import pytest

from scripts import simulate_watch as simulation
from scripts.page_tables import PAGE
from scripts.simulate_watch import WORLDS, World

SHARE = 8


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_a_world_holds_its_bounds(world: World) -> None:
    """Of eight series one may have a false alarm by chance where the bound is 0.05 or 0.1: two are
    once in a hundred."""
    found = simulation.cell(world, SHARE)
    assert world.bound is not None
    assert found.alarms <= max(world.bound, 1 / SHARE), simulation.SEED
    if world.days is not None:
        assert found.told >= 0.9
        assert found.days[0] <= world.days


def test_the_page_has_every_world_and_the_command() -> None:
    table = simulation.PLACE.shown()
    assert [line.split(" | ")[0][2:] for line in table.splitlines()[2:]] == [w.name for w in WORLDS]
    assert "python scripts/simulate_watch.py" in PAGE.read_text("utf-8")
