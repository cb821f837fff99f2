"""The program, with this platform: ``python -m tests.platforms.example plan inventory:FILE``."""

from __future__ import annotations

import sys

from tests.platforms.example.platform import with_example
from vnicaudit.cli.main import run
from vnicaudit.cli.wiring import Wiring

if __name__ == "__main__":
    sys.exit(run(wiring=Wiring(platforms=with_example)))
