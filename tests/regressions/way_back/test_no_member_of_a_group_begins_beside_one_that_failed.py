"""A server of a group had failed, and was let go of before that was noted: in that instant another
thread began the next one of the group, and two were away."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.remedy.applying.clouds.test_killed import life
from vnicaudit.remedy.applying.runner import ExclusionLocks


def test_a_failure_is_known_before_the_group_is_let_go_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = life("running-group", tmp_path, monkeypatch)
    one.world.servers[0].wont_start = lambda: True
    really, known = ExclusionLocks.hold, []

    @contextmanager
    def held(apart: ExclusionLocks, names: Iterable[str]) -> Iterator[None]:
        mine = tuple(names)
        with really(apart, mine):
            yield
        if mine:
            known.append(apart.failed_member(mine))

    monkeypatch.setattr(ExclusionLocks, "hold", held)
    assert one.apply()
    assert known
    assert all(known), "somebody let go of the group, and who failed was not known yet"
