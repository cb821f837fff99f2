"""The compute node of a server, and what is said where it cannot be looked at."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from tests.remedy.applying.clouds.fakes import CloudWorld
from vnicaudit.errors import ActionError, SilentError
from vnicaudit.model.cloud_state import ServerState
from vnicaudit.remedy.applying.clouds import nodes
from vnicaudit.remedy.applying.clouds.nodes import Nodes


def looked_up(monkeypatch: pytest.MonkeyPatch, error: ActionError, state: ServerState) -> object:
    """What is said of a server whose host answers with that error."""

    def machine(_id: str) -> object:
        raise error

    host = SimpleNamespace(machine=machine, close=lambda: None)
    monkeypatch.setattr(nodes, "connect", lambda _uri, **_deadline: host)
    with ExitStack() as stack:
        return Nodes("qemu+ssh://{host}/system", 30.0, stack).of(state)


@pytest.fixture
def state(world: CloudWorld) -> ServerState:
    return world.server(world.servers[0].id)


def test_a_domain_that_is_not_there(monkeypatch: pytest.MonkeyPatch, state: ServerState) -> None:
    assert looked_up(monkeypatch, ActionError("no such domain"), state) == "no such domain"


def test_a_host_that_stopped_answering(monkeypatch: pytest.MonkeyPatch, state: ServerState) -> None:
    with pytest.raises(SilentError, match="libvirt did not answer"):
        looked_up(monkeypatch, SilentError("libvirt did not answer"), state)
