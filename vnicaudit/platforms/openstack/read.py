"""Read a cloud as a stream: its servers as domains, then its images and flavors.

The lists that are joined to servers are read first, each in a separate thread: ports (small
records, dropped with their server), images, flavors, networks, hypervisors, host aggregates and
names of projects. Servers come page by page, and no page is kept. If one service fails, only its
facts are missing, and the failure is an error of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.base.deadlines import DaemonCall
from vnicaudit.base.wording import count, plain
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_releases import IMAGE_PROPERTY
from vnicaudit.knowledge.readiness import shipped
from vnicaudit.model.domain import Server
from vnicaudit.model.fleet import CloudItem, LiveOptions
from vnicaudit.model.openstack import Flavor, Image, NovaVersions
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.config_files import with_region
from vnicaudit.platforms.openstack.connect import CloudLogin, Login, connect
from vnicaudit.platforms.openstack.images import CloudSurroundings, Images, read_images, server_of
from vnicaudit.platforms.openstack.listing import (
    ListPage,
    Microversion,
    microversions,
    read_error,
    releases,
)
from vnicaudit.platforms.openstack.lists import (
    AGGREGATES,
    GROUPS,
    NODES,
    Aggregates,
    HypervisorNodes,
    Projects,
    ServerGroups,
    read_projects,
)
from vnicaudit.platforms.openstack.network import read_network
from vnicaudit.platforms.openstack.servers import FLAVORS, Flavors, RawServer, VisibleServers
from vnicaudit.text.targets import ALL_REGIONS, CLOUD

# Notes on a whole reading: the release of Nova, what is hidden from this user, and which table was
# used.


_TOLD_BY = 31
_REGIONS = 20
"""Maximum number of regions that are named."""


def notes_of(around: CloudSurroundings, uses: Uses, *, all_projects: bool | None) -> Iterator[str]:
    """Notes on the whole reading, one sentence each. ``all_projects``: whether Nova listed the
    servers of all projects; None: it did not list any."""
    yield release(around.nova)
    if scope := scope_of(around.cloud):
        yield scope
    if not around.microversions.stored_properties:
        yield _not_told(around.nova)
    if hidden := list(_hidden(around, uses, all_projects=all_projects)):
        project = around.cloud.project_name or around.cloud.project
        whom = f"a tenant of project {project!r}" if all_projects is False else "this user"
        yield f"shown to an admin, but not to {whom}: {'; '.join(hidden)}"
    if unnamed := len(uses.unnamed):
        many = f"{count(unnamed, 'project')} {'is' if unnamed == 1 else 'are'}"
        why = around.projects.reason or "it does not list them to this user, or they were deleted"
        yield f"{many} shown by id: Keystone did not give the name ({why})"
    if any(image.property("os_distro") for image in around.images.by_id.values()):
        yield (
            "the model that os_distro implies is taken from the table that comes with vnicaudit "
            f"(osinfo-db {shipped().version}); the table on each compute node decides"
        )


def scope_of(cloud: CloudLogin) -> str:
    """A sentence on which of several regions was read, and on a token without a project; empty if
    neither applies."""
    regions = cloud.regions
    region = str(cloud.region.region_name or (regions or ("",))[0])
    parts = []
    if cloud.system_scoped:
        parts.append(
            "the token is of the system scope, to which Nova and Glance show no project's "
            "resources: log in to a project (project_name and project_domain_name, without "
            "system_scope)"
        )
    if len(regions) > 1:
        shown = ", ".join(plain(each) for each in regions[:_REGIONS])
        hint = "" if "/" in cloud.name else f"; {cloud.target}/* reads them all"
        parts.append(f"region {plain(region)}, 1 of {len(regions)} ({shown}){hint}")
    return "; ".join(parts)


def release(nova: NovaVersions) -> str:
    """The release in words, such as ``Nova 29 or 30 (its API goes to 2.96)``."""
    if not nova.microversion:
        return "the release of Nova is unknown: its API reports no microversion"
    oldest, newest = nova.oldest, nova.newest
    if oldest is None:
        which = f"{newest} or older"
    elif newest is None:
        which = f"newer than {oldest}"
    else:
        which = str(oldest) if oldest == newest else f"{oldest} or {newest}"
    return f"Nova {which} (its API goes to {nova.microversion})"


def _not_told(nova: NovaVersions) -> str:
    text = (
        "this Nova does not report which image properties it keeps for a server (2.98 does, Nova "
        f"{_TOLD_BY}): those of the image are used if it has not changed since, otherwise they "
        "are unknown"
    )
    if nova.newest is not None and nova.newest < IMAGE_PROPERTY:
        return text
    return f"{text}; changes by nova-manage image_property set are not visible"


def _hidden(around: CloudSurroundings, uses: Uses, *, all_projects: bool | None) -> Iterator[str]:
    if all_projects is False:
        yield "servers of other projects, and images that only they see"
    if uses.hosts is False:
        yield "the host of a server and its name in libvirt"
    for each in (around.nodes, around.aggregates, around.groups):
        if each.hidden:
            yield each.hidden
    if uses.nics and around.ports.tells is False:
        yield "how ports are bound (binding:vif_type)"


_READY = "ready"
"""The value of :attr:`~vnicaudit.model.domain.DomainConfig.readiness` for a guest that drives
virtio."""
_NOT_TOLD = (
    "its regions could not be listed at the start, but can be now ({regions}): none was read; "
    "try again"
)
_CELL_DOWN = (
    "servers: {count:,} could not be read, because their cell is down and Nova reports little "
    "more than their id"
)


class CloudItems:
    """One cloud. ``items`` can be iterated once: servers, then images (most used first), then
    flavors, with errors among them; raises TargetError for a cloud that cannot be read at all. When
    they have ended, ``notes`` say what release of Nova it is and what is hidden from this user, and
    ``calls`` how many requests were sent to each service (``identity`` is Keystone)."""

    def __init__(self, target: str, live: LiveOptions, login: Login = connect) -> None:
        self._name = target.removeprefix(CLOUD)
        self._live = live
        self._login = login
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}
        self.items: Iterator[CloudItem] = self._items()

    def _items(self) -> Iterator[CloudItem]:
        cloud = _entered(self._name, self._live, self._login)
        if self._name.endswith(ALL_REGIONS):
            found = ", ".join(cloud.regions)
            raise TargetError(_NOT_TOLD.format(regions=found), file=f"{CLOUD}{self._name}")
        try:
            yield from self._items_of(Client(cloud))
        finally:
            self.calls = dict(sorted(cloud.session.calls.items()))

    def _items_of(self, client: Client) -> Iterator[CloudItem]:
        scope = scope_of(client.cloud)
        self.notes = (scope,) if scope else ()
        try:
            highest = client.endpoint("compute").microversion
        except TargetError as error:
            text = "; ".join((error.message, *self.notes))
            raise TargetError(text, file=error.file) from None
        around, uses = _read_surroundings(client, highest), Uses()
        yield from around.errors
        servers = VisibleServers(client, around.microversions)
        yield from _servers(servers.pages(), around, uses)
        yield from uses.images(around.images, client.cloud, around.projects)
        yield from uses.flavors(around.flavors, around.images)
        self.notes = tuple(notes_of(around, uses, all_projects=servers.all_projects))


def regions_of(name: str, live: LiveOptions, login: Login = connect) -> list[str]:
    """The targets for a name: itself, with the region that the environment sets for a cloud; for
    ``openstack:CLOUD/*`` one for each region (``openstack:CLOUD/REGION``). If that cloud cannot be
    queried, the target is unchanged: reading it reports the reason, and does not read one region in
    place of all. Raises UsageError if the configuration is invalid."""
    cloud = name.removeprefix(CLOUD)
    if not name.endswith(ALL_REGIONS):
        return [f"{CLOUD}{with_region(cloud)}"]
    try:
        found = _entered(cloud, live, login).regions
    except TargetError:
        return [name]
    cloud = cloud.removesuffix(ALL_REGIONS)
    return [f"{CLOUD}{cloud}/{region}" for region in found] or [f"{CLOUD}{cloud}"]


def _entered(name: str, live: LiveOptions, login: Login) -> CloudLogin:
    return login(name.removesuffix(ALL_REGIONS), deadline=live.deadline, total=live.cloud)


def _read_surroundings(client: Client, highest: Microversion | None) -> CloudSurroundings:
    """The lists that are joined to servers, each read in a separate thread."""
    target, wanted, nova = client.cloud.target, microversions(highest), releases(highest)
    flavors_listing, groups_listing = FLAVORS.at(wanted.flavors), GROUPS.at(wanted.flavors)
    tasks = (
        DaemonCall("openstack: network", lambda: read_network(client)),
        DaemonCall("openstack: images", lambda: read_images(client, nova.newest)),
        DaemonCall("openstack: flavors", lambda: Flavors(target).read(client, flavors_listing)),
        DaemonCall(
            "openstack: hypervisors", lambda: HypervisorNodes().read(client, NODES.at(wanted.nodes))
        ),
        DaemonCall("openstack: server groups", lambda: ServerGroups().read(client, groups_listing)),
        DaemonCall("openstack: aggregates", lambda: Aggregates().read(client, AGGREGATES)),
        DaemonCall("openstack: projects", lambda: read_projects(client)),
    )
    network, images, flavors, nodes, groups, aggregates, projects = tasks
    ports, networks = network.result()
    return CloudSurroundings(
        client.cloud, wanted, nova, images.result(), flavors.result(), ports, nodes.result(),
        groups.result(), aggregates.result(), projects.result(), networks,
    )  # fmt: skip


def _servers(
    pages: Iterator[ListPage[RawServer]], around: CloudSurroundings, uses: Uses
) -> Iterator[Server | ReadError]:
    """Every server. If the list ends early, the missing servers are an error; so are servers in a
    cell that does not answer, of which Nova reports little more than the id."""
    unread, down = False, 0
    try:
        for page in pages:
            yield from page.errors
            unread = unread or bool(page.errors)
            for raw in page.items:
                found = server_of(raw, around)
                # for a cell that is down, neither image nor flavor is reported
                unread = unread or isinstance(found, ReadError) or raw.status == "UNKNOWN"
                down += raw.name is None and raw.status == "UNKNOWN"
                if isinstance(found, Server):
                    uses.count(found, around.flavors.of(raw.flavor))
                if found is not None:
                    yield found
        uses.complete = not unread
    except TargetError as error:
        yield read_error(error)
    if down:
        yield ReadError(_CELL_DOWN.format(count=down), around.cloud.target)


class Uses:
    """Counts uses while servers are read. ``complete``: every server was counted. ``hosts``:
    whether servers are reported with their host; None if there is none to tell by (one that was
    never placed has no host for anybody). ``nics``: some server had a NIC. ``unnamed``: ids of
    projects of servers whose names are unknown."""

    def __init__(self) -> None:
        self.complete = False
        self.hosts: bool | None = None
        self.nics = False
        self.unnamed: set[str] = set()
        self._images: Counter[str] = Counter()
        self._flavors: Counter[str] = Counter()
        self._ready: set[str] = set()
        self._together: defaultdict[str, set[str]] = defaultdict(set)

    def count(self, server: Server, flavor: Flavor | None) -> None:
        """Count one server; ``flavor`` is its flavor as it is listed now."""
        self.nics = self.nics or bool(server.nics)
        ref, made_of = server.cloud, server.config.image
        image = None if made_of is None else made_of.id
        if ref.host or ref.vm_state == "active":
            self.hosts = self.hosts or ref.host is not None
        if ref.project and not ref.project_name:
            self.unnamed.add(ref.project)
        if image is not None:
            self._images[image] += 1
            if server.declared.readiness == _READY:
                self._ready.add(image)
        if flavor is not None and flavor.id is not None:
            self._flavors[flavor.id] += 1
            if image is not None:
                self._together[flavor.id].add(image)

    def images(self, images: Images, cloud: CloudLogin, projects: Projects) -> Iterator[Image]:
        """Yield images, most used first. For a tenant, images of the community that none of the
        servers was created from are left out."""
        shown = images.by_id.items()
        if not cloud.admin:
            shown = {
                key: image
                for key, image in images.by_id.items()
                if self._images[key] or key not in images.others or image.owner == cloud.project
            }.items()
        order = sorted(shown, key=lambda item: (-self._images[item[0]], item[1].name, item[0]))
        for key, image in order:
            counted = self._image_with_readiness(image, key)
            yield replace(counted, owner_name=projects.name(image.owner))

    def flavors(self, flavors: Flavors, images: Images) -> Iterator[Flavor]:
        """Flavors in Nova's order, each with the images of its servers."""
        for key, flavor in flavors.by_id.items():
            made = sorted(self._together.get(key, ()))
            together = tuple(self._image_with_readiness(images.by_id[each], each) for each in made)
            servers = self._flavors[key] if self.complete else None
            yield replace(flavor, servers=servers, images=together)

    def _image_with_readiness(self, image: Image, key: str) -> Image:
        """The image with its number of servers, and ``proven`` if one of them drives virtio and the
        driver comes with the system: true of Linux, but not of Windows."""
        proven = key in self._ready and image.linux and not image.windows
        servers = self._images[key] if self.complete else None
        return replace(image, servers=servers, proven=proven)
