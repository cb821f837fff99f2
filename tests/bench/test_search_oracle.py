"""The search against MLRsearch (FD.io CSIT, PyPI), whose semantics it claims, on the same
simulated servers."""

import random
from collections.abc import Callable

import pytest
from MLRsearch import (  # type: ignore[import-untyped]
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

from vnicaudit.bench.search import LoadTrial, SearchLimits, search

Loss = Callable[[float], float]


def cliff(at: float) -> Loss:
    return lambda load: max(0.0, 1 - at / load)


def rising(load: float) -> float:
    """0.5 % is lost at 20,000 per second."""
    return min(1.0, 0.005 * (load / 20_000) ** 3)


def noisy(seed: int) -> Loss:
    """A cliff with single bad seconds."""
    chance = random.Random(seed)
    return lambda load: 0.04 if chance.random() < 0.05 else cliff(48_900)(load)


class Measurer(AbstractMeasurer):  # type: ignore[misc]
    """What MLRsearch asks for, of a simulated server."""

    def __init__(self, loss: Loss) -> None:
        self._loss = loss

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        sent = round(intended_load * intended_duration)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=sent,
            loss_count=round(sent * self._loss(intended_load)),
        )


def oracle(loss: Loss) -> float:
    """Conditional throughput at the lower bound, as MLRsearch finds it."""
    goal = SearchGoal(
        loss_ratio=0.005, exceed_ratio=0.5, relative_width=0.05, duration_sum=7.0, fail_fast=False
    )
    settings = Config(goals=[goal], min_load=100, max_load=1e6, search_duration_max=1000.0)
    found = MultipleLossRatioSearch(settings).search(Measurer(loss))[goal]
    return float(found.conditional_throughput)


def ours(loss: Loss, start: float) -> float:
    def trial(load: float, seconds: float) -> LoadTrial:
        return LoadTrial(load, load, load * (1 - loss(load)), seconds)

    return search(trial, start, limits=SearchLimits(), clock=lambda: 0.0).rate


@pytest.mark.parametrize("start", [5_000, 48_000, 300_000])
@pytest.mark.parametrize(
    "server",
    [
        pytest.param(lambda: cliff(500), id="slow"),
        pytest.param(lambda: cliff(45_800), id="cliff"),
        pytest.param(lambda: cliff(730_000), id="fast"),
        pytest.param(lambda: rising, id="rising"),
        pytest.param(lambda: noisy(1), id="noisy-1"),
        pytest.param(lambda: noisy(2), id="noisy-2"),
        pytest.param(lambda: noisy(3), id="noisy-3"),
    ],
)
def test_the_rate_is_within_both_widths_of_mlrsearch(
    server: Callable[[], Loss], start: float
) -> None:
    """Either may stop up to 5 % below the truth."""
    assert ours(server(), start) == pytest.approx(oracle(server()), rel=0.055)
