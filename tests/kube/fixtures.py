"""Fixtures that give tests a real API server. It lasts for the session."""

import os
from collections.abc import Iterator

import pytest

from tests.kube import building
from tests.kube.nodes import Nodes, running_nodes
from tests.kube.pods import Pods, running_pods
from tests.kube.server import Server, running_server
from tests.kube.virt import Virt, guard, running_virt
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


@pytest.fixture(scope="session")
def pods_of_session(api_server: Server) -> Iterator[Pods]:
    """What runs commands in pods."""
    try:
        with running_pods(api_server) as running:
            yield running
    except Missing as error:
        not_run("kube", str(error))


@pytest.fixture
def pods(pods_of_session: Pods, cluster: Server) -> Iterator[Pods]:
    """The pods of the cluster, none at first; the node that they are on is another one than those
    of a small cluster."""
    del cluster  # what is loaded by them is unloaded by it
    yield pods_of_session
    pods_of_session.clear()


@pytest.fixture(scope="session")
def guarded(api_server: Server) -> Server:
    """The server, with rules of admission in the namespace ``guarded``."""
    guard(api_server)
    return api_server


@pytest.fixture(scope="module")
def virt_of_module(api_server: Server) -> Iterator[Virt]:
    """KubeVirt's answers and acts."""
    with running_virt(api_server) as running:
        yield running


@pytest.fixture
def virt(virt_of_module: Virt, cluster: Server) -> Iterator[Virt]:
    """The same, for the virtual machines of a test."""
    del cluster  # what is loaded is unloaded by it
    yield virt_of_module
    virt_of_module.clear()


@pytest.fixture(scope="session")
def kubectl() -> None:
    """The program is found by its name."""
    try:
        os.environ["PATH"] += f":{building.kubectl().parent}"
    except Missing as error:
        not_run("kube", str(error))


@pytest.fixture(scope="module")
def nodes_of_module(api_server: Server, kubectl: None) -> Iterator[Nodes]:
    """Two nodes whose pods run."""
    del kubectl  # commands are run in pods by it
    try:
        with running_nodes(api_server) as running:
            yield running
    except Missing as error:
        not_run("kube", str(error))


@pytest.fixture
def nodes(nodes_of_module: Nodes, cluster: Server) -> Nodes:
    """The same; what a test creates on them is gone after it."""
    del cluster  # what is loaded is unloaded by it
    nodes_of_module.check()
    return nodes_of_module
