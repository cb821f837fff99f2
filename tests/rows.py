"""Parameters of tests that are data: in the YAML file beside the module, named as the test."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from ruamel.yaml import YAML

Test = TypeVar("Test", bound=Callable[..., None])
Row = dict[str, Any]


def rows(test: Test) -> Test:
    """Parametrize a test with its table: a list of rows, each from parameter to value, with ``id``
    where it has a name; or for one parameter its name, and a list of its values."""
    return _parametrized(test, _table(test))


def rows_of_tuples(test: Test) -> Test:
    """``rows``, where each list within a value is a tuple."""
    return _parametrized(test, [{key: _tuples(row[key]) for key in row} for row in _table(test)])


def _table(test: Callable[..., None]) -> list[Row]:
    found: list[Row] | dict[str, list[Any]] = _file(
        Path(test.__code__.co_filename).with_suffix(".yaml")
    )[test.__name__]
    if isinstance(found, list):
        return found
    ((name, values),) = found.items()
    return [{name: value} for value in values]


@cache
def _file(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(path)
    return loaded


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _parametrized(test: Test, table: list[Row]) -> Test:
    names = [name for name in table[0] if name != "id"]
    cases = [pytest.param(*(row[name] for name in names), id=row.get("id")) for row in table]
    marked: Test = pytest.mark.parametrize(names, cases)(test)
    return marked
