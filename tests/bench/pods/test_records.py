"""Runs with generator pods are remembered until everything is removed, by whoever is killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from vnicaudit.bench.pods.records import PodsRecord, forget, known_runs, recorded
from vnicaudit.errors import UsageError

RECORD = PodsRecord("20261130-120000-0001", "kube:prod", "https://192.0.2.1:6443")
KILLED = """
import os, sys, signal
from pathlib import Path
from vnicaudit.bench.pods.records import PodsRecord, recorded
with recorded(Path(sys.argv[1]), PodsRecord(*sys.argv[2:])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_is_alive_as_long_as_its_process(tmp_path: Path) -> None:
    assert known_runs(tmp_path) == ((), ())
    with recorded(tmp_path, RECORD):
        assert known_runs(tmp_path) == ((RECORD.run,), ())
    assert known_runs(tmp_path) == ((), (RECORD,))
    forget(tmp_path, RECORD.run)
    assert known_runs(tmp_path) == ((), ())


def test_a_run_that_was_killed(tmp_path: Path) -> None:
    words = [str(tmp_path), RECORD.run, RECORD.target, RECORD.server]
    subprocess.run([sys.executable, "-c", KILLED, *words], check=False, timeout=60)
    assert known_runs(tmp_path) == ((), (RECORD,))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "bench").write_text("")
    with (
        pytest.raises(UsageError, match="choose another folder with --state"),
        recorded(tmp_path, RECORD),
    ):
        pass


def test_a_record_that_is_none(tmp_path: Path) -> None:
    with recorded(tmp_path, RECORD):
        pass
    path = tmp_path / "bench/pods" / f"{RECORD.run}.json"
    path.write_text("{")
    with pytest.raises(UsageError, match="not the record of a run; remove it"):
        known_runs(tmp_path)


def test_a_record_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    with recorded(tmp_path, RECORD):
        pass
    path = tmp_path / "bench/pods" / f"{RECORD.run}.json"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=rf"{path}: Too many levels of symbolic links"):
        known_runs(tmp_path)
