"""``GET /os-hypervisors/detail``: what runs servers.

Source of the fields: Nova 34.0.0, ``api/openstack/compute/hypervisors.py``. ``hypervisor_type`` is
what libvirt's ``getType`` says, QEMU for KVM as well; ``hypervisor_version`` is QEMU's there
(``virt/libvirt/host.py`` ``get_version``).
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from vnicaudit.model.decoding import json_as, json_decoder
from vnicaudit.model.report import ReadError
from vnicaudit.model.version import Version
from vnicaudit.platforms.openstack.calls import Calls
from vnicaudit.platforms.openstack.pages import Listing, pages
from vnicaudit.platforms.openstack.refusals import take_all
from vnicaudit.platforms.openstack.versions import Microversions, shown

_NODES = 100
"""A page: each comes with all features of its CPU."""
_MOST_VERSION = 1_000_000_000


class Node(NamedTuple):
    """One hypervisor: ``kind`` in lower case, and of one that is QEMU which it is now (a guest may
    have been started by an older one), and the architecture of its CPU."""

    kind: str
    qemu: Version | None = None
    arch: str | None = None


class Nodes:
    """Hypervisors by host and name. ``seen`` False: this user may not see them; None: they could
    not be read, and ``errors`` say why."""

    def __init__(self) -> None:
        self.seen: bool | None = None
        self.errors: list[ReadError] = []
        self._of: dict[tuple[str, str], Node] = {}

    def node(self, host: str | None, name: str | None) -> Node | None:
        """That of a server; None where it is not known."""
        return None if host is None or name is None else self._of.get((host, name))

    def add(self, raw: RawNode) -> None:
        """Keep one."""
        if raw.kind is None or raw.name is None or raw.service is None or raw.service.host is None:
            return
        qemu = _version(raw.version) if raw.kind.lower() == "qemu" else None
        node = Node(raw.kind.lower(), qemu, _arch(raw.cpu_info))
        self._of[raw.service.host, raw.name] = node


class Service(msgspec.Struct):
    host: str | None = None


class _Cpu(msgspec.Struct):
    arch: str | None = None


class RawNode(msgspec.Struct):
    """One hypervisor as Nova says it; ``cpu_info`` up to 2.27 as JSON in a string."""

    name: str | None = msgspec.field(name="hypervisor_hostname", default=None)
    kind: str | None = msgspec.field(name="hypervisor_type", default=None)
    version: int | None = msgspec.field(name="hypervisor_version", default=None)
    service: Service | None = None
    cpu_info: _Cpu | str | None = None


def read_nodes(calls: Calls, microversions: Microversions) -> Nodes:
    """All hypervisors, where this user may see them."""
    found = Nodes()
    listing = Listing(
        "compute", "/os-hypervisors/detail", "hypervisors", _NODES, (), shown(microversions.nodes)
    )
    if not microversions.paged_nodes:
        listing = listing._replace(limit=None)
    listed = pages(calls, listing, json_decoder(RawNode))
    found.seen = take_all(listed, found.add, found.errors)
    return found


def _version(number: int | None) -> Version | None:
    if number is None or not 0 < number < _MOST_VERSION:
        return None
    return Version.from_libvirt(number)


def _arch(cpu: _Cpu | str | None) -> str | None:
    if isinstance(cpu, str):
        try:
            cpu = json_as(cpu, _Cpu)
        except (msgspec.DecodeError, RecursionError):
            return None
    return None if cpu is None else cpu.arch
