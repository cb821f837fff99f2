"""Prometheus' own checks, by the real promtool."""

import shutil
import subprocess
from pathlib import Path

from tests.not_run import not_run


def promtool(*words: str | Path, stdin: str = "") -> str:
    """What promtool printed; it is to be content."""
    program = shutil.which("promtool")
    if program is None:
        not_run("metrics", "promtool is not installed: apt install prometheus")
    result = subprocess.run(
        [program, *map(str, words)], input=stdin, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
    return result.stdout + result.stderr


def checked_metrics(text: str) -> str:
    """The text, of which promtool has no complaint, not even a hint."""
    assert promtool("check", "metrics", stdin=text) == ""
    return text
