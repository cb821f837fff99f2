"""Trials and runs that are planned by what a host's earlier measurements say."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench import measurements
from tests.bench.judging.made import TCP, sample
from tests.bench.running.fakes import profile
from vnicaudit.bench import history
from vnicaudit.bench.judging.terms import usual_turns
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.bench.trials.learning import NO_HISTORY, HostHistory, host_of, learnt
from vnicaudit.bench.trials.planning import planned, what_runs_show
from vnicaudit.model.measurement import BenchResult, Sample

HOST = host_of("agent://web01")
OTHER = host_of("agent://web01?connect=qemu+ssh://root@kvm7/system")


def measured(seed: int, *, turns: float, runs: float, gain: float = 2.0) -> BenchResult:
    """Five turns of three runs in each of two arms, of which one is faster."""
    source = random.Random(seed)
    samples: list[Sample] = []
    for arm, level in (("before", 1e9), ("after", gain * 1e9)):
        for turn in range(5):
            luck = source.gauss(0, turns)
            for run in range(3):
                value = level * math.exp(luck + source.gauss(0, runs))
                samples.append(sample(value, arm, 3 * turn + run, order=len(samples)))
    return of(samples)


def of(samples: list[Sample]) -> BenchResult:
    made = measurements.result("1", {"before": 1e9, "after": 2e9}, "flips")
    run = replace(made.run, looks=(2, 3, 5), alphas=(0.01, 0.02, 0.02), runs_per_turn=3)
    return replace(made, run=run, samples=tuple(samples))


def kept(state: Path, number: int, *, turns: float = 0.03, runs: float = 0.05) -> HostHistory:
    """The history of so many measurements."""
    for seed in range(number):
        measurements.kept(measured(seed, turns=turns, runs=runs), state)
    return learnt(state, {HOST}, [TCP])


def test_the_host_is_known_from_its_measurements(tmp_path: Path) -> None:
    found = kept(tmp_path, 6)
    assert found.measurements == 6
    scatter = found.scatter["tcp", "goodput"]
    assert (scatter.run_freedom, scatter.turn_freedom) == (6 * 20, 6 * 8)
    assert scatter.runs == pytest.approx(0.05, rel=0.2)
    assert scatter.turns == pytest.approx(0.03, rel=0.5)


def test_what_is_of_something_else_is_left_out(tmp_path: Path) -> None:
    kept(tmp_path, 2)
    assert learnt(tmp_path, {OTHER}, [TCP]) == NO_HISTORY
    assert learnt(tmp_path, {HOST}, [replace(TCP, id="udp")]) == NO_HISTORY
    assert learnt(tmp_path, {HOST}, [replace(TCP, decides=("loss",))]) == NO_HISTORY
    assert learnt(tmp_path, {HOST, OTHER}, [TCP]).measurements == 2


def test_what_has_not_ended_is_left_out(tmp_path: Path) -> None:
    one = measured(1, turns=0.03, runs=0.05)
    measurements.kept(replace(one, run=replace(one.run, finished=None)), tmp_path)
    assert learnt(tmp_path, {HOST}, [TCP]) == NO_HISTORY


def test_runs_that_do_not_count_are_left_out(tmp_path: Path) -> None:
    one = measured(1, turns=0.03, runs=0.05)
    bad = [replace(each, valid=False) for each in one.samples[:3]]
    dead = [replace(each, values={"goodput": 0.0}) for each in one.samples[3:6]]
    measurements.kept(replace(one, samples=(*bad, *dead, *one.samples[6:])), tmp_path)
    scatter = learnt(tmp_path, {HOST}, [TCP]).scatter["tcp", "goodput"]
    assert (scatter.run_freedom, scatter.turn_freedom) == (16, 6)


def test_the_latest_twenty_are_learnt_from(tmp_path: Path) -> None:
    assert kept(tmp_path, 23).measurements == 20


def test_runs_that_were_made_side_by_side_are_of_one_turn(tmp_path: Path) -> None:
    made = measurements.result("1", {"one": 1e9, "four": 2e9}, "live-flip", n=7)
    measurements.kept(made, tmp_path)
    scatter = learnt(tmp_path, {HOST}, [TCP]).scatter["tcp", "goodput"]
    assert (scatter.run_freedom, scatter.turns) == (12, None)


def test_none_and_damaged_ones_change_nothing(tmp_path: Path) -> None:
    assert learnt(tmp_path, {HOST}, [TCP]) == NO_HISTORY
    (name,) = [measurements.kept(measured(1, turns=0.3, runs=0.05), tmp_path)]
    folder = tmp_path / "bench" / name
    for text in ("", "{}", "[1", "\0", '{"schema": "vnicaudit.bench/1", "run": 3}'):
        (folder / "head.json").write_text(text)
        assert learnt(tmp_path, {HOST}, [TCP]) == NO_HISTORY
    history.StoredMeasurement(folder).write_head(measured(1, turns=0.3, runs=0.05))
    (folder / "samples.jsonl").write_text("nothing\n")
    assert learnt(tmp_path, {HOST}, [TCP]) == NO_HISTORY
    (folder / "samples.jsonl").unlink()
    assert learnt(tmp_path, {HOST}, [TCP]) == NO_HISTORY
    usual = profile(TCP)
    assert planned(usual, "flips", NO_HISTORY) == (usual, {}, "")
    assert what_runs_show(wide(1, (7,)), NO_HISTORY) == ""


def test_a_quiet_host_is_planned_as_usual(tmp_path: Path) -> None:
    usual = profile(TCP)
    found = planned(usual, "flips", kept(tmp_path, 3, turns=0.0, runs=0.005))
    assert found.profile.turns == usual.turns
    assert found.words.startswith("from 3 measurements of this host: turns differ by ")
    assert found.words.endswith("; 5 turns planned")


def test_a_noisier_host_takes_more_turns(tmp_path: Path) -> None:
    found = planned(profile(TCP), "boots", kept(tmp_path, 6))
    assert found.profile.turns == (2, 5, 10)
    assert "%, runs by 5 %; 10 turns planned, where about " in found.words
    assert found.words.endswith(" would show 5 %")
    between = planned(profile(TCP), "flips", kept(tmp_path / "two", 9, turns=0.02, runs=0.03))
    assert between.profile.turns[:2] == (2, 5)
    assert 5 < between.profile.turns[-1] < 10
    assert between.words.endswith(f"{between.profile.turns[-1]} turns planned")


def test_noise_that_no_turns_outweigh(tmp_path: Path) -> None:
    found = planned(profile(TCP), "flips", kept(tmp_path, 2, turns=0.4))
    assert found.words.endswith("; 10 turns planned, where more than 100 would show 5 %")


def test_turns_of_a_profile_are_not_touched(tmp_path: Path) -> None:
    own = replace(profile(TCP), turns=(2, 4), own_turns=True)
    found = planned(own, "flips", kept(tmp_path, 6, turns=0.2))
    assert found.profile == own
    assert "; 4 turns planned, where " in found.words


def test_what_is_known_is_reckoned_with(tmp_path: Path) -> None:
    """Of turns that are judged by their means with the part that is due to their runs; of one boot
    of each without it."""
    host = kept(tmp_path, 6, turns=0.3, runs=0.3)
    scatter = host.scatter["tcp", "goodput"]
    flips, once = (planned(profile(TCP), design, host) for design in ("flips", "single-flip"))
    assert flips.between == {"tcp goodput": scatter.of_turn(3)}
    assert once.between == {"tcp goodput": scatter.turns}
    assert once.profile == profile(TCP)
    assert "planned" not in once.words


def test_a_few_turns_make_no_interval_wider(tmp_path: Path) -> None:
    few = of([sample(1e9 * (1 + place % 4), "before", place) for place in range(9)])
    measurements.kept(few, tmp_path)
    host = learnt(tmp_path, {HOST}, [TCP])
    assert host.scatter["tcp", "goodput"].turn_freedom == 2
    assert planned(profile(TCP), "flips", host).between == {}


def test_where_only_a_catastrophe_decides_nothing_is_planned(tmp_path: Path) -> None:
    smoke = replace(profile(TCP), catastrophe_only=True)
    assert planned(smoke, "flips", kept(tmp_path, 2)).words == ""
    assert what_runs_show(smoke, NO_HISTORY) == ""


def wide(many: int, looks: tuple[int, ...]) -> Profile:
    """So many primary comparisons."""
    workloads = tuple(replace(TCP, id=f"w{number}") for number in range(many))
    return replace(profile(*workloads), looks=looks, alphas=(0.05,), turns=usual_turns(many))


def test_what_the_runs_of_a_profile_show(tmp_path: Path) -> None:
    host = kept(tmp_path, 6)
    asked = replace(profile(TCP), looks=(7,), alphas=(0.05,))
    said = what_runs_show(asked, host)
    assert said.startswith("from 6 measurements of this host: turns differ by ")
    assert "; 7 runs of each arm show a difference of about " in said
    assert said.endswith("% or more (tcp), and 5 % would matter")


def test_runs_that_can_show_nothing_are_told() -> None:
    """The smallest p of 5 runs against 5 is 0.0079."""
    assert what_runs_show(wide(6, (5,)), NO_HISTORY) == ""
    assert what_runs_show(wide(7, (5,)), NO_HISTORY) == (
        "with 5 runs of each arm, no difference can be told from chance, among 7 primary "
        "comparisons: that needs 6 (--repeats)"
    )
    assert what_runs_show(wide(1, (2,)), NO_HISTORY) == (
        "with 2 runs of each arm, no difference can be told from chance: that needs 4 (--repeats)"
    )
