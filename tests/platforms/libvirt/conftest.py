"""Fixtures: a libvirtd of our own, and ways for a host to fail."""

import socket
from collections.abc import Iterator

import libvirt
import pytest

from tests.not_run import not_run
from tests.platforms.libvirt.private_daemon import PrivateDaemon, private_daemon
from tests.rig.errors import Missing


@pytest.fixture(scope="session")
def daemon() -> Iterator[PrivateDaemon]:
    """A real libvirtd that nobody else uses."""
    try:
        with private_daemon() as running:
            yield running
    except Missing as error:
        not_run("rig", str(error))


@pytest.fixture
def hypervisor_connection(daemon: PrivateDaemon) -> Iterator[libvirt.virConnect]:
    """A connection to it that may write; what a test defined or started is removed after it."""
    connection = libvirt.open(daemon.uri)
    yield connection
    for domain in connection.listAllDomains():
        persistent = domain.isPersistent()
        if domain.isActive():
            domain.destroy()
        if persistent:
            domain.undefineFlags(libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE)
    for network in connection.listAllNetworks():
        if network.isActive():
            network.destroy()
        network.undefine()
    connection.close()


@pytest.fixture
def mute_port() -> Iterator[int]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
