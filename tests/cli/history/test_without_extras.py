"""A plain install: commands of the history say which package is missing."""

import subprocess
import sys
from pathlib import Path

from tests.rows import rows_of_tuples
from vnicaudit import __main__ as program

_PLAIN = f"""
import runpy, sys
sys.modules["sqlalchemy"] = None
runpy.run_path({program.__file__!r}, run_name="__main__")
"""


@rows_of_tuples
def test_the_missing_package_is_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    # a process of its own: modules that others imported would hide what is imported too early
    command = [sys.executable, "-c", _PLAIN, *words, "--state", str(tmp_path / "state")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install '.[history]'" in done.stderr
