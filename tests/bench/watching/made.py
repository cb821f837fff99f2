"""Runs of a watch that were never made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path as File

from msgspec.structs import replace

from tests.bench import measurements
from tests.bench.judging.made import sample
from vnicaudit.model.measurement import Path, Ran

START = 1_790_000_000.0
HOUR = 3600.0


def at(time: float) -> str:
    """As a measurement notes it."""
    return datetime.fromtimestamp(time, timezone.utc).isoformat().replace("+00:00", "Z")


def watched(
    state: File,
    time: float,
    values: Sequence[float],
    target: str = "agent://web01",
    *,
    valid: bool = True,
    label: str = "watch",
) -> str:
    """One measurement of TCP, kept; its id."""
    one = measurements.result("1", {"web01": 1e9})
    samples = tuple(
        sample(value, "web01", order=place, boot="b1", valid=valid, raw=(Ran(("x",), 0, "out"),))
        for place, value in enumerate(values)
    )
    run = replace(one.run, started=at(time), finished=at(time + 5), labels={label: "web01"})
    path = Path(name="web01", target=target, peer="ssh://gen1", address="192.0.2.1")
    return measurements.kept(replace(one, run=run, paths=(path,), samples=samples), state)
