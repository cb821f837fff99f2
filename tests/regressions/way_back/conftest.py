"""A host in memory, and the program that works on it."""

from tests.remedy.applying.conftest import make_world, world

__all__ = ["make_world", "world"]
