"""A container of Podman."""

from __future__ import annotations

from vnicaudit.bench.endpoints.hosts import Host
from vnicaudit.bench.endpoints.transport import Transport, Where

FORM = "podman://[USER@]CONTAINER"
OPTIONS = ("sudo", "sudo_user")


def connect(where: Where) -> Transport:
    """Programs in that container, by ``podman exec``."""
    return Host(where, FORM, r"(\w[\w.-]*@)?\w[\w.-]*")
