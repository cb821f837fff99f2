"""Fuzz targets, run by atheris (CPython 3.11 to 3.13 in atheris 3.0; it needs Linux)."""

from pathlib import Path

from tests.drawing import IN_CI

SEEDS = Path(__file__).parent / "seeds"
"""A folder of inputs for each target."""


def options(kind: str) -> list[str]:
    """What libFuzzer is told for that target. In CI its inputs are the same each time; elsewhere it
    looks for new ones."""
    seeds = sorted(str(path) for path in (SEEDS / kind).iterdir())
    chance = ["-seed=1"] if IN_CI else []
    return [*chance, "-max_len=16384", "-seed_inputs=" + ",".join(seeds)]
