"""What a connection knows of its host: name, versions, architecture, networks."""

from __future__ import annotations

import socket
from concurrent.futures import Future, TimeoutError

import msgspec

from vnicaudit.model.host import Host, HostConfig, Network
from vnicaudit.model.report import ReadError
from vnicaudit.model.version import Version
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.connection import explain
from vnicaudit.platforms.libvirt.crew import Crew
from vnicaudit.platforms.libvirt.networks import network_of
from vnicaudit.platforms.libvirt.uri import Uri

_QEMU = "QEMU"
"""``virConnectGetType`` of the QEMU driver; for KVM too."""


def read_host(
    connection: libvirt.virConnect, crew: Crew, *, patience: float
) -> tuple[Host, tuple[ReadError, ...]]:
    """The host, and what of it could not be read: a host without its networks is of use too.

    ``patience`` is in seconds, for QEMU's version alone.
    """
    qemu = connection.getType() == _QEMU
    asked = crew.call(connection.getVersion) if qemu else None
    networks, errors = _networks(connection)
    config = _config(connection) if qemu else HostConfig()
    if asked is not None:
        version, late = _emulator(asked, patience)
        config = msgspec.structs.replace(config, qemu_version=version)
        errors += late
    return Host(connection.getHostname(), config, networks), errors


def is_here(uri: Uri, hostname: str) -> bool:
    """Whether the daemon's host is the machine this program runs on, so that /proc and /dev are
    its own. The names must agree: a socket mounted into a container leads out of it."""
    here = socket.gethostname().partition(".")[0]
    return uri.local and hostname.partition(".")[0] == here


def _config(connection: libvirt.virConnect) -> HostConfig:
    """libvirt's version and the architecture. libvirt's test driver is not asked: it runs
    nothing, so its versions mean nothing."""
    return HostConfig(
        libvirt_version=Version.from_libvirt(connection.getLibVersion()),
        arch=str(connection.getInfo()[0]),
    )


def _emulator(answer: Future[int], patience: float) -> tuple[Version | None, tuple[ReadError, ...]]:
    """The version of the emulator libvirt uses by default (a domain may name another); None where
    there is none for the host's architecture.

    A daemon that has just been installed, or that cannot keep what it learned (its QEMU user may
    not open /dev/kvm), starts every emulator to answer: half a minute was seen with libvirt 9.0.
    """
    try:
        return Version.from_libvirt(answer.result(patience)), ()
    except TimeoutError:
        text = f"QEMU's version: libvirt had not found it out after {patience:g} s"
        return None, (ReadError(text),)
    except libvirt.libvirtError:
        return None, ()


def _networks(
    connection: libvirt.virConnect,
) -> tuple[tuple[Network, ...], tuple[ReadError, ...]]:
    """All networks. A driver without networks is no error; one that refuses is, for
    ``type='network'`` cannot be resolved then."""
    try:
        found = [_network(handle) for handle in connection.listAllNetworks()]
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT:
            return (), ()
        return (), (ReadError(f"networks: {explain(error)}"),)
    return tuple(network for network in found if network is not None), ()


def _network(handle: libvirt.virNetwork) -> Network | None:
    """None: undefined since it was listed."""
    try:
        return network_of(handle.XMLDesc(), active=bool(handle.isActive()))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_NETWORK:
            return None
        raise
