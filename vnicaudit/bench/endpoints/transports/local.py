"""This machine."""

from __future__ import annotations

from vnicaudit.bench.endpoints.reach.process import Prefixed, sudo
from vnicaudit.bench.endpoints.reach.transport import EndpointUrl, Reach, Transport
from vnicaudit.errors import UsageError

FORM = "local"
OPTIONS = ("sudo",)


def connect(where: EndpointUrl, _reach: Reach) -> Transport:
    """Programs of this machine."""
    if where.name:
        raise UsageError(f"{where.url}: it is {FORM}, without a name")
    return Prefixed(sudo(where))
