"""The transport into a network namespace of this machine, by its name in ``ip netns``."""

from __future__ import annotations

import re

from vnicaudit.bench.endpoints.reach.process import Prefixed, sudo
from vnicaudit.bench.endpoints.reach.transport import EndpointUrl, Transport, TransportConnections
from vnicaudit.errors import UsageError

FORM = "netns://NAME"
OPTIONS = ("sudo",)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,254}")


def connect(where: EndpointUrl, _reach: TransportConnections) -> Transport:
    """A transport that runs programs of this machine in that namespace."""
    if _NAME.fullmatch(where.name) is None:
        raise UsageError(f"{where.url}: not the name of a network namespace; expected {FORM}")
    return Prefixed((*sudo(where), "ip", "netns", "exec", where.name))
