"""A measurement by its name in the history, or by its file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from vnicaudit.bench import history
from vnicaudit.model.measurement import BenchResult, Sample


class Stored(NamedTuple):
    """``result``: without what the tools said; ``samples``: with it, one at a time."""

    name: str
    result: Callable[[], BenchResult]
    samples: Callable[[], Iterable[Sample]]


def stored(name: str, state: Path) -> Stored:
    """What is kept under that name, else the file. Raises UsageError where it is neither."""
    if name in history.ids(state) and not os.path.exists(name):
        kept = history.kept(state, name)
        return Stored(name, kept.result, kept.samples)
    if not (os.path.exists(name) or os.sep in name or name.endswith(".json")):
        history.kept(state, name)  # says that there is none, and what lists them
    from vnicaudit.reports.bench.json import from_file, samples_in

    file = Path(name)
    return Stored(name, lambda: from_file(file), lambda: samples_in(file))
