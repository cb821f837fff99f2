"""Programs on this machine: find them, run them, wait for what they bring about."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from tests.rig.errors import Missing, RigError

T = TypeVar("T")

# How long a fact may take to come. Emulation on cores that are busy with other guests is slow, and
# a limit that is long costs nothing where the fact comes.
PATIENCE = 300


def log(text: str) -> None:
    """Progress on stderr: builds and boots take minutes."""
    print(f"rig: {text}", file=sys.stderr, flush=True)


def require(*programs: str) -> None:
    """Raise Missing unless every program can be found."""
    absent = [name for name in programs if shutil.which(name) is None]
    if absent:
        raise Missing(f"{', '.join(absent)} cannot be found; see scripts/packages/rig.apt")


def run(
    *argv: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 600,
) -> str:
    """Standard output of a program that must succeed."""
    shown = " ".join(str(word) for word in argv)
    try:
        ended = subprocess.run(
            argv, env=env, cwd=cwd, timeout=timeout, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise RigError(f"{shown}: no end after {timeout:.0f} s") from error
    if ended.returncode:
        said = (ended.stderr or ended.stdout)[-2000:]
        raise RigError(f"{shown}: exit code {ended.returncode}: {said}")
    return ended.stdout


def wait_for(fact: Callable[[], T | None], what: str, *, seconds: float = PATIENCE) -> T:
    """The first true answer of `fact`, asked again and again until the time is up."""
    end = time.monotonic() + seconds
    while not (answer := fact()):
        if time.monotonic() > end:
            raise RigError(f"{what}: not so after {seconds:.0f} s")
        time.sleep(0.2)
    return answer
