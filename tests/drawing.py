"""What is drawn at random. In CI it is the same each time, as the examples of hypothesis are
(tests/conftest.py): whether a change may land is not left to chance."""

from __future__ import annotations

import os
import random

IN_CI = os.environ.get("CI") == "true"


def drawn_seed() -> int:
    """A seed, for the test to tell."""
    return 12 if IN_CI else random.randrange(1_000_000)
