"""The plan of a cloud's objects: images first, by use, then flavors, then servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from msgspec.structs import replace

from vnicaudit.model.domain import Server
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.live import CloudRecord
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.plan import ImageUnit, NotPlanned, ServerUnit, UnitInCloud, UnitStep
from vnicaudit.model.server import MODEL
from vnicaudit.remedy.planning.cloud.flavors import PlannedFlavor
from vnicaudit.remedy.planning.cloud.gates import may_operate
from vnicaudit.remedy.planning.cloud.images import PlannedImage
from vnicaudit.remedy.planning.cloud.ports import PlannedPort
from vnicaudit.remedy.planning.cloud.servers import PlannedServer
from vnicaudit.remedy.planning.judged_item import Judges
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.subject import plan_subject

PlannedInCloud = UnitStep[UnitInCloud] | NotPlanned

_REBUILD = (
    "its image has hw_vif_model={model}, which this plan does not change: a rebuild would bring "
    "it back (VNIC064)"
)


class CloudPlanner:
    """Plans one cloud. It is shown everything in the cloud, servers before images and flavors, and
    keeps only what it plans from them; ``plan`` returns that."""

    def __init__(self, judges: Judges, options: PlanOptions, target: str) -> None:
        self.target = target
        self._options = options
        self._judges = judges
        self._servers: list[UnitStep[ServerUnit] | NotPlanned] = []
        self._images: list[tuple[int, tuple[UnitStep[ImageUnit] | NotPlanned, ...]]] = []
        self._flavors: list[Flavor] = []
        self._known: set[str] = set()
        self._projects: set[str] = set()
        self._names: dict[str, str] = {}
        self._operator: bool | None = None
        self._emulated: dict[str, Image] = {}
        """Id of a planned server -> its image, if that names an emulated model."""

    def add(self, item: CloudRecord) -> None:
        """Add one server, image or flavor."""
        match item:
            case Server():
                self._add_server(item)
            case Image():
                self._names.setdefault(item.owner, item.owner_name)
                if self._plans_sources and self._options.takes(item.name, item.id):
                    self._add_image(item)
            case Flavor():
                if self._plans_sources:
                    self._flavors.append(item)

    def foresee(self, item: Image | Flavor) -> bool:
        """Reserve the name of a flavor of this cloud, wherever it is planned. True if this user may
        change the item, as far as the servers added so far show."""
        match item:
            case Flavor():
                self._known.add(item.name)
                return self._operator is not False
            case Image():
                return self._own is None or item.owner in self._own

    def changed_images(self) -> Iterator[str]:
        """Ids of the images that the plan changes."""
        for _servers, planned in self._images:
            for one in planned:
                if not isinstance(one, NotPlanned) and not one.blocked:
                    yield one.about.id or ""

    def plan(self, is_changed: Callable[[str], bool] | None = None) -> Iterator[PlannedInCloud]:
        """All steps, and everything that is not planned, in the order of execution. ``is_changed``
        tells if the plan changes an image (given by id), here or under another name of the cloud;
        None: only images planned here count."""
        changed = is_changed or frozenset(self.changed_images()).__contains__
        return map(self._with_project_name, self._planned(changed))

    def _planned(self, is_changed: Callable[[str], bool]) -> Iterator[PlannedInCloud]:
        by_use = sorted(self._images, key=lambda image: -image[0])
        yield from chain.from_iterable(planned for _servers, planned in by_use)
        yield from self._planned_flavors()
        yield from self._planned_servers(is_changed)

    def _planned_flavors(self) -> Iterator[PlannedInCloud]:
        """A new name must differ from these names and from all others in this cloud."""
        taken = {*self._known, *(flavor.name for flavor in self._flavors)}
        operator = self._operator is not False
        for one in self._flavors:
            if self._options.takes(one.name, one.id):
                subject = PlannedFlavor(one, self.target, self._judges, taken, operator=operator)
                yield from plan_subject(subject)

    def _planned_servers(self, is_changed: Callable[[str], bool]) -> Iterator[PlannedInCloud]:
        """The planned servers; those that get a model which differs from their unchanged image's
        get a note on that."""
        for one in self._servers:
            if isinstance(one, NotPlanned) or not one.unit.properties.get(MODEL):
                yield one
                continue
            image = self._emulated.get(one.about.id or "")
            if image is None or is_changed(image.id or ""):
                yield one
            else:
                note = _REBUILD.format(model=image.vif_model)
                yield replace(one, notes=(*one.notes, note))

    def _add_image(self, image: Image) -> None:
        subject = PlannedImage(image, self.target, self._judges, self._options, self._own)
        self._images.append((image.servers or 0, tuple(plan_subject(subject))))

    def _add_server(self, server: Server) -> None:
        ref, options = server.cloud, self._options
        self._operator = bool(self._operator) or may_operate(ref)
        self._projects.add(ref.project)
        self._names.setdefault(ref.project, ref.project_name)
        if not options.takes(server.name, server.uuid):
            return
        if options.macs and not any(nic.mac in options.macs for nic in server.nics):
            return
        image = server.config.image
        if image is not None and image.vif_model not in (None, *VIRTIO):
            self._emulated[ref.id] = image
        if options.to == "virtio":
            subject = PlannedServer(server, self.target, self._judges, options)
            self._servers.extend(plan_subject(subject))
            return
        wordings = self._judges.work.platforms.wordings
        for nic in server.nics:
            if options.converts(nic.mac):
                port = PlannedPort(server, nic, self.target, options, wordings)
                self._servers.extend(plan_subject(port))

    def _with_project_name(self, one: PlannedInCloud) -> PlannedInCloud:
        """The planned item with the name of its project."""
        if isinstance(one, NotPlanned):
            return replace(one, project_name=self._names.get(one.project, ""))
        name = self._names.get(one.unit.project, "")
        return replace(one, unit=replace(one.unit, project_name=name))

    @property
    def _plans_sources(self) -> bool:
        """True if images and flavors are planned: the request is for virtio, and names no NICs."""
        return self._options.to == "virtio" and not self._options.macs

    @property
    def _own(self) -> frozenset[str] | None:
        """The projects whose images this user may change; None: any, or unknown."""
        return frozenset(self._projects) if self._operator is False else None
