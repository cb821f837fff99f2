"""A cloud without OpenStack for each test of what works on it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.remedy.applying.clouds.fakes import CloudWorld, installed

MakeCloud = Callable[..., CloudWorld]


@pytest.fixture
def make_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeCloud:
    """Makes it with so many servers."""

    def make(servers: int = 1) -> CloudWorld:
        return installed(CloudWorld(tmp_path, servers), monkeypatch)

    return make


@pytest.fixture
def world(make_cloud: MakeCloud) -> CloudWorld:
    """With one server."""
    return make_cloud()
