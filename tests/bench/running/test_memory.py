"""A two-hour run: 2,000 samples, whose tools said 100 kB each. It may take half of what they said.
In CI as much of each is said by 500 samples."""

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
from vnicaudit.bench.running.collector import MeasurementTerms
from vnicaudit.bench.running.measuring import Measuring
from vnicaudit.model.measurement import Ran

SAMPLE = 100_000
"""Bytes that the tools said of a sample."""


@contextmanager
def small(samples: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < samples * SAMPLE / 2
    finally:
        tracemalloc.stop()


class Heard(Told):
    """Keeps no sample."""

    def sampled(self, sample: object) -> None:
        del sample


@pytest.mark.parametrize("samples", [500, pytest.param(2000, marks=pytest.mark.long)])
def test_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samples: int) -> None:
    text, runs, total = "x" * (SAMPLE - 10), samples // 20, samples * SAMPLE

    def outcome(_workload: object, _ends: object, number: int) -> Measured:
        said = Ran(("iperf3",), 0, f"{number:010}{text}")
        return Measured(values={"goodput": 1e9 + number}, seconds=10, raw=(said,))

    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # no power is lost here
    ten = tuple(replace(TCP, id=f"tcp{number}") for number in range(10))
    one = profile(*ten, runs=runs)
    terms = Terms(looks=(runs,), alphas=(0.05,), design="live-flip", acts=False)
    task = MeasurementTerms(
        profile=one, arms=("a", "b"), seed=1, terms=terms,
        plugins=plugins(Engine(outcome)),
    )  # fmt: skip
    place = history.new_measurement(tmp_path)
    with small(samples):
        result = Measuring(task, place, Heard()).interleaved([opened("a"), opened("b")])
    assert len(result.samples) == samples
    assert {one.before.n for one in result.results if one.before} == {runs}
    assert (place.folder / "samples.jsonl").stat().st_size > total
    (place.folder / "samples.jsonl").unlink()  # pytest keeps what a test leaves
