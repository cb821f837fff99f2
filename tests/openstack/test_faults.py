"""Something goes wrong on the way: every server that ran before runs after it.

A larger loop, of all kinds of faults: ``python -m tests.openstack.faults``.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.drawing import drawn_seed
from tests.openstack.cloud import Cloud
from tests.openstack.faults import LEAST, SHARE, loop, share
from tests.openstack.fleet import fleet_of

pytestmark = pytest.mark.openstack

SECONDS = 60


def test_every_server_runs_whatever_goes_wrong(
    cloud: Cloud, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = drawn_seed()
    chance = random.Random(seed)
    with fleet_of(cloud, 1, tmp_path) as fleet:
        loop(fleet, len(SHARE), chance, share(chance), SECONDS)
        made = fleet.tally.total()
        again = f"--share --servers 1 --faults {made} --seed {seed}"
        record_property("drawn", f"{made} of {len(SHARE)} faults; again: {again}")
        assert made >= LEAST
