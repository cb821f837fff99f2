"""Whole measurements that were never made, and how they come to be on disk."""

from pathlib import Path as File

from msgspec.structs import replace

from tests.bench.judging.made import TCP, runs, steady
from vnicaudit.bench import history
from vnicaudit.model.measurement import (
    BenchResult,
    BenchRun,
    Design,
    GuardRail,
    Path,
    Ran,
    Sample,
    Setup,
)
from vnicaudit.reports.bench.reading import pieces


def path(name: str, target: str = "agent://web01") -> Path:
    """The way to a guest."""
    return Path(name=name, target=target, peer="ssh://gen1", address="192.0.2.1")


def result(
    run_id: str, levels: dict[str, float], design: Design = "single", n: int = 7
) -> BenchResult:
    """``levels``: what each arm carries. It has no comparisons, and what tools said is short."""
    samples: list[Sample] = []
    for arm, level in levels.items():
        made = runs(arm, steady(level, n), start=len(samples))
        samples += [replace(one, raw=(Ran(("iperf3",), 0, "{}"),)) for one in made]
    run = BenchRun(
        id=run_id, started=f"{run_id} began", finished=f"{run_id} ended", tool="vnicaudit",
        version="1", profile="quick", design=design, seed=1, looks=(n,), alphas=(0.05,),
        labels={"vcpus": "2", "of": run_id}, margins={"goodput": 0.02},
    )  # fmt: skip
    return BenchResult(
        run=run, arms=tuple(levels), paths=tuple(path(arm) for arm in levels), workloads=(TCP,),
        samples=tuple(samples), environment=(Setup("agent://web01", {"kernel": run_id}),),
        guard_rails=tuple(GuardRail("ping", arm, "ok") for arm in levels),
    )  # fmt: skip


def written(one: BenchResult, file: File) -> File:
    """As `bench run -o` writes it."""
    file.write_text("".join(pieces(one)))
    return file


def kept(one: BenchResult, state: File) -> str:
    """As `bench run` keeps it; its id."""
    place = history.new_measurement(state)
    place.write_head(replace(one, run=replace(one.run, id=place.id)))
    for sample in one.samples:
        place.add(sample)
    return place.id
