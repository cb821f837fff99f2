"""The command is killed, again and again, at places spread over all of its work: nothing is lost.

A larger loop: ``--long``, or ``python -m tests.rig.faults``.
"""

from collections.abc import Callable

import pytest

from tests.drawing import drawn_seed
from tests.rig.faults import LEAST, WALKS, loop

pytestmark = pytest.mark.rig


@pytest.mark.usefixtures("x86_guest")
@pytest.mark.parametrize(
    ("kills", "seconds"), [(50, 40), pytest.param(204, None, marks=pytest.mark.long)]
)
def test_nothing_is_lost_however_often_it_is_killed(
    kills: int, seconds: float | None, record_property: Callable[[str, object], None]
) -> None:
    seed = drawn_seed()
    made = loop(kills, seed, seconds)
    record_property("drawn", f"{made} of {kills} kills; again: --kills {kills} --seed {seed}")
    assert made >= (kills * 0.97 if seconds is None else LEAST * len(WALKS))
