"""Answers that mean a user is not shown a list, and not that the list could not be read."""

from __future__ import annotations

REFUSED = frozenset({403, 404, 410})
"""The policy forbids it (403), hides it (404), or this release has it no more (410). Whatever else
goes wrong, no answer at all among it, is an error."""
