"""The clouds among the targets of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec.structs import replace

from vnicaudit.audit.reading.error_boundary import guarded
from vnicaudit.audit.reading.machines import ServerSelection
from vnicaudit.audit.reading.servers import NodesByHost, SeenObjects, with_node
from vnicaudit.audit.reading.targets import Target
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.wording import bare_uuid
from vnicaudit.errors import UsageError
from vnicaudit.knowledge.backends import KEPT_MODEL
from vnicaudit.model.domain import Domain, Server
from vnicaudit.model.finding import Description
from vnicaudit.model.host import SiteNode
from vnicaudit.model.nic import Nic
from vnicaudit.model.openstack import MODEL, Flavor, Image, normal_vif_model
from vnicaudit.model.plan import Planned
from vnicaudit.model.report import ReadError
from vnicaudit.remedy.planning.cloud.items import CloudPlanner
from vnicaudit.remedy.planning.run import PlanRun, TargetPlanner

# Facts about servers from compute nodes: their nova.conf, and the definitions that Nova made, where
# its API does not show the properties it stores.
#
# Nova makes a definition from the stored properties (``get_vif_model`` in nova/virt/libvirt/vif.py,
# 34.0.0) at each start, and since 25.0 it also stores a model that it chose itself. So the model in
# the definition is the stored one, unless somebody changed the property while the server ran, which
# Nova refuses. If it is libvirt's default, none may be stored: the server was created while
# ``use_virtio_for_bridges`` was off. When the plan is applied, nova-manage is asked first.


class ComputeNodes:
    """Domains that Nova made, and Nova configurations, as read from the other targets of a plan."""

    def __init__(self, work: AuditWork) -> None:
        self._work = work
        self._models: dict[str, dict[str | None, str | None]] = {}
        self.nodes: list[SiteNode] = []
        """Nodes of which a nova.conf was read."""

    def add(self, item: Domain | Description) -> bool:
        """Remember a configuration of Nova, or the models of a domain, running or defined. True if
        it is one that Nova made or reads."""
        if isinstance(item, Domain):
            if (uuid := item.nova_uuid) is not None:
                self._models[bare_uuid(uuid)] = {
                    nic.mac: nic.declared.model
                    for nic in item.nics
                    if nic.declared.type in KEPT_MODEL
                }
            return item.nova_uuid is not None
        node = self._work.node(item, joins=True)
        if node is not None:
            self.nodes.append(node)
        return node is not None

    def joined(self, server: Server) -> Server:
        """The server with the model that its definition has. Unchanged if Nova's API shows the
        stored properties, and if there is no definition, or one with several models. The
        definition's model counts even if the image says otherwise, as nova-manage may have changed
        it for this server; a NIC without a model counts for nothing."""
        config = server.config
        found = self._models.get(bare_uuid(server.uuid), {})
        models = {model for model in found.values() if model is not None}
        if config.properties_source == "api" or len(models) != 1:
            return server
        (model,) = models
        if normal_vif_model(config.property(MODEL) or "") == model:
            return server
        kept = tuple(sorted({**dict(config.stored_properties), MODEL: model}.items()))
        declared = server.declared.with_server(replace(config, stored_properties=kept))
        nics = tuple(_with_model(nic, model) if nic.mac in found else nic for nic in server.nics)
        return replace(server, declared=declared, nics=nics)


def _with_model(nic: Nic, model: str) -> Nic:
    return replace(nic, declared=replace(nic.declared, model=model))


class CloudTargetPlanner(TargetPlanner):
    """Plans clouds, after all other targets: nova.conf files of the compute nodes and the
    definitions there add facts about the servers."""

    def __init__(self, run: PlanRun) -> None:
        super().__init__(run)
        clouds = list(filter(self.takes, run.targets))
        self._compute_nodes = ComputeNodes(self._request.work)
        self._several = len(clouds) > 1
        self._seen = SeenObjects()
        others = len(clouds) < len(run.targets)
        self._chosen = ServerSelection(self._request.reading.servers, remember=others)
        self._planners: dict[str, CloudPlanner] = {}
        self._waiting: dict[str, list[Server]] = {}

    def takes(self, target: Target) -> bool:
        """True for a cloud."""
        kind = self._platforms.kind_of(target)
        return kind is not None and kind.cloud is not None

    def plan(self, targets: tuple[Target, ...]) -> None:
        """Plan servers, images and flavors, after all clouds have been read."""
        run = self._run
        read = {target.name for target in targets if self._read_cloud(target)}
        run.add_unread_targets(targets, read)
        for name, found in self._planned():
            run.planned[name].extend(found)
        run.notes += self._notes()
        if ambiguous := self._chosen.ambiguous():
            raise UsageError("; ".join(ambiguous))

    def learns(self, item: Domain | Description) -> bool:
        """Learn from a domain, or a nova.conf, of a compute node."""
        return self._compute_nodes.add(item)

    def missing(self) -> list[str]:
        """Servers that were named and do not exist, one sentence each."""
        return self._chosen.missing()

    def covers(self, found: Planned) -> bool:
        """True for a domain that is a server of one of these clouds: it is planned there, or was
        not requested."""
        uuid = found.about.id
        return self._seen.has_server(bare_uuid(uuid or "")) or self._chosen.is_left_out(uuid)

    def _read_cloud(self, target: Target) -> bool:
        """Read everything in one cloud, and add to the run what could not be read, and notes. True
        if anything could be read."""
        run, request = self._run, self._request
        cloud = self._platforms.cloud(target, request.reading.live)
        planner = CloudPlanner(request, target.name)
        self._planners[target.name] = planner
        self._waiting[target.name] = []
        chosen_notes: list[str] = []
        is_read = False
        items = guarded(target.name, cloud.items)
        for number, item in enumerate(self._chosen.selected(target.name, items, chosen_notes), 1):
            request.progress(target.name, number)
            match item:
                case ReadError():
                    run.add_unread(target, item)
                case Server():
                    is_read = True
                    self._read_server(item, planner)
                case _:
                    is_read = True
                    self._read_source(item, planner)
        run.notes += (f"{target.name}: {note}" for note in (*chosen_notes, *cloud.notes))
        return is_read

    def _read_server(self, server: Server, planner: CloudPlanner) -> None:
        if self._seen.server(bare_uuid(server.uuid), planner.target):
            return
        self._run.requested.add_domain(server)
        self._nodes.meet(server.cloud.host, planner.target)
        if self._all_wait:
            self._waiting[planner.target].append(server)
        else:
            planner.add(self._joined(server))

    def _read_source(self, item: Image | Flavor, planner: CloudPlanner) -> None:
        """An image or flavor waits until all clouds have been read; the servers of its own cloud
        have been."""
        self._run.requested.add(item.name, item.id)
        self._seen.take(item, planner.target, may_change=planner.foresee(item))

    def _planned(self) -> Iterator[tuple[str, list[Planned]]]:
        """``(cloud name, planned items)`` of each cloud, once all clouds have been read."""
        for name, waiting in self._waiting.items():
            for server in waiting:
                self._planners[name].add(self._joined(server))
        self._waiting = {}
        for name, item in self._seen.waiting():
            self._planners[name].add(item)
        for name, planner in self._planners.items():
            yield name, list(planner.plan())

    def _notes(self) -> list[str]:
        """Notes on objects planned under two names, and on nova.conf files that could not be
        joined."""
        same = [f"{target}: {note}" for target, note in self._seen.notes("planned")]
        return [*same, *(note for _target, note in self._nodes.ambiguous_hosts())]

    @cached_property
    def _nodes(self) -> NodesByHost:
        return NodesByHost(self._compute_nodes.nodes)

    @cached_property
    def _all_wait(self) -> bool:
        """True if another cloud, not read yet, may have a host of the same name as a nova.conf."""
        return self._several and bool(self._compute_nodes.nodes)

    def _joined(self, server: Server) -> Server:
        """A server with the facts known from its compute node."""
        return self._compute_nodes.joined(with_node(server, self._nodes))
