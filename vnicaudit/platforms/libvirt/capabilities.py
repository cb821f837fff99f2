"""What a connection knows of its host: name, versions, architecture."""

from __future__ import annotations

import socket
from concurrent.futures import Future

from vnicaudit.model.host import HostConfig
from vnicaudit.model.version import Version
from vnicaudit.platforms.libvirt.binding import libvirt
from vnicaudit.platforms.libvirt.crew import Crew
from vnicaudit.platforms.libvirt.uri import Uri

_QEMU = "QEMU"
"""``virConnectGetType`` of the QEMU driver; for KVM too."""


def host_config(connection: libvirt.virConnect, crew: Crew) -> HostConfig:
    """Versions and architecture, None where the driver does not say.

    ``qemu_version`` is that of the emulator libvirt uses by default: a domain may name another.
    libvirt's test driver runs nothing, so its versions mean nothing and are left out.
    """
    if connection.getType() != _QEMU:
        return HostConfig()
    library = crew.call(connection.getLibVersion)
    emulator = crew.call(connection.getVersion)
    info = crew.call(connection.getInfo)
    return HostConfig(
        libvirt_version=Version.from_libvirt(library.result()),
        qemu_version=_emulator(emulator),
        arch=str(info.result()[0]),
    )


def is_here(uri: Uri, hostname: str) -> bool:
    """Whether the daemon's host is the machine this program runs on, so that /proc and /dev are
    its own. The names must agree: a socket mounted into a container leads out of it."""
    here = socket.gethostname().partition(".")[0]
    return uri.local and hostname.partition(".")[0] == here


def _emulator(answer: Future[int]) -> Version | None:
    """None where libvirt finds no QEMU for the host's own architecture."""
    try:
        return Version.from_libvirt(answer.result())
    except libvirt.libvirtError:
        return None
