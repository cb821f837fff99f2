"""The compute node of a server, and what is said where it cannot be looked at."""

from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from tests.remedy.applying.clouds.fakes import CloudWorld
from tests.remedy.applying.fakes import reaching
from vnicaudit.errors import ActionError, NoResponseError
from vnicaudit.model.runs import ServerState
from vnicaudit.remedy.applying.clouds.nova_manage import Nodes


def look_up(error: ActionError, state: ServerState) -> None:
    """Ask for the domain of a server whose host answers with that error."""

    def machine(_id: str) -> object:
        raise error

    host = SimpleNamespace(machine=machine, close=lambda: None)
    with ExitStack() as stack:
        Nodes("qemu+ssh://{host}/system", 30.0, stack, reaching(host)).of(state)


@pytest.fixture
def state(world: CloudWorld) -> ServerState:
    return world.server(world.servers[0].id)


def test_a_domain_that_is_not_there(state: ServerState) -> None:
    with pytest.raises(ActionError, match=r"^no such domain$"):
        look_up(ActionError("no such domain"), state)


def test_a_host_that_stopped_answering(state: ServerState) -> None:
    with pytest.raises(NoResponseError, match="libvirt did not answer"):
        look_up(NoResponseError("libvirt did not answer"), state)
