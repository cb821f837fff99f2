"""Servers, nodes and other objects that a run has seen, for comparing."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice
from typing import Literal, NamedTuple

from msgspec.structs import replace

from vnicaudit.base.wording import bare_uuid, count
from vnicaudit.knowledge.systems import QEMU_DOMAINS
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import Readiness
from vnicaudit.model.host import SiteNode
from vnicaudit.model.openstack import Flavor, Image, NodeFacts, PortBinding

# Clouds of one run that are one cloud under several names: the objects that were read before.
#
# Nova gives a server its UUID, so two clouds with one server are one Nova, which has one list of
# flavors and one Glance. If they share no server (two tenants), an image is the same if its whole
# record is: Glance chooses an image's id unless the user does, and sets ``updated_at`` itself, so a
# copy in another region differs. Ids of flavors may be chosen by users (``1``, ``m1``), and flavors
# have no creation time: without a server in common they count as different.


_Kind = Literal["server", "image", "flavor"]
_KINDS: tuple[_Kind, ...] = ("server", "image", "flavor")


ObjectKey = tuple[str, _Kind, str]
"""Cloud, kind and id."""


class SeenObjects:
    """Objects of the clouds read so far, by identity. Images and flavors wait until all clouds have
    been read: one user sees more of the servers that use them than another."""

    def __init__(self) -> None:
        self._servers: dict[str, str] = {}
        self._records: dict[tuple[object, ...], str] = {}
        self._same: dict[ObjectKey, ObjectKey] = {}
        self._waiting: dict[ObjectKey, _View] = {}
        self._again: dict[str, dict[str, Counter[_Kind]]] = defaultdict(dict)

    def server(self, uuid: str, target: str) -> bool:
        """True if the server with this UUID (bare; empty: it has none) was read before; a new one
        is recorded."""
        if not uuid:
            return False
        first = self._servers.get(uuid)
        if first is None:
            self._servers[uuid] = target
            return False
        if first != target:
            self._count(target, first, "server")
        return True

    def has_server(self, uuid: str) -> bool:
        """True if a server with this UUID (bare) was read in one of the clouds."""
        return uuid in self._servers

    def take(self, item: Image | Flavor, target: str, *, may_change: bool = True) -> None:
        """Keep an image or flavor. If it was read before, keep the better view of it: first that of
        a user who ``may_change`` it, then that of a user who sees more of it."""
        key = _key(item, target)
        kind = key[1]
        first = self._read_before(item, key)
        if first is not None and key not in self._same:
            self._count(target, first, kind)
        same = key if first is None else self._same[first, kind, key[2]]
        self._same[key] = same
        view = _View(may_change, item.complete, item.servers or 0, target, item)
        before = self._waiting.get(same)
        if before is None or view[:3] > before[:3]:
            self._waiting[same] = view

    def waiting(self) -> Iterator[tuple[str, Image | Flavor]]:
        """Each image and flavor once, with its cloud."""
        for view in self._waiting.values():
            yield view.target, view.item

    def notes(self, done: str) -> Iterator[tuple[str, str]]:
        """``(target, note)`` on each cloud with objects that were read before; ``done``: what
        happens to them only once (reported, planned)."""
        for target, others in self._again.items():
            for other, counts in others.items():
                yield target, _note(other, counts, done)

    def _read_before(self, item: Image | Flavor, key: ObjectKey) -> str | None:
        """The other cloud in which it was read: one that shares a server with this one, or has the
        same record of the image."""
        target, kind, identity = key
        for other, counts in self._again[target].items():
            if counts["server"] and (other, kind, identity) in self._same:
                return other
        if not isinstance(item, Image) or not item.updated:
            return None
        found = self._records.setdefault(_record(item), target)
        return None if found == target else found

    def _count(self, target: str, first: str, kind: _Kind) -> None:
        self._again[target].setdefault(first, Counter())[kind] += 1


class _View(NamedTuple):
    """An image or flavor as one user sees it; the fields that rank views come first."""

    may_change: bool
    complete: bool
    servers: int
    target: str
    item: Image | Flavor


def _key(item: Image | Flavor, target: str) -> ObjectKey:
    kind: _Kind = "image" if isinstance(item, Image) else "flavor"
    return target, kind, item.id or item.name


def _record(image: Image) -> tuple[object, ...]:
    """The record that Glance has of an image, independent of how it was read."""
    properties = tuple((each.name, each.value) for each in image.properties)
    return (image.id, image.name, image.updated, image.owner, image.disk_format, properties)


def _note(other: str, counts: Counter[_Kind], done: str) -> str:
    objects = ", ".join(count(counts[kind], kind) for kind in _KINDS if counts[kind])
    if counts["server"]:
        return f"the same cloud as {other}: {objects} are in both, {done} once"
    return (
        f"{objects} {'is' if counts.total() == 1 else 'are'} in {other} too, {done} once; this "
        f"may not be the same cloud, so flavors are {done} for both"
    )


# Match a nova.conf with a compute node of a cloud.


_ADDRESS = re.compile(r"[0-9.]+|[^:\n]*:.*")
"""``my_ip``, which identifies a node without ``host``: it is not a name that Nova uses."""

_NO_NAME = frozenset({
    "conf", "config", "etc", "kolla", "nova", "nova-compute", "nova-cpu", "nova.conf.d",
    "nova_compute",
})  # fmt: skip
"""Names of folders and files (without ``.conf``) that do not identify a node."""

_SHOWN = 3
"""Maximum number of names in a message."""


class NodesByHost:
    """The nodes of a run by the name that nova-compute uses for itself: ``[DEFAULT] host``; else
    the name of the file, or of the folder below which the files of all nodes have the same path
    (``nodes/cmp1/etc/nova/nova.conf``); else, for a file below ``/etc``, the name of this machine,
    which is Nova's default. A name counts only if it is that of a server's host. Two different
    configurations with one name belong to no host, and neither does one whose name is a host of two
    clouds: its cloud is unknown."""

    def __init__(self, nodes: Iterable[SiteNode]) -> None:
        self._nodes = tuple(_distinct(nodes))
        self._hosts = self._by_host()
        self._met: dict[str, set[str]] = defaultdict(set)

    def meet(self, host: str | None, cloud: str) -> bool:
        """Record that a server of this cloud runs on a host. True if a node has that name."""
        if host is None or host not in self._hosts:
            return False
        self._met[host].add(cloud)
        return True

    def of(self, host: str | None) -> NodeFacts | None:
        """Facts of the node named ``host``; None if they are unknown, or several clouds have a host
        of that name. Call it after the servers of all clouds were read."""
        if host is None or len(self._met.get(host, ())) > 1:
            return None
        return self._hosts.get(host)

    def unknown_reason(self, host: str | None) -> str:
        """Why :meth:`of` has nothing for a host; empty if no node was read, or if Nova does not
        name the host."""
        if host is None or not self._nodes:
            return ""
        clouds = self._met.get(host, ())
        if len(clouds) > 1:
            return (
                f"{', '.join(sorted(clouds))} each have a host named {host}, so it is unclear "
                "whose nova.conf this is: name one cloud at a time"
            )
        if host in self._labels:
            return f"several different nova.conf belong to {host}"
        return (
            f"{self._nodes_read(host)} not for this host ({host}): [DEFAULT] host in the file, or "
            "else its folder, must have exactly this name"
        )

    def _nodes_read(self, host: str) -> str:
        """The nodes that were read, with the verb for them; likely candidates come first."""
        near = self._by_short.get(host.partition(".")[0], [])
        names = islice(chain(near, (name for name in self._labels if name not in near)), _SHOWN)
        shown = ", ".join(self._labels[name] for name in names)
        more = len(self._labels) - _SHOWN
        if more > 0:
            return f"{shown} and {more} more are"
        return f"{shown} {'is' if len(self._labels) == 1 else 'are'}"

    @cached_property
    def _labels(self) -> dict[str, str]:
        """Labels of the nodes by node name, sorted: the configured host of each, or its file."""
        return {
            _node_name(node): f"nova.conf of {host}" if host else node.files[0]
            for node in sorted(self._nodes, key=_node_name)
            for host in (_configured_host(node),)
        }

    @cached_property
    def _by_short(self) -> dict[str, list[str]]:
        """Names of nodes by the part before their first dot."""
        names: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._labels:
            names[name.partition(".")[0]].append(name)
        return names

    def notes(self) -> Iterator[tuple[str, str]]:
        """``(target, note)`` on nodes that were not joined: their name is a host of two clouds, or
        they do not name their host."""
        yield from self.ambiguous_hosts()
        left = [
            node  # a name that is a host of several clouds has a note of its own
            for node in self._nodes
            if not _configured_host(node) and _node_name(node) not in self._met
        ]
        first = {node.target: node.files[0] for node in reversed(left)}
        for target, number in Counter(node.target for node in left).items():
            more = "" if number == 1 else f" (and {number - 1} more)"
            yield (
                target,
                (
                    f"{first[target]}{more}: not used for the servers of its host, "
                    "because the host is unknown: neither [DEFAULT] host nor its path "
                    "names one of the hosts"
                ),
            )

    def ambiguous_hosts(self) -> Iterator[tuple[str, str]]:
        """``(target, note)`` on nodes whose name is a host of several clouds."""
        for node in self._nodes:
            clouds = self._met.get(_node_name(node), ())
            if len(clouds) > 1:
                yield (
                    node.target,
                    (
                        f"{node.files[0]}: not used for the servers of its host, because "
                        f"{', '.join(sorted(clouds))} each have a host named {_node_name(node)}; "
                        "name one cloud at a time"
                    ),
                )

    def _by_host(self) -> dict[str, NodeFacts]:
        named: dict[str, list[SiteNode]] = defaultdict(list)
        for node in self._nodes:
            named[_node_name(node)].append(node)
        found = {}
        for name, nodes in named.items():
            # a configured name is preferred to that of a folder
            nodes = [node for node in nodes if _configured_host(node)] or nodes
            if name and len({_values(node) for node in nodes}) == 1:
                first = nodes[0]
                found[name] = NodeFacts(first.files[0], _values(first))
        return found


def _distinct(nodes: Iterable[SiteNode]) -> Iterator[SiteNode]:
    """Each node once, and not once for each of the files that its nova-compute reads."""
    seen: set[tuple[str, ...]] = set()
    for node in nodes:
        if node.files not in seen:
            seen.add(node.files)
            yield node


def _configured_host(node: SiteNode) -> str:
    """``[DEFAULT] host``."""
    return "" if _ADDRESS.fullmatch(node.host) else node.host


def _node_name(node: SiteNode) -> str:
    return _configured_host(node) or _name_of_path(os.path.abspath(node.files[0]))


def _name_of_path(path: str) -> str:
    parts = path.strip("/").removesuffix(".conf").split("/")
    for part in reversed(parts):
        if part not in _NO_NAME:
            return part
    return os.uname().nodename if parts[0] == "etc" else ""


def _values(node: SiteNode) -> tuple[tuple[str, str], ...]:
    return tuple((value.option, value.value) for value in node.values)


# Servers of the clouds of a run, joined with nova.conf of their hosts and with the domains that
# Nova made of them: one machine is judged once, with all known facts.


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
