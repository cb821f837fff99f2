"""The command is killed, again and again, at places spread over all of its work: nothing is lost.

A larger loop: ``--long``, or ``python -m tests.rig.faults``.
"""

import random

import pytest

from tests.rig.faults import loop

pytestmark = pytest.mark.rig


@pytest.mark.usefixtures("x86_guest")
@pytest.mark.parametrize("kills", [50, pytest.param(204, marks=pytest.mark.long)])
def test_nothing_is_lost_however_often_it_is_killed(kills: int) -> None:
    assert loop(kills, random.randrange(1_000_000)) >= kills * 0.97
