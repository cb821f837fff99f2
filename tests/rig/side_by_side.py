"""The tests with real guests, those of L1 beside the others: each half waits for one emulated CPU.

    python -m tests.rig.side_by_side [OPTIONS OF PYTEST] PATHS

Two processes of pytest, each with a bridge and guests of its own. What one says is printed when it
ends; the exit code is the worse of the two.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import IO

HALVES = {
    "guests of L1": "rig and l1 and not alone",
    "guests of this machine": "rig and not l1 and not alone",
}


def started(marks: str, arguments: list[str], output: IO[str]) -> subprocess.Popen[str]:
    """One half, at work."""
    words = [sys.executable, "-m", "pytest", "-m", marks, "--none-is-fine", *arguments]
    return subprocess.Popen(words, stdout=output, stderr=output, text=True)


def main(arguments: list[str]) -> int:
    """The worse exit code."""
    running = []
    for name, marks in HALVES.items():
        output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - read below
        running.append((name, started(marks, arguments, output), output))
    codes = []
    try:
        for name, process, output in reversed(running):
            codes.append(process.wait())
            output.seek(0)
            print(f"== {name}", output.read(), sep="\n", flush=True)
    finally:
        for _name, process, _output in running:
            if process.poll() is None:
                process.terminate()
                process.wait()
    return max(map(abs, codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
