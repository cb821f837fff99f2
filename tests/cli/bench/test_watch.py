"""``vnicaudit bench watch``: one run over a veth pair, metrics, turns, and periods."""

from __future__ import annotations

import signal
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.adapters import open_endpoint
from tests.bench.judging.made import TCP
from tests.bench.watching.made import HOUR, START, at, watched
from tests.cli.command import vnicaudit
from tests.cli.records import options_of
from tests.cli.two_ends import Running, TwoEnds, two_ends
from tests.promtool import checked_metrics
from vnicaudit.bench.endpoints.turns import TakesTurns
from vnicaudit.bench.watching.periods import periods
from vnicaudit.bench.watching.series import PathIdentity
from vnicaudit.bench.watching.state import states_of
from vnicaudit.cli.bench import watch
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.errors import UsageError
from vnicaudit.reports.metrics.families import written
from vnicaudit.reports.metrics.watch import watch_families


class FakeClock:
    def __init__(self) -> None:
        self.now = 5.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[TwoEnds]:
    with two_ends(tmp_path, "tests/cli/bench/test_watch.py") as made:
        yield made


def words(ends: TwoEnds, folder: Path, *more: str | Path) -> list[str | Path]:
    return [
        "bench", "watch", f"web={ends.path}", "-p", ends.profile, "--state", folder / "state",
        "--metrics", folder / "web.prom", *more,
    ]  # fmt: skip


def test_one_run_its_line_and_its_metrics(ends: TwoEnds, tmp_path: Path) -> None:
    done = vnicaudit(*words(ends, tmp_path, "--once", "--fail-on-change"))
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "  iperf3.tcp.tx.c1.64k goodput: " in first
    assert "  iperf3.tcp.rx.c1.64k goodput: " in second
    assert first.endswith("; not judged yet: 1 run so far")
    place = tmp_path / "web.prom"
    assert stat.S_IMODE(place.stat().st_mode) == 0o644
    text = checked_metrics(place.read_text())
    labels = '{path="web",workload="iperf3.tcp.tx.c1.64k",metric="goodput"}'
    assert f"vnicaudit_watch_change{labels} 0\n" in text
    listed = vnicaudit("bench", "show", "--state", tmp_path / "state")
    assert listed.stdout.endswith("  web: measured\n")


def test_a_period_is_skipped_while_another_measures(ends: TwoEnds, tmp_path: Path) -> None:
    with closing(open_endpoint(f"netns://{ends.target}")) as end:
        assert isinstance(end, TakesTurns)
        assert end.take_turn("another").held is True
        done = Running(
            *words(ends, tmp_path, "--once", "--fail-on-change"),
            patch="import vnicaudit.cli.bench.watch as w\nw.PATIENCE = 0.0", folder=tmp_path,
        ).ended()  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert "skipped this period: netns://" in done.stderr


def test_ctrl_c_while_it_measures_leaves_nothing(ends: TwoEnds, tmp_path: Path) -> None:
    running = Running(*words(ends, tmp_path), folder=tmp_path)
    running.until_it_measures(ends)
    done = running.signalled(signal.SIGINT)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert running.left() == []


def test_periods_do_not_drift_and_leave_out_what_is_over() -> None:
    clock, begun = FakeClock(), []
    for number in periods(3600.0, clock):
        begun.append((number, clock.now))
        clock.now += 4000.0 if number == 1 else 60.0
        if len(begun) == 4:
            break
    assert begun == [(0, 5.0), (1, 3605.0), (3, 10805.0), (4, 14405.0)]


def test_only_the_run_that_confirms_a_loss_fails(tmp_path: Path) -> None:
    path = PathIdentity("agent://web01", "ssh://gen1")
    codes = []
    for hour in range(84):
        watched(tmp_path, START + hour * HOUR, [(1e9 if hour < 60 else 5e8) + hour * 7 % 10])
        if hour >= 64:
            states = tuple(states_of(tmp_path, path, [TCP], {}))
            codes.append(watch.confirms_loss(states, at(START + hour * HOUR)))
    assert codes.count(True) == 1
    assert not codes[-1]
    families = watch_families("web", states, START + 85 * HOUR)
    text = checked_metrics("".join(written(families, "prometheus")))
    labels = '{path="web",workload="tcp",metric="goodput"}'
    assert f"vnicaudit_watch_change{labels} -1\n" in text
    assert f"vnicaudit_watch_age_seconds{labels} 7200\n" in text


@pytest.mark.parametrize("text", ["1", "0s", "59s", "8d", "-1h", "1.5h", "٣h"])
def test_a_period_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="--every"):
        watch.period_of(text)
    assert watch.period_of("30m") == 1800.0


def test_failing_needs_an_end() -> None:
    done = vnicaudit("bench", "watch", "local", "--fail-on-change")
    assert done.returncode == 2
    assert "--fail-on-change needs --once" in done.stderr


def test_it_waits_for_a_short_time_only() -> None:
    options = options_of(watch.command, "agent://web01,ssh://gen1")
    assert isinstance(options, watch.BenchWatchOptions)
    request = watch.request_of(options, adapters)
    assert (request.patience, request.labels) == (30.0, {"watch": "web01"})
    assert request.profile.looks == (1,)
