"""The plan of a cloud's objects: images first, by use, then flavors, then servers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain

from msgspec.structs import replace

from vnicaudit.base.wording import word
from vnicaudit.model.domain import Server
from vnicaudit.model.finding import Change, Finding, Readiness, Ref
from vnicaudit.model.fleet import CloudRecord
from vnicaudit.model.openstack import (
    FLAVOR_WORDS,
    MULTIQUEUE,
    MULTIQUEUE_VCPUS,
    Flavor,
    Image,
    as_flag,
)
from vnicaudit.model.plan import (
    Blocked,
    FlavorUnit,
    ImageUnit,
    NotPlanned,
    Reason,
    ServerUnit,
    UnitInCloud,
    UnitStep,
)
from vnicaudit.remedy.planning.cloud.ports import PlannedPort
from vnicaudit.remedy.planning.cloud.properties import may_operate, unit_step
from vnicaudit.remedy.planning.cloud.servers import PlannedServer
from vnicaudit.remedy.planning.run import PlanRequest
from vnicaudit.remedy.planning.subject import (
    PlanSubject,
    ProposedChanges,
    findings_in,
    plan_subject,
    safety,
    unsafe,
    with_follow_up_changes,
)
from vnicaudit.text.targets import client

# An image of a cloud as a subject of a plan.
#
# A property of an image applies to servers created from it from then on: Nova stores the properties
# of a server when it is created.


_OTHERS = (
    "the image belongs to project {owner}: ask its owner, or make your own image ({openstack} "
    "server image create, {openstack} image create) and set it there"
)
_NEW = "It applies to servers created from it from now on."
_MADE = (
    "{servers} created from it {keep} what Nova has kept for {them}: changes of {them} are "
    "planned separately."
)


class PlannedImage(PlanSubject[ImageUnit]):
    """One image. ``projects``: the projects whose images may be changed; None: any."""

    def __init__(
        self, request: PlanRequest, image: Image, target: str, projects: frozenset[str] | None
    ) -> None:
        super().__init__(request, target, Ref("image", image.name, image.id), image.owner)
        self._image = image
        self._projects = projects

    @cached_property
    def _findings(self) -> tuple[Finding, ...]:
        return findings_in(self.request.work.description(self._image, self.target))

    def proposed(self) -> ProposedChanges:
        """The changes that findings propose, without those that are held back."""
        return with_follow_up_changes(
            ProposedChanges(),
            lambda _changes: self._findings,  # changing one property causes no other finding
            lambda found: None if self._reason_to_hold(found) else found.change,
        )

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """Changes that may do harm, or that would remove a property."""
        del proposed
        for finding in self._findings:
            if reason := self._reason_to_hold(finding):
                yield reason, finding.rule

    def step(self, proposed: ProposedChanges) -> UnitStep[ImageUnit]:
        """The step that sets the proposed properties of the image."""
        image = self._image
        new = {change.field: change.new for change in proposed.changes}
        old = {name: image.certain_value(name) for name in new}
        safe, reason = safety(proposed.changes)
        proposed = proposed._replace(
            blocked=tuple(_foreign(image, self.target, self._projects)), notes=tuple(_notes(image))
        )
        unit = ImageUnit(new, old, project=image.owner)
        readiness = _readiness(image, safe=safe)
        return unit_step(self, proposed, unit, readiness=readiness, safe=safe, reason=reason)

    def _reason_to_hold(self, finding: Finding) -> Reason | None:
        """Why a finding's change is not planned: a property is never removed, since its purpose
        would be lost. None: it is planned, or there is none."""
        change = finding.change
        if change is None:
            return None
        if change.new is None:
            return Reason("owner-decides", finding.fix) if finding.fix else None
        return None if self.request.may(change) else unsafe(change)


def _foreign(image: Image, target: str, projects: frozenset[str] | None) -> Iterator[Blocked]:
    if projects is not None and image.owner not in projects:
        text = _OTHERS.format(owner=image.owner or "unknown", openstack=client(target))
        yield Blocked("other-project", text)


def _notes(image: Image) -> Iterator[str]:
    yield _NEW
    if image.servers:
        many = image.servers > 1
        yield _MADE.format(
            servers=f"{image.servers:,} servers" if many else "The one server",
            keep="keep" if many else "keeps",
            them="them" if many else "it",
        )


def _readiness(image: Image, *, safe: bool) -> Readiness:
    """The readiness of the image's guest for virtio: it is ready if a rule says that virtio is safe
    for it."""
    if image.windows:
        return "needs-driver"
    return "ready" if safe else "unknown"


# A flavor with an extra spec that contradicts the images it is booted with -> a new flavor without
# it.
#
# A flavor is not changed in place: servers have a copy of it from the day they were created or
# resized, and its creator may rely on it. A server gets another one by a resize.


_WHY = "without the extra spec the image decides, and nothing contradicts it; the old flavor stays"
_ADMIN = Blocked(
    "operator-only", "only an operator of the cloud can create flavors: ask for one like this"
)
_RESIZE = (
    "Servers keep their flavor. To move a server to the new one, resize it, which takes it down "
    "and may move it to another host: {openstack} server resize --flavor {name} SERVER, then "
    "{openstack} server resize confirm SERVER"
)
_NEW_FLAVORS = "New servers get it by name: tell those who create them."


class PlannedFlavor(PlanSubject[FlavorUnit]):
    """One flavor. Changes that findings propose for it are left to its creator.

    ``taken``: the names of all flavors of its cloud, existing and planned; the name of its own new
    flavor is added. ``operator``: true if this user may create one.
    """

    def __init__(
        self, request: PlanRequest, flavor: Flavor, target: str, taken: set[str], *, operator: bool
    ) -> None:
        super().__init__(request, target, Ref("flavor", flavor.name, flavor.id))
        self._flavor = flavor
        self._taken = taken
        self._operator = operator

    @cached_property
    def _findings(self) -> tuple[Finding, ...]:
        return findings_in(self.request.work.description(self._flavor, self.target))

    def proposed(self) -> ProposedChanges:
        """The removal of extra specs with which a server of this flavor would not start."""
        found = self._findings
        rules = tuple(dict.fromkeys(one.rule for one in found if one.severity == "error"))
        if not rules:
            return ProposedChanges()
        changes = (
            Change(name, self._flavor.certain_value(name), None, safe=True, reason=_WHY)
            for name in _contradicting(self._flavor)
        )
        return ProposedChanges(tuple(changes), rules)

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """Every proposed change: the flavor itself stays as it is."""
        del proposed
        for finding in self._findings:
            if finding.change is not None:
                yield Reason("owner-decides", finding.fix), finding.rule

    def step(self, proposed: ProposedChanges) -> UnitStep[FlavorUnit]:
        """A new flavor without these extra specs."""
        new_name = _free(self._flavor.name, self._taken)
        self._taken.add(new_name)
        old = {change.field: change.old for change in proposed.changes}
        proposed = proposed._replace(
            blocked=() if self._operator else (_ADMIN,),
            notes=(
                _RESIZE.format(openstack=client(self.target), name=word(new_name)),
                _NEW_FLAVORS,
            ),
        )
        unit = FlavorUnit(dict.fromkeys(old), old, new_name=new_name)
        return unit_step(self, proposed, unit, readiness="unknown", safe=True, reason=_WHY)


def _contradicting(flavor: Flavor) -> Iterator[str]:
    """The extra specs that contradict an image with which the flavor is booted."""
    for name, spec in FLAVOR_WORDS.items():
        said = flavor.certain_value(spec)
        if said is None or (name == MULTIQUEUE and (flavor.vcpus or 0) < MULTIQUEUE_VCPUS):
            continue
        others = (image.certain_value(name) for image in flavor.images)
        if any(other is not None and as_flag(other) != as_flag(said) for other in others):
            yield spec


def _free(name: str, taken: set[str]) -> str:
    """``m1.large-vnic``, with a number added if that name is taken."""
    found, number = f"{name}-vnic", 2
    while found in taken:
        found, number = f"{name}-vnic{number}", number + 1
    return found


PlannedInCloud = UnitStep[UnitInCloud] | NotPlanned


class CloudPlanner:
    """Plans one cloud. It is shown everything in the cloud, servers before images and flavors, and
    keeps only what it plans from them; ``plan`` returns that."""

    def __init__(self, request: PlanRequest, target: str) -> None:
        self.target = target
        self._request = request
        self._options = request.options
        self._servers: list[UnitStep[ServerUnit] | NotPlanned] = []
        self._images: list[tuple[int, tuple[UnitStep[ImageUnit] | NotPlanned, ...]]] = []
        self._flavors: list[Flavor] = []
        self._known: set[str] = set()
        self._projects: set[str] = set()
        self._names: dict[str, str] = {}
        self._operator: bool | None = None

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

    def plan(self) -> Iterator[PlannedInCloud]:
        """All steps, and everything that is not planned, in the order of execution."""
        by_use = sorted(self._images, key=lambda image: -image[0])
        of_images = (one for _servers, planned in by_use for one in planned)
        for one in chain(of_images, self._planned_flavors(), self._servers):
            if isinstance(one, NotPlanned):
                yield replace(one, project_name=self._names.get(one.project, ""))
            else:
                name = self._names.get(one.unit.project, "")
                yield replace(one, unit=replace(one.unit, project_name=name))

    def _planned_flavors(self) -> Iterator[PlannedInCloud]:
        """A new name must differ from these names and from all others in this cloud."""
        taken = {*self._known, *(flavor.name for flavor in self._flavors)}
        operator = self._operator is not False
        for one in self._flavors:
            if self._options.takes(one.name, one.id):
                subject = PlannedFlavor(self._request, one, self.target, taken, operator=operator)
                yield from plan_subject(subject)

    def _add_image(self, image: Image) -> None:
        subject = PlannedImage(self._request, image, self.target, self._own)
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
        if options.to == "virtio":
            subject = PlannedServer(self._request, server, self.target)
            self._servers.extend(plan_subject(subject))
            return
        for nic in server.nics:
            if options.converts(nic.mac):
                port = PlannedPort(self._request, server, nic, self.target)
                self._servers.extend(plan_subject(port))

    @property
    def _plans_sources(self) -> bool:
        """True if images and flavors are planned: the request is for virtio, and names no NICs."""
        return self._options.to == "virtio" and not self._options.macs

    @property
    def _own(self) -> frozenset[str] | None:
        """The projects whose images this user may change; None: any, or unknown."""
        return frozenset(self._projects) if self._operator is False else None
