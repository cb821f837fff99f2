"""Facts of a connection's host: name, versions, architecture, networks."""

from __future__ import annotations

import socket
from concurrent.futures import TimeoutError
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.model.host import Host, HostConfig, Network
from vnicaudit.model.report import ReadError
from vnicaudit.model.version import Version
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.connection import explain
from vnicaudit.platforms.libvirt.networks import network_of
from vnicaudit.text.libvirt_uri import Uri

if TYPE_CHECKING:
    from concurrent.futures import Future

_QEMU = "QEMU"
"""``virConnectGetType`` of the QEMU driver, also for KVM."""


def emulator_version(connection: libvirt.virConnect) -> Version | None:
    """The version of the QEMU that libvirt uses by default (a domain may name another); None if
    there is none. May block for long: a daemon that has just been installed, or that cannot cache
    the capabilities of emulators (its QEMU user may not open /dev/kvm), starts every emulator to
    answer. Half a minute was seen with libvirt 9.0."""
    if connection.getType() != _QEMU:
        return None
    try:
        return Version.from_libvirt(connection.getVersion())
    except libvirt.libvirtError:
        return None


def read_host(
    connection: libvirt.virConnect, emulator: Future[Version | None], *, patience: float
) -> tuple[Host, tuple[ReadError, ...]]:
    """The host, and errors for parts of it that could not be read: a host without its networks is
    still useful.

    ``emulator`` is awaited for ``patience`` seconds. libvirt's test driver runs nothing, so its
    versions mean nothing and are left out.
    """
    networks, errors = _networks(connection)
    config = _config(connection) if connection.getType() == _QEMU else HostConfig()
    try:
        config = msgspec.structs.replace(config, qemu_version=emulator.result(patience))
    except TimeoutError:
        text = f"QEMU's version: libvirt did not report it within {patience:g} s"
        errors += (ReadError(text),)
    return Host(connection.getHostname(), config, networks), errors


def is_here(uri: Uri, hostname: str) -> bool:
    """True if the daemon runs on this machine, so that /proc and /dev are its own. The host names
    must agree, because a socket mounted into a container leads out of it."""
    here = socket.gethostname().partition(".")[0]
    return uri.local and hostname.partition(".")[0] == here


def _config(connection: libvirt.virConnect) -> HostConfig:
    return HostConfig(
        libvirt_version=Version.from_libvirt(connection.getLibVersion()),
        arch=str(connection.getInfo()[0]),
    )


def _networks(
    connection: libvirt.virConnect,
) -> tuple[tuple[Network, ...], tuple[ReadError, ...]]:
    """All networks. A driver without networks is no error; one that refuses is, because
    ``type='network'`` cannot be resolved then."""
    try:
        found = [_network(handle) for handle in connection.listAllNetworks()]
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_SUPPORT:
            return (), ()
        return (), (ReadError(f"networks: {explain(error)}"),)
    return tuple(network for network in found if network is not None), ()


def _network(handle: libvirt.virNetwork) -> Network | None:
    """The network; None if it was undefined since it was listed."""
    try:
        return network_of(handle.XMLDesc())
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_NETWORK:
            return None
        raise
