"""The clouds among the targets of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import NamedTuple

from vnicaudit.audit.chosen import Chosen
from vnicaudit.audit.cloud import CloudTarget
from vnicaudit.audit.nodes import NodesByHost
from vnicaudit.audit.options import LiveOptions
from vnicaudit.audit.servers import with_node
from vnicaudit.audit.targets import Target
from vnicaudit.audit.work import AuditWork
from vnicaudit.model.domain import Domain
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor
from vnicaudit.model.plan import Left, Step
from vnicaudit.model.report import ReadError
from vnicaudit.remedy.planning.cloud.definitions import Definitions
from vnicaudit.remedy.planning.cloud.items import CloudItem, CloudPlanner
from vnicaudit.remedy.planning.cloud.met import Met
from vnicaudit.remedy.planning.meant import Meant
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.source import error_text


class PlanContext(NamedTuple):
    """What a plan is made by: what judges for it (see :class:`~.judged.JudgedServer`), what was
    asked for, what was named, and who is told how far it is."""

    work: AuditWork
    by_all: AuditWork
    options: PlanOptions
    meant: Meant
    on_progress: Callable[[str, int], None]


class Clouds:
    """Planned when all other targets were: nova.conf of the compute nodes and the definitions that
    are there tell more of the servers."""

    def __init__(self, targets: Iterable[Target], context: PlanContext, live: LiveOptions) -> None:
        targets = tuple(targets)
        self.targets = tuple(target for target in targets if target.kind == "openstack")
        self.configs: list[NovaConfig] | None = [] if self.targets else None
        self.definitions = Definitions()
        self._context = context
        self._live = live
        self._met = Met()
        self._chosen = Chosen(live.servers, remember=len(targets) > len(self.targets))
        self._planners: dict[str, CloudPlanner] = {}
        self._waiting: dict[str, list[CloudItem]] = {}

    def read(self, target: Target, errors: list[str], notes: list[str]) -> None:
        """All that is in one cloud; what could not be read of it, and what else is to be said, is
        added to ``errors`` and ``notes``."""
        context = self._context
        cloud = CloudTarget(target.name, self._live)
        planner = CloudPlanner(context.work, context.by_all, context.options, target.name)
        self._planners[target.name] = planner
        waiting = self._waiting[target.name] = []
        said: list[str] = []
        for number, item in enumerate(self._chosen.of(target.name, cloud.items(), said), 1):
            context.on_progress(target.name, number)
            if isinstance(item, ReadError):
                errors.append(error_text(item, target))
            elif self._met.is_new(item, target.name):
                context.meant.met_in_cloud(item)
                if isinstance(item, Domain) and item.cloud is not None:
                    self._nodes.meet(item.cloud.host, target.name)
                if self._all_wait:
                    waiting.append(item)
                else:
                    planner.add(self._joined(item))
            elif isinstance(item, Flavor):
                planner.know(item)
        notes += (f"{target.name}: {note}" for note in (*said, *cloud.notes))

    def plan(self, target: Target) -> list[Step | Left]:
        """What comes of one cloud, when all of them were read."""
        planner = self._planners[target.name]
        for item in self._waiting.pop(target.name):
            planner.add(self._joined(item))
        return list(planner.plan())

    def notes(self) -> list[str]:
        """What is to be said of nova.conf that could not be joined."""
        return [note for _target, note in self._nodes.shared()]

    def ambiguous(self) -> list[str]:
        """Which servers were asked for by a name that is not of one thing."""
        return self._chosen.ambiguous()

    def missing(self) -> list[str]:
        """Which servers were asked for and are not there."""
        return self._chosen.missing()

    def has(self, found: Step | Left) -> bool:
        """Whether what was found on a compute node is a server of one of these clouds: what is
        done about it is done there, or was not asked for."""
        mine = isinstance(found, Left) or found.platform == "libvirt"
        uuid = found.nic.uuid
        return mine and (self._met.has_server(uuid) or self._chosen.is_left_out(uuid))

    @cached_property
    def _nodes(self) -> NodesByHost:
        found = (self._context.work.node(config, joins=True) for config in self.configs or ())
        return NodesByHost(node for node in found if node is not None)

    @cached_property
    def _all_wait(self) -> bool:
        """Whether another cloud may turn out to have a host of the same name as a nova.conf."""
        return len(self.targets) > 1 and bool(self.configs)

    def _joined(self, item: CloudItem) -> CloudItem:
        """A server with what else is known of it."""
        if not isinstance(item, Domain):
            return item
        return self.definitions.joined(with_node(item, self._nodes))
