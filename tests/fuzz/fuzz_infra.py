"""Fuzz the readers of infrastructure code: images, flavors and guests.

    python -m tests.fuzz.fuzz_infra -max_total_time=60

Further arguments are libFuzzer's, e.g. a corpus directory to grow. The seeds are read, not
written.
"""

from __future__ import annotations

import sys

import atheris

from tests.fuzz import SEEDS

# the first import of the product must be this one, or it is not instrumented
with atheris.instrument_imports(include=["vnicaudit"]):
    from tests.fuzz.targets import read_infra


def main() -> None:
    """Run until libFuzzer's limit or the first bug; the exit code is libFuzzer's."""
    seeds = sorted(str(path) for path in (SEEDS / "infra").iterdir())
    arguments = [*sys.argv, "-max_len=16384", "-seed_inputs=" + ",".join(seeds)]
    atheris.Setup(arguments, read_infra)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
