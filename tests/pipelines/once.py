"""Things that take long to make, made once for all the processes that run tests."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(
    factory: pytest.TempPathFactory, worker: str, name: str, make: Callable[[Path], None]
) -> Path:
    """A folder that ``make`` has filled, for the first process that needs it. ``worker``: the
    fixture ``worker_id``."""
    place = factory.getbasetemp()
    place = (place if worker == "master" else place.parent) / name
    made = place.with_suffix(".made")
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            make(place)
            made.touch()
    return place
