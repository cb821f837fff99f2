"""Records that reading live hosts and clouds yields."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.host import HostConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError

CloudRecord = Server | Image | Flavor
"""A record of a cloud that is judged."""

CloudItem = CloudRecord | ReadError
"""An item that reading a cloud yields."""


class LiveDomain(NamedTuple):
    """A domain and the facts of its host, including the device files that the domain names."""

    domain: Domain
    host: HostConfig


class LiveDefinition(NamedTuple):
    """A domain in its present state, and its persistent definition: parsed, and as text without
    passwords (empty: it has none). ``local``: its host is this machine."""

    running: Domain
    domain: Domain
    text: bytes
    host: HostConfig
    local: bool
    way_back: str = ""
    """How libvirt would alter the definition if it is restored after a change; empty: not at
    all."""
