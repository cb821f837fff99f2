"""Sources of inventories: platforms that can list the compute hosts of a cloud."""

from __future__ import annotations

from functools import partial

from vnicaudit.audit.reading.targets import expanded_targets, unique_targets
from vnicaudit.cli.wiring.platforms import PlatformRegistry
from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.records import SourceHost, SourceHosts
from vnicaudit.fleet.inventory.sources import Sources
from vnicaudit.model.cloud_state import ComputeNode
from vnicaudit.model.live import LiveOptions

_NAMED = 10


def sources_of(live: LiveOptions, platforms: PlatformRegistry) -> Sources:
    """The inventory sources of these platforms."""
    return Sources(cloud=partial(_cloud_hosts, live, platforms))


def _cloud_hosts(live: LiveOptions, platforms: PlatformRegistry, name: str) -> SourceHosts:
    """The compute nodes of a cloud, in all its regions if requested."""
    kinds = platforms.targets
    nodes: list[tuple[str, ComputeNode]] = []
    for target in expanded_targets(unique_targets([name], kinds), kinds, live):
        kind = platforms.kind_of(target)
        if kind is None or kind.compute_nodes is None:
            raise UsageError(f"{name}: not a cloud that can list its hosts")
        nodes += [(target.name, node) for node in kind.compute_nodes(target.name, live)]
    hosts = tuple(_host(target, node) for target, node in nodes)
    groups = dict.fromkeys(group for host in hosts for group in host.groups)
    down = [node.name for _target, node in nodes if not node.up]
    return SourceHosts(hosts, tuple(groups), _notes(name, down))


def _host(target: str, node: ComputeNode) -> SourceHost:
    zone = (node.zone,) if node.zone else ()
    groups = tuple(dict.fromkeys((*zone, *node.aggregates)))
    return SourceHost(node.name, target, site=node.zone, groups=groups)


def _notes(name: str, down: list[str]) -> tuple[str, ...]:
    if not down:
        return ()
    more = f" and {len(down) - _NAMED:,} more" if len(down) > _NAMED else ""
    return (f"{name}: Nova has no sign of life of {', '.join(down[:_NAMED])}{more}",)
