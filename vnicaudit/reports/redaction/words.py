"""Words that may stay in a redacted text: those that this program's own sentences are made of.

``public_words.txt`` beside this file is generated (scripts/generate_public_words.py) from the texts
of rules, of what is known, and of what reads and judges; every other word of a message may be
somebody's name for something.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def public_words() -> frozenset[str]:
    """The words, in lower case."""
    text = files(__package__).joinpath("public_words.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))
