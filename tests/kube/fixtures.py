"""Fixtures that give tests a real API server. It lasts for the session."""

from collections.abc import Iterator

import pytest

from tests.kube.server import Server, running_server
from tests.not_run import not_run
from tests.rig.errors import Missing


@pytest.fixture(scope="session")
def api_server() -> Iterator[Server]:
    """A real API server with nothing in it but kinds."""
    try:
        with running_server() as running:
            yield running
    except Missing as error:
        not_run("kube", str(error))


@pytest.fixture
def cluster(api_server: Server) -> Iterator[Server]:
    """The same; what a test creates there is gone after it."""
    yield api_server
    api_server.unload()
