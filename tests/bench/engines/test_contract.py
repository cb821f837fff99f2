"""What all engines have in common."""

import pytest

from vnicaudit.bench.engines import ENGINES
from vnicaudit.bench.metrics import METRICS


@pytest.mark.parametrize("name", ENGINES.names())
def test_each_engine_meets_the_contract(name: str) -> None:
    engine = ENGINES.load(name)
    assert engine.PATTERNS
    for pattern, metrics in engine.PATTERNS.items():
        assert metrics, pattern
        assert set(metrics) <= METRICS.keys(), pattern
    assert all(callable(part) for part in (engine.needs, engine.check, engine.measure))
