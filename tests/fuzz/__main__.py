"""Fuzz the readers, one after the other.

    python -m tests.fuzz -max_total_time=10
    python -m tests.fuzz xml nova -max_total_time=60

Words are targets, without one all; arguments that begin with - are libFuzzer's. The seeds are read,
not written.
"""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr
from io import StringIO

import atheris

from tests.fuzz import options

# the first import of the product must be this one, or it is not instrumented; a line on standard
# error for each module tells nobody anything
with redirect_stderr(StringIO()), atheris.instrument_imports(include=["vnicaudit"]):
    from tests.fuzz.targets import TARGETS


def main(arguments: list[str]) -> int:
    """Run each until libFuzzer's limit or the first bug; the exit code is that of the first that
    failed, or 0."""
    told = [word for word in arguments if word.startswith("-")]
    kinds = [word for word in arguments if not word.startswith("-")] or list(TARGETS)
    codes = [_fuzzed(kind, told) for kind in kinds]
    return next((code for code in codes if code), 0)


def _fuzzed(kind: str, told: list[str]) -> int:
    """The exit code of a process of its own: libFuzzer ends it. To instrument the product takes
    longer than to fuzz it, and is done once for all."""
    print(f"fuzz: {kind}", file=sys.stderr, flush=True)
    child = os.fork()
    if child == 0:
        atheris.Setup([sys.argv[0], *told, *options(kind)], TARGETS[kind])
        atheris.Fuzz()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
