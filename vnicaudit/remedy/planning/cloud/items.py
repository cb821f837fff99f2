"""All of a cloud -> its steps: images first, by use, then flavors, then servers."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import chain

from msgspec.structs import replace

from vnicaudit.audit.work import AuditWork
from vnicaudit.model.domain import Domain
from vnicaudit.model.models import VIRTIO
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.plan import Left, Step
from vnicaudit.model.server import MODEL
from vnicaudit.remedy.planning.cloud.backends import BackendPlanner
from vnicaudit.remedy.planning.cloud.flavors import FlavorPlanner
from vnicaudit.remedy.planning.cloud.gates import may_operate, ref_of
from vnicaudit.remedy.planning.cloud.images import ImagePlanner
from vnicaudit.remedy.planning.cloud.servers import ServerPlanner
from vnicaudit.remedy.planning.options import PlanOptions

CloudItem = Domain | Image | Flavor

_REBUILD = (
    "its image says hw_vif_model={model} and is not changed by this plan: a rebuild gives the "
    "server that again (VNIC064)"
)


class CloudPlanner:
    """Plans one cloud: is shown all that is in it, servers before images and flavors, and keeps
    only what it makes of them. ``plan`` has it then."""

    def __init__(
        self, work: AuditWork, by_all: AuditWork, options: PlanOptions, target: str
    ) -> None:
        self._target = target
        self._options = options
        self._server = ServerPlanner(work, by_all, options)
        self._backend = BackendPlanner(options)
        self._image = ImagePlanner(work, options)
        self._flavor = FlavorPlanner(work)
        self._servers: list[Step | Left] = []
        self._images: list[tuple[int, tuple[Step | Left, ...]]] = []
        self._flavors: list[Flavor] = []
        self._known: set[str] = set()
        self._projects: set[str] = set()
        self._names: dict[str, str] = {}
        self._operator: bool | None = None
        self._emulated: dict[str, Image] = {}
        """Id of a planned server -> its image, where that names an emulated model."""

    def add(self, item: CloudItem) -> None:
        """One server, image or flavor."""
        if isinstance(item, Image):
            self._names.setdefault(item.owner, item.owner_name)
        if isinstance(item, Domain):
            self._add_server(item)
        elif self._options.to != "virtio" or self._options.macs:
            return  # what is asked for is about NICs
        elif isinstance(item, Flavor):
            self._flavors.append(item)
        elif self._options.takes(item.name, item.id):
            planned = tuple(self._image.plan(item, self._target, self._own))
            self._images.append((item.servers or 0, planned))

    def know(self, flavor: Flavor) -> None:
        """A flavor that is planned elsewhere: its name is taken."""
        self._known.add(flavor.name)

    def plan(self) -> Iterator[Step | Left]:
        """What comes of all of it, in the order in which it is done."""
        return map(self._named, self._planned())

    def _planned(self) -> Iterator[Step | Left]:
        by_use = sorted(self._images, key=lambda image: -image[0])
        yield from chain.from_iterable(planned for _servers, planned in by_use)
        operator = self._operator is not False
        yield from self._flavor.plan(
            self._flavors, self._target, self._options, operator=operator, known=self._known
        )
        yield from self._with_images({one.nic.uuid for one in self._steps_on_images()})

    def _steps_on_images(self) -> Iterator[Step]:
        for _servers, planned in self._images:
            yield from (one for one in planned if isinstance(one, Step) and not one.blocked)

    def _with_images(self, changed: Container[str | None]) -> Iterator[Step | Left]:
        """Servers; those that get another model than their image has, and keeps, are told so."""
        for one in self._servers:
            image = self._emulated.get(one.nic.uuid or "")
            model = isinstance(one, Step) and one.cloud and one.cloud.properties.get(MODEL)
            if isinstance(one, Left) or image is None or not model or image.id in changed:
                yield one
            else:
                said = _REBUILD.format(model=image.vif_model)
                yield replace(one, notes=(*one.notes, said))

    def _add_server(self, server: Domain) -> None:
        ref = ref_of(server)
        self._operator = bool(self._operator) or may_operate(ref)
        self._projects.add(ref.project)
        self._names.setdefault(ref.project, ref.project_name)
        options = self._options
        if not options.takes(server.name, server.uuid):
            return
        if options.macs and not any(nic.mac in options.macs for nic in server.nics):
            return
        kept = server.declared.server
        image = None if kept is None else kept.image
        if image is not None and image.vif_model not in (None, *VIRTIO):
            self._emulated[ref.id] = image
        planner = self._server if options.to == "virtio" else self._backend
        self._servers.extend(planner.plan(server, self._target))

    def _named(self, one: Step | Left) -> Step | Left:
        """With what its project is called."""
        if isinstance(one, Left):
            return replace(one, project_name=self._names.get(one.project, ""))
        if one.cloud is None:
            return one
        name = self._names.get(one.cloud.project, "")
        return replace(one, cloud=replace(one.cloud, project_name=name))

    @property
    def _own(self) -> frozenset[str] | None:
        """The projects whose images this user may change; None: any, or it is not known."""
        return frozenset(self._projects) if self._operator is False else None
