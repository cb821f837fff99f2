"""Series out of the history: which runs are of one, and what is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.watching.made import HOUR, START, watched
from vnicaudit.bench.trials.learning import host_of, learnt
from vnicaudit.bench.watching.changes import SeriesPoint
from vnicaudit.bench.watching.series import PathIdentity, series_of
from vnicaudit.bench.watching.state import states_of
from vnicaudit.reports.bench.watch_line import watch_line

PATH = PathIdentity("agent://web01", "ssh://gen1")
HOST = host_of("agent://web01")


def test_the_runs_of_a_path_in_order_of_time(tmp_path: Path) -> None:
    watched(tmp_path, START + HOUR, [2e9])
    watched(tmp_path, START, [1e9, 3e9, 1.5e9])
    watched(tmp_path, START, [7e9], target="agent://other")
    watched(tmp_path, START, [7e9], label="of")
    watched(tmp_path, START, [7e9], valid=False)
    folder = tmp_path / "bench" / watched(tmp_path, START, [7e9])
    (folder / "head.json").write_text("{")
    odd = tmp_path / "bench" / watched(tmp_path, START + 9, [4e9])
    (odd / "samples.jsonl").write_text("{\n" + (odd / "samples.jsonl").read_text() + "half")
    found = series_of(tmp_path, PATH, [TCP])
    assert found == {
        ("tcp", "goodput"): [SeriesPoint(START, 1.5e9), SeriesPoint(START + 9, 4e9),
                             SeriesPoint(START + HOUR, 2e9)]
    }  # fmt: skip
    assert series_of(tmp_path, PATH, [replace(TCP, seconds=2.0)]) == {}
    assert series_of(tmp_path / "none", PATH, [TCP]) == {}


def test_a_line_says_what_changed(tmp_path: Path) -> None:
    for hour in range(80):
        level = (1e9 if hour < 60 else 5e8) * (1 + 0.001 * (hour * 7 % 10))
        watched(tmp_path, START + hour * HOUR, [level])
    (state,) = states_of(tmp_path, PATH, [TCP], {})
    assert state.change is not None
    assert state.flag(state.change.confirmed) == -1
    assert state.flag(state.change.confirmed + 8 * 86_400) == 0
    line = watch_line(state)
    assert "tcp goodput: 50" in line
    assert "; WORSE since 2026-09-2" in line
    assert ", seed 20261126), confirmed 2026-09-2" in line


def test_days_of_a_host_teach_what_runs_differ_by(tmp_path: Path) -> None:
    for hour in range(72):
        watched(tmp_path, START + hour * HOUR, [1e9 * (1.1 if hour % 2 else 1.0)])
    found = learnt(tmp_path, {HOST}, [TCP])
    assert (found.measurements, found.watched) == (0, 72)
    scatter = found.scatter["tcp", "goodput"]
    assert scatter.runs == pytest.approx(0.049, abs=0.003)
    assert (scatter.turns, scatter.turn_freedom) == (None, 0)
    assert scatter.run_freedom >= 68
    assert learnt(tmp_path, {"another"}, [TCP]).scatter == {}
