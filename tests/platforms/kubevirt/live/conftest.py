"""A cluster on this machine, the only one that kubeconfig files name."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.platforms.kubevirt.live.api_server import FakeServer, kubeconfig, served
from vnicaudit.platforms.kubevirt.live import client


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """The contexts ``prod`` (the current one) and ``team/eu``."""
    monkeypatch.setattr(client, "_PAUSES", (0.0, 0.0))
    with served(FakeServer()) as server:
        server.lists["kubevirt.io/v1/virtualmachines"] = []
        server.lists["kubevirt.io/v1/virtualmachineinstances"] = []
        file = kubeconfig(tmp_path / "config", server.url, "prod", "team/eu")
        monkeypatch.setenv("KUBECONFIG", str(file))
        yield server
