"""Something goes wrong on the way: every server that ran before runs after it.

A larger loop, of other places each time: ``python -m tests.openstack.faults``.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.openstack.cloud import Cloud
from tests.openstack.faults import (
    Injection,
    connection_is_cut,
    killed_and_outlived,
    killed_at_a_call,
    loop,
    nova_compute_dies,
)
from tests.openstack.fleet import fleet_of

pytestmark = pytest.mark.openstack

MIX: tuple[Injection, ...] = (
    killed_at_a_call, connection_is_cut, killed_and_outlived, nova_compute_dies,
)  # fmt: skip


def test_every_server_runs_whatever_goes_wrong(cloud: Cloud, tmp_path: Path) -> None:
    """The same places each time: one that fails can be looked at again."""
    with fleet_of(cloud, 1, tmp_path) as fleet:
        loop(fleet, len(MIX), random.Random(6), MIX)
        assert fleet.tally.total() == len(MIX)
