"""What is drawn at random is the same each time, as the examples of hypothesis are
(tests/conftest.py): no run is red by chance. With VNICAUDIT_DRAW=1 it is new, and its seed is
printed."""

import os
import random

DRAWS = bool(os.environ.get("VNICAUDIT_DRAW"))


def drawn_seed() -> int:
    """A seed, for the test to tell."""
    return random.randrange(1_000_000) if DRAWS else 12
