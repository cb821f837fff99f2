"""The command is killed, again and again, at every place of its work: nothing is lost.

A larger loop: ``VNICAUDIT_RIG_KILLS=2000``, or ``python -m tests.rig.faults``.
"""

import os
import random

import pytest

from tests.rig.faults import loop

pytestmark = pytest.mark.rig

ENOUGH = 204


@pytest.mark.usefixtures("x86_guest")
def test_nothing_is_lost_however_often_it_is_killed() -> None:
    kills = int(os.environ.get("VNICAUDIT_RIG_KILLS", ENOUGH))
    assert loop(kills, random.randrange(1_000_000)) >= min(kills, ENOUGH) * 0.97
