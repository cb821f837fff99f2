"""Processes that are killed while they store, and two that store at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from vnicaudit.history.place import HistoryPlace

ROOT = Path(__file__).parents[2]


def processes(*words: str) -> str:
    """They are forked from a process that has one thread."""
    command = [sys.executable, "-m", "tests.history.processes", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    return done.stdout


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.long)])
def test_a_history_is_whole_wherever_one_is_killed_who_stores(
    place: HistoryPlace, kills: int
) -> None:
    assert "all whole" in processes("kills", "--kills", str(kills), "--place", place.target)


def test_two_store_at_once(place: HistoryPlace) -> None:
    assert "12 audits" in processes("writers", "--place", place.target)
