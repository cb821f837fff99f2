"""Old runs of a watched path go; nothing else does."""

from __future__ import annotations

from pathlib import Path

from tests.bench.watching.made import HOUR, START, watched
from vnicaudit.bench.history import measurement_ids
from vnicaudit.bench.watching.retention import drop_runs
from vnicaudit.bench.watching.series import PathIdentity

PATH = PathIdentity("agent://web01", "ssh://gen1")


def test_runs_of_the_path_that_are_older_are_removed(tmp_path: Path) -> None:
    watched(tmp_path, START, [1e9])
    other = watched(tmp_path, START, [1e9], target="agent://other")
    asked = watched(tmp_path, START, [1e9], label="of")
    watched(tmp_path, START + HOUR, [1e9])
    newer = watched(tmp_path, START + 2 * HOUR, [1e9])
    assert drop_runs(tmp_path, PATH, START + 2 * HOUR) == 2
    assert measurement_ids(tmp_path) == sorted((other, asked, newer))
    assert len(list((tmp_path / "bench").iterdir())) == 3
    assert drop_runs(tmp_path, PATH, START + 2 * HOUR) == 0
    assert drop_runs(tmp_path / "none", PATH, START) == 0
