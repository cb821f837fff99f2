"""A module in the folder is an engine, by being there."""

import pytest

from tests.bench.profiles.conftest import engines
from vnicaudit.bench.engines import ENGINES
from vnicaudit.errors import UsageError

__all__ = ["engines"]


@pytest.mark.usefixtures("engines")
def test_modules_of_the_folder_are_engines_and_parts_are_none() -> None:
    assert ENGINES.names() == ("ask", "talk")


@pytest.mark.usefixtures("engines")
def test_an_engine_is_loaded_by_its_name() -> None:
    assert ENGINES.load("talk").PATTERNS["tcp"] == ("goodput",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("talc", "no engine 'talc'; did you mean 'talk'?"),
        ("iperf", "no engine 'iperf': ask, talk"),
        ("_part", "no engine '_part': ask, talk"),
        ("../talk", "no engine '../talk'; did you mean 'talk'?"),
    ],
)
@pytest.mark.usefixtures("engines")
def test_what_is_no_engine_is_a_usage_error(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        ENGINES.load(name)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ENGINES.names())
def test_each_engine_meets_the_contract(name: str) -> None:
    from vnicaudit.bench.metrics import METRICS

    engine = ENGINES.load(name)
    assert engine.PATTERNS
    for pattern, metrics in engine.PATTERNS.items():
        assert metrics, pattern
        assert set(metrics) <= METRICS.keys(), pattern
    assert all(callable(part) for part in (engine.needs, engine.check, engine.measure))
