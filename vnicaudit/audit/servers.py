"""Servers of the clouds of a run, joined with nova.conf of their hosts and with the domains that
Nova made of them: one machine is judged once, by all that is known of it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.audit.fingerprint import bare_uuid
from vnicaudit.audit.nodes import NodesByHost
from vnicaudit.audit.sightings import Sightings
from vnicaudit.model.domain import Domain
from vnicaudit.model.hypervisors import QEMU_DOMAINS
from vnicaudit.model.server import PortBinding, ServerConfig

_TYPES = ("kvm", "qemu")
"""``virt_type`` that is the type of the domain Nova makes."""
_NOT_SURE = ("unknown", "likely-ready")
"""Of :attr:`~vnicaudit.model.domain.DomainConfig.readiness`."""


class Servers:
    """Those that were read. ``everyone`` waits for its domain where libvirt or processes are read
    as well; else only the ``awaited`` (bare UUIDs) do, of which there is a definition in a file.
    ``sightings``: there are several clouds, of which two may be one under two names, or have a host
    of one name; servers whose host has a nova.conf wait for all of them."""

    def __init__(
        self,
        nodes: NodesByHost,
        awaited: frozenset[str] = frozenset(),
        *,
        everyone: bool = False,
        sightings: Sightings | None = None,
    ) -> None:
        self._nodes = nodes
        self._awaited = awaited
        self._everyone = everyone
        self._sightings = sightings
        self._waiting: dict[str, tuple[str, Domain]] = {}
        self._met: set[str] = set()
        self.again = self.again_nics = 0
        """How many were read twice, as servers and as domains, and how many NICs those have."""

    def take(self, server: Domain, target: str) -> Domain | None:
        """The server with nova.conf of its host, to be judged now; None: it waits for its domain,
        or was read from another cloud before."""
        key = bare_uuid(server.uuid or "")
        if self._sightings is not None and self._sightings.server(key, target):
            self._count(server)
            return None
        host = None if server.cloud is None else server.cloud.host
        has_node = self._nodes.meet(host, target)
        several = self._sightings is not None
        waits = self._everyone or key in self._awaited or (several and has_node)
        if not waits:
            return with_node(server, self._nodes)
        self._waiting[key] = (target, server)
        return None

    def joined(self, domain: Domain) -> Domain:
        """A domain with what its cloud keeps of it; as it is, where it is no server that was
        read."""
        key = bare_uuid(domain.uuid or "")
        found = self._waiting.get(key)
        if found is None:
            return domain
        if key not in self._met:
            self._met.add(key)
            self._count(found[1])
        return with_server(domain, with_node(found[1], self._nodes))

    def left(self) -> Iterator[tuple[str, Domain]]:
        """Those whose domain was not met, each with the target it is of."""
        for key, (target, server) in self._waiting.items():
            if key not in self._met:
                yield target, with_node(server, self._nodes)

    def _count(self, server: Domain) -> None:
        self.again += 1
        self.again_nics += len(server.nics)


def with_node(server: Domain, nodes: NodesByHost) -> Domain:
    """A server with what nova.conf of its host says, where that was read; else with why not."""
    kept, who = server.declared.server, server.cloud
    node = nodes.of(None if who is None else who.host)
    if kept is None or node is None:
        why = "" if who is None else nodes.why_not(who.host)
        return replace(server, cloud=replace(who, unjoined=why)) if who and why else server
    kind = node.value("virt_type")
    known = kind in _TYPES and server.declared.type in QEMU_DOMAINS
    declared = replace(
        server.declared,
        server=replace(kept, node=node),
        type=kind if known else server.declared.type,
    )
    return replace(server, declared=declared)


def with_server(domain: Domain, server: Domain) -> Domain:
    """A domain of libvirt's, or a QEMU, with what Nova keeps of the server it is. Its NICs are
    told by their MAC."""
    kept = server.declared.server
    if kept is None:
        return domain
    kept = replace(kept, bindings=_bindings(domain, server, kept))
    declared = replace(
        domain.declared,
        owner=server.declared.owner,
        server=kept,
        readiness=_readiness(domain.declared.readiness, server.declared.readiness),
    )
    return replace(domain, declared=declared, cloud=server.cloud)


def _readiness(by_definition: str, by_cloud: str) -> str:
    """What its definition tells of the guest; where that is not sure, what the system that Nova
    keeps for it tells: Nova names none in the definition."""
    return by_cloud if by_definition in _NOT_SURE and by_cloud != "unknown" else by_definition


def _bindings(domain: Domain, server: Domain, kept: ServerConfig) -> tuple[PortBinding, ...]:
    """Of the domain's NICs, in their order; of one that has no port, one that says nothing."""
    # a port that the reader could not tell the binding of has none at the end of the list
    found = {nic.mac: binding for nic, binding in zip(server.nics, kept.bindings, strict=False)}
    return tuple(found.get(nic.mac, PortBinding()) for nic in domain.nics)
