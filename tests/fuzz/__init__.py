"""Fuzz targets, run by atheris (CPython 3.11 to 3.13 in atheris 3.0; it needs Linux)."""

from pathlib import Path

from tests.drawing import DRAWS

SEEDS = Path(__file__).parent / "seeds"
"""A folder of inputs for each target."""


def options(kind: str) -> list[str]:
    """What libFuzzer is told for that target. Its inputs are the same each time, and new ones with
    VNICAUDIT_DRAW=1."""
    seeds = sorted(str(path) for path in (SEEDS / kind).iterdir())
    chance = [] if DRAWS else ["-seed=1"]
    return [*chance, "-max_len=16384", "-seed_inputs=" + ",".join(seeds)]
