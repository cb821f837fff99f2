"""Fuzz the reader of nova.conf, and the rules that judge it.

    python -m tests.fuzz.fuzz_nova -max_total_time=60

Further arguments are libFuzzer's, e.g. a corpus directory to grow. The seeds are read, not
written.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stderr
from io import StringIO

import atheris

from tests.fuzz import options

# the first import of the product must be this one, or it is not instrumented; a line on standard
# error for each module tells nobody anything
with redirect_stderr(StringIO()), atheris.instrument_imports(include=["vnicaudit"]):
    from tests.fuzz.targets import read_nova


def main() -> None:
    """Run until libFuzzer's limit or the first bug; the exit code is libFuzzer's."""
    atheris.Setup([*sys.argv, *options("nova")], read_nova)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
