"""A host without libvirt for each test of what works on it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.remedy.applying.fakes import World, installed

MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeWorld:
    """Makes it with so many guests, and so many NICs in each."""

    def make(guests: int = 1, nics: int = 1) -> World:
        return installed(World(tmp_path, guests, nics), monkeypatch)

    return make


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    """With one guest that has one NIC."""
    return make_world()
