"""Parameters and examples of which a share is tried each time, and all with ``--long``."""

from collections.abc import Mapping
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

T = TypeVar("T")


def table(rows: Mapping[str, T], columns: Mapping[str, T], one_in: int) -> list[ParameterSet]:
    """Every pair, row by row; each row and each column has one in so many that is not long."""
    return [
        pytest.param(
            row, column, id=f"{row_name}-{name}",
            marks=() if (number - place) % one_in == 0 else (pytest.mark.long,),
        )
        for place, (row_name, row) in enumerate(rows.items())
        for number, (name, column) in enumerate(columns.items())
    ]  # fmt: skip


def examples(most: int) -> int:
    """How many examples hypothesis tries where ``most`` are for a long run: a share, as of the
    hundred that it tries by itself (tests/conftest.py)."""
    return most * settings().max_examples // 100
