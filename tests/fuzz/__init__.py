"""Fuzz targets, run by atheris (CPython 3.11 to 3.13 in atheris 3.0; it needs Linux)."""

from __future__ import annotations

from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"
"""A folder of inputs for each target."""
