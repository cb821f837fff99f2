"""Servers of the clouds of a run, joined with nova.conf of their hosts and with the domains that
Nova made of them: one machine is judged once, with all known facts."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.audit.reading.nodes import NodesByHost
from vnicaudit.audit.reading.seen_objects import SeenObjects
from vnicaudit.base.identifiers import bare_uuid
from vnicaudit.knowledge.machines import QEMU_DOMAINS
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.guest_words import Readiness
from vnicaudit.model.server import PortBinding

_TYPES = ("kvm", "qemu")
"""Values of ``virt_type`` that are also the type of the domain that Nova makes."""
_NOT_SURE: tuple[Readiness, ...] = ("unknown", "likely-ready")
"""Uncertain values of :attr:`~vnicaudit.model.domain.DomainConfig.readiness`."""


class JoinedServers:
    """Servers that were read, joined with nodes and domains. ``everyone``: libvirt or processes are
    read as well, so every server waits for its domain; else only the ``awaited`` (bare UUIDs) do,
    which have a definition in a file. ``seen``: there are several clouds, of which two may be one
    under two names, or have a host of the same name, so servers whose host has a nova.conf wait
    until all clouds were read."""

    def __init__(
        self,
        nodes: NodesByHost,
        awaited: frozenset[str] = frozenset(),
        *,
        everyone: bool = False,
        seen: SeenObjects | None = None,
    ) -> None:
        self._nodes = nodes
        self._awaited = awaited
        self._everyone = everyone
        self._seen = seen
        self._waiting: dict[str, tuple[str, Server]] = {}
        self._met: set[str] = set()
        self.read_twice = self.nics_read_twice = 0
        """Number of servers that were also read as domains or under another cloud name, and of
        their NICs."""

    def take(self, server: Server, target: str) -> Server | None:
        """The server with nova.conf of its host, to be judged now; None: it waits for its domain,
        or was read from another cloud before."""
        key = bare_uuid(server.uuid)
        if self._seen is not None and self._seen.server(key, target):
            self._count(server)
            return None
        has_node = self._nodes.meet(server.cloud.host, target)
        several = self._seen is not None
        waits = self._everyone or key in self._awaited or (several and has_node)
        if not waits:
            return with_node(server, self._nodes)
        self._waiting[key] = (target, server)
        return None

    def joined(self, domain: Domain) -> Domain:
        """A domain with the properties that its cloud stores; unchanged if it is not a server that
        was read."""
        key = bare_uuid(domain.uuid or "")
        found = self._waiting.get(key)
        if found is None:
            return domain
        if key not in self._met:
            self._met.add(key)
            self._count(found[1])
        return with_server(domain, with_node(found[1], self._nodes))

    def unmatched(self) -> Iterator[tuple[str, Server]]:
        """The servers whose domain was not read, each with its target."""
        for key, (target, server) in self._waiting.items():
            if key not in self._met:
                yield target, with_node(server, self._nodes)

    def _count(self, server: Server) -> None:
        self.read_twice += 1
        self.nics_read_twice += len(server.nics)


def with_node(server: Server, nodes: NodesByHost) -> Server:
    """A server with the settings in nova.conf of its host; if that was not read, with the
    reason."""
    kept, who = server.config, server.cloud
    node = nodes.of(who.host)
    if node is None:
        why = nodes.unknown_reason(who.host)
        return replace(server, cloud=replace(who, unjoined=why)) if why else server
    kind = node.value("virt_type")
    known = kind in _TYPES and server.declared.type in QEMU_DOMAINS
    declared = server.declared.with_server(replace(kept, node=node))
    declared = replace(declared, type=kind if known else declared.type)
    return replace(server, declared=declared)


def with_server(domain: Domain, server: Server) -> Domain:
    """A domain of libvirt, or a QEMU process, with the properties that Nova stores for its server.
    NICs are matched by MAC."""
    kept = replace(server.config, bindings=_bindings(domain, server))
    declared = replace(
        domain.declared.with_server(kept),
        owner=server.declared.owner,
        readiness=_readiness(domain.declared.readiness, server.declared.readiness),
    )
    return replace(domain, declared=declared, cloud=server.cloud)


def _readiness(by_definition: Readiness, by_cloud: Readiness) -> Readiness:
    """The guest's readiness by its definition; if that is uncertain, by the operating system that
    Nova stores for the server, as Nova names none in the definition."""
    return by_cloud if by_definition in _NOT_SURE and by_cloud != "unknown" else by_definition


def _bindings(domain: Domain, server: Server) -> tuple[PortBinding, ...]:
    """Port bindings of the domain's NICs, in their order; an empty one for a NIC without a port."""
    # bindings that the reader could not determine are missing at the end of the list
    found = {
        nic.mac: binding for nic, binding in zip(server.nics, server.config.bindings, strict=False)
    }
    return tuple(found.get(nic.mac, PortBinding()) for nic in domain.nics)
