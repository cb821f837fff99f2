"""Words that are kept in a redacted text: those of vnicaudit's own sentences.

``public_words.txt`` beside this file is generated (scripts/generate_public_words.py) from the texts
of rules, knowledge, and the modules that read and judge. Any other word of a message may be a name.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def public_words() -> frozenset[str]:
    """The words, in lower case."""
    text = files(__package__).joinpath("public_words.txt").read_text("utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))
