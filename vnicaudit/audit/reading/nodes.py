"""Match a nova.conf with a compute node of a cloud."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice

from vnicaudit.model.server import NodeFacts
from vnicaudit.model.site import SiteNode

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
        labels = {
            _node_name(node): f"nova.conf of {_configured_host(node)}"
            if _configured_host(node)
            else node.files[0]
            for node in self._nodes
        }
        return dict(sorted(labels.items()))

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
            node for node in self._nodes if not _configured_host(node) and not self._is_joined(node)
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

    def _is_joined(self, node: SiteNode) -> bool:
        """True for a joined node. A name that is a host of several clouds has a note of its own."""
        return _node_name(node) in self._met

    def _by_host(self) -> dict[str, NodeFacts]:
        named: dict[str, list[SiteNode]] = defaultdict(list)
        for node in self._nodes:
            named[_node_name(node)].append(node)
        found = {}
        for name, nodes in named.items():
            # a configured name is preferred to that of a folder
            nodes = [node for node in nodes if _configured_host(node)] or nodes
            if name and len({_content(node) for node in nodes}) == 1:
                first = nodes[0]
                found[name] = NodeFacts(first.files[0], _values(first), first.devices)
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
    if parts[0] != "etc":
        return ""
    import socket  # slow to import, and only for this machine's own configuration

    return socket.gethostname()


def _content(node: SiteNode) -> tuple[object, object]:
    """Option values and devices of a node, without their places in files."""
    devices = None if node.devices is None else tuple(entry.value for entry in node.devices)
    return _values(node), devices


def _values(node: SiteNode) -> tuple[tuple[str, str], ...]:
    return tuple((value.option, value.value) for value in node.values)
