"""The transport to this machine."""

from __future__ import annotations

from vnicaudit.bench.endpoints.reach.process import Prefixed, sudo
from vnicaudit.bench.endpoints.reach.transport import EndpointUrl, Transport, TransportConnections
from vnicaudit.errors import UsageError

FORM = "local"
OPTIONS = ("sudo",)


def connect(where: EndpointUrl, _reach: TransportConnections) -> Transport:
    """A transport that runs programs on this machine."""
    if where.name:
        raise UsageError(f"{where.url}: expected {FORM}, without a name")
    return Prefixed(sudo(where))
