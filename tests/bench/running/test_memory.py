"""A two-hour run: 2,000 samples, whose tools said 100 kB each. 100 MB is what it may take. In CI
as much is said by 500 samples."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import Engine, Told, opened, plugins, profile
from vnicaudit.bench import history
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.running.measuring import MeasurementTerms, Measuring
from vnicaudit.cli.bench.show import named_measurement
from vnicaudit.model.measurement import BenchResult, Ran
from vnicaudit.reports.bench.formats.json import stream

MOST = 100e6
TOTAL = 200_000_000
"""Bytes that the tools said in all."""


@contextmanager
def small() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


class Heard(Told):
    """Keeps no sample."""

    def sampled(self, sample: object) -> None:
        del sample


@pytest.mark.parametrize("samples", [500, pytest.param(2000, marks=pytest.mark.long)])
def test_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samples: int) -> None:
    text, runs = "x" * (TOTAL // samples - 10), samples // 20

    def outcome(_workload: object, _ends: object, number: int) -> Measured:
        said = Ran(("iperf3",), 0, f"{number:010}{text}")
        return Measured(values={"goodput": 1e9 + number}, seconds=10, raw=(said,))

    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # no power is lost here
    ten = tuple(replace(TCP, id=f"tcp{number}") for number in range(10))
    one = profile(*ten, runs=runs)
    terms = Terms(looks=(runs,), alphas=(0.05,), design="live-flip", acts=False)
    task = MeasurementTerms(
        profile=one, design="live-flip", arms=("a", "b"), seed=1, terms=terms,
        plugins=plugins(Engine(outcome)),
    )  # fmt: skip
    place = history.new_measurement(tmp_path)
    with small():
        result = Measuring(task, place, Heard()).interleaved([opened("a"), opened("b")])
    assert len(result.samples) == samples
    assert {one.before.n for one in result.results if one.before} == {runs}
    assert (place.folder / "samples.jsonl").stat().st_size > TOTAL
    del result
    document = tmp_path / "all.json"
    assert shown(tmp_path, place.id, document) == samples
    assert shown(tmp_path, str(document), tmp_path / "again.json") == samples
    again = tmp_path / "again.json"
    assert document.stat().st_size == again.stat().st_size > TOTAL
    for file in (document, again, place.folder / "samples.jsonl"):
        file.unlink()  # pytest keeps what a test leaves


def shown(state: Path, name: str, document: Path) -> int:
    """What `bench show NAME -o FILE` and `bench compare` read, and write; how many samples."""
    with small():
        found = named_measurement(name, state)
        result: BenchResult = found.result()
        with document.open("w") as output:
            output.writelines(stream(replace(result, samples=()), found.samples()))
    return len(result.samples)
