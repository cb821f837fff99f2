"""What a connection knows of its host: name, versions, architecture, networks."""

from __future__ import annotations

import socket

from vnicaudit.model.host import Host, HostConfig, Network
from vnicaudit.model.report import ReadError
from vnicaudit.model.version import Version
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.connection import explain
from vnicaudit.platforms.libvirt.networks import network_of
from vnicaudit.platforms.libvirt.uri import Uri

_QEMU = "QEMU"
"""``virConnectGetType`` of the QEMU driver; for KVM too."""


def read_host(connection: libvirt.virConnect) -> tuple[Host, tuple[ReadError, ...]]:
    """The host and what of it could not be read: without its networks the host is of use."""
    networks, errors = _networks(connection)
    return Host(connection.getHostname(), _config(connection), networks), errors


def is_here(uri: Uri, hostname: str) -> bool:
    """Whether the daemon's host is the machine this program runs on, so that /proc and /dev are
    its own. The names must agree: a socket mounted into a container leads out of it."""
    here = socket.gethostname().partition(".")[0]
    return uri.local and hostname.partition(".")[0] == here


def _config(connection: libvirt.virConnect) -> HostConfig:
    """Versions and architecture, None where the driver does not say.

    ``qemu_version`` is that of the emulator libvirt uses by default: a domain may name another.
    libvirt's test driver runs nothing, so its versions mean nothing and are left out.
    """
    if connection.getType() != _QEMU:
        return HostConfig()
    return HostConfig(
        libvirt_version=Version.from_libvirt(connection.getLibVersion()),
        qemu_version=_emulator(connection),
        arch=str(connection.getInfo()[0]),
    )


def _emulator(connection: libvirt.virConnect) -> Version | None:
    """None where libvirt finds no QEMU for the host's own architecture."""
    try:
        return Version.from_libvirt(connection.getVersion())
    except libvirt.libvirtError:
        return None


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
