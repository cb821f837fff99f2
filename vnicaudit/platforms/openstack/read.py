"""Read a cloud as a stream: its servers as domains, then its images and flavors.

Each service is queried in separate threads, one page after the other. Servers come page by page,
and no page is kept; the lists that are joined to them are read before the first server is yielded:
ports (small records, dropped with their server), images, flavors, networks, hypervisors, host
aggregates and names of projects. If one service fails, only its facts are missing, and the failure
is an error of its own.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from vnicaudit.base.deadlines import DaemonCall, next_of
from vnicaudit.base.wording import count
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_releases import IMAGE_PROPERTY
from vnicaudit.knowledge.readiness import shipped
from vnicaudit.model.domain import Server
from vnicaudit.model.fleet import CloudItem
from vnicaudit.model.openstack import Flavor, Image, NovaVersions
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.openstack.client import Client
from vnicaudit.platforms.openstack.connect import CloudLogin
from vnicaudit.platforms.openstack.images import CloudSurroundings, Images, read_images, server_of
from vnicaudit.platforms.openstack.listing import (
    ListPage,
    Microversions,
    microversions,
    read_error,
    releases,
)
from vnicaudit.platforms.openstack.lists import (
    AGGREGATES,
    GROUPS,
    Aggregates,
    HypervisorNodes,
    Projects,
    ServerGroups,
    nodes_listing,
    read_projects,
)
from vnicaudit.platforms.openstack.network import read_network
from vnicaudit.platforms.openstack.servers import FLAVORS, Flavors, RawServer, VisibleServers
from vnicaudit.platforms.openstack.session import plain

# Notes on a whole reading: the release of Nova, what is hidden from this user, and which table was
# used.


_TOLD_BY = 31
_REGIONS = 20
"""Maximum number of regions that are named."""


class ReadingFacts(NamedTuple):
    """Facts from the lists. None: not requested, not answered (which is an error of its own), or
    unknown because there is nothing to derive it from."""

    nova: NovaVersions
    stored_properties: bool
    """Nova reports the image properties that it has stored for a server."""
    all_projects: bool | None
    hosts: bool | None
    bindings: bool | None
    hidden: tuple[str, ...] = ()
    """Parts of the lists that are hidden from this user."""
    project: str = ""
    unnamed: int = 0
    """Number of projects whose servers are shown, but whose names are unknown."""
    names: str = ""
    """The reason why Keystone did not report the names; empty: it did not list them."""
    osinfo: bool = False
    """An image has an ``os_distro``."""
    scope: str = ""
    """The scope of the login; empty: a project, in the only region."""


def notes_of(seen: ReadingFacts) -> tuple[str, ...]:
    """The notes, one sentence each."""
    return tuple(_notes(seen))


def _notes(seen: ReadingFacts) -> Iterator[str]:
    yield release(seen.nova)
    if seen.scope:
        yield seen.scope
    if not seen.stored_properties:
        yield _not_told(seen.nova)
    if hidden := list(_hidden(seen)):
        tenant = seen.all_projects is False
        whom = f"a tenant of project {seen.project!r}" if tenant else "this user"
        yield f"shown to an admin, but not to {whom}: {'; '.join(hidden)}"
    if seen.unnamed:
        many = f"{count(seen.unnamed, 'project')} {'is' if seen.unnamed == 1 else 'are'}"
        why = seen.names or "it does not list them to this user, or they were deleted"
        yield f"{many} shown by id: Keystone did not give the name ({why})"
    if seen.osinfo:
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


def _hidden(seen: ReadingFacts) -> Iterator[str]:
    if seen.all_projects is False:
        yield "servers of other projects, and images that only they see"
    if seen.hosts is False:
        yield "the host of a server and its name in libvirt"
    yield from seen.hidden
    if seen.bindings is False:
        yield "how ports are bound (binding:vif_type)"


_READY = "ready"
"""The value of :attr:`~vnicaudit.model.domain.DomainConfig.readiness` for a guest that drives
virtio."""
_CELL_DOWN = (
    "servers: {count:,} could not be read, because their cell is down and Nova reports little "
    "more than their id"
)


T = TypeVar("T")

_AHEAD = 2
"""Number of pages read in advance."""
_LOOK_SECONDS = 0.5
"""Seconds after which a thread that waits for room checks whether there is still a reader."""


class Feed(Generic[T]):
    """Values of an iterator that runs in a thread: a little ahead of the reader, and stopped once
    the reader is gone."""

    def __init__(self, name: str, source: Iterator[T]) -> None:
        self._queue: queue.Queue[tuple[list[T], BaseException | None]] = queue.Queue(_AHEAD)
        self._gone = threading.Event()
        self._source = source
        self.thread = threading.Thread(target=self._work, name=f"openstack: {name}", daemon=True)
        self.thread.start()

    def __iter__(self) -> Iterator[T]:
        """Can be iterated once; raises the iterator's exception."""
        while True:
            values, error = next_of(self._queue)
            if error is not None:
                raise error
            if not values:
                return
            yield values[0]

    def stop(self) -> None:
        """Stop the thread after its current value; called when there is no reader any more."""
        self._gone.set()

    def _work(self) -> None:
        try:
            for value in self._source:
                if not self._offer(([value], None)):
                    return
            self._offer(([], None))
        except BaseException as error:  # raised again in the reader
            self._offer(([], error))

    def _offer(self, item: tuple[list[T], BaseException | None]) -> bool:
        while not self._gone.is_set():
            try:
                self._queue.put(item, timeout=_LOOK_SECONDS)
            except queue.Full:
                continue
            return True
        return False


class CloudItems:
    """The items read from a cloud. ``items`` can be iterated once: servers, then images (most used
    first), then flavors, with errors among them."""

    def __init__(self, client: Client) -> None:
        self._client = client
        scope = scope_of(client.cloud)
        self._notes: tuple[str, ...] = (scope,) if scope else ()
        self.items: Iterator[CloudItem] = self._items()

    @property
    def notes(self) -> tuple[str, ...]:
        """The release of Nova, and what is hidden from this user: a sentence each, known when
        ``items`` has ended."""
        return self._notes

    @property
    def calls(self) -> dict[str, int]:
        """Service -> number of requests sent to it so far; ``identity`` is Keystone."""
        return dict(sorted(self._client.cloud.session.calls.items()))

    def _items(self) -> Iterator[CloudItem]:
        highest = self._client.endpoint("compute").microversion
        wanted, nova = microversions(highest), releases(highest)
        servers, uses = VisibleServers(self._client, wanted), Uses()
        feed = Feed("servers", servers.pages())
        try:
            around = _read_surroundings(self._client, wanted, nova)
            yield from around.errors
            yield from _servers(feed, around, uses)
        finally:
            feed.stop()
        yield from uses.images(around.images, self._client.cloud, around.projects)
        yield from uses.flavors(around.flavors, around.images)
        lists = (around.nodes, around.aggregates, around.groups)
        self._notes = notes_of(
            ReadingFacts(
                nova,
                wanted.stored_properties,
                servers.all_projects,
                uses.hosts,
                around.ports.tells if uses.nics else None,
                tuple(each.hidden for each in lists if each.hidden),
                self._client.cloud.project_name or self._client.cloud.project,
                len(uses.unnamed),
                around.projects.reason,
                any(each.property("os_distro") for each in around.images.by_id.values()),
                scope_of(self._client.cloud),
            )
        )


def opened(cloud: CloudLogin) -> CloudItems:
    """Everything in a cloud. Raises TargetError if it has no Nova."""
    client = Client(cloud)
    try:
        client.endpoint("compute")
    except TargetError as error:
        scope = scope_of(cloud)
        raise TargetError(
            f"{error.message}; {scope}" if scope else error.message, file=error.file
        ) from None
    return CloudItems(client)


def _read_surroundings(
    client: Client, wanted: Microversions, nova: NovaVersions
) -> CloudSurroundings:
    """The lists that are joined to servers, each read in a separate thread."""
    target = client.cloud.target
    flavors_listing, groups_listing = FLAVORS.at(wanted.flavors), GROUPS.at(wanted.flavors)
    tasks = (
        DaemonCall("openstack: network", lambda: read_network(client)),
        DaemonCall("openstack: images", lambda: read_images(client, nova.newest)),
        DaemonCall("openstack: flavors", lambda: Flavors(target).read(client, flavors_listing)),
        DaemonCall(
            "openstack: hypervisors", lambda: HypervisorNodes().read(client, nodes_listing(wanted))
        ),
        DaemonCall("openstack: server groups", lambda: ServerGroups().read(client, groups_listing)),
        DaemonCall("openstack: aggregates", lambda: Aggregates().read(client, AGGREGATES)),
        DaemonCall("openstack: projects", lambda: read_projects(client)),
    )
    network, images, flavors, nodes, groups, aggregates, projects = tasks
    ports, networks = network.result()
    return CloudSurroundings(
        target, nova, images.result(), flavors.result(), ports, nodes.result(), groups.result(),
        aggregates.result(), projects.result(), networks, admin=client.cloud.admin,
    )  # fmt: skip


def _servers(
    feed: Feed[ListPage[RawServer]], around: CloudSurroundings, uses: Uses
) -> Iterator[Server | ReadError]:
    """Every server. If the list ends early, the missing servers are an error; so are servers in a
    cell that does not answer, of which Nova reports little more than the id."""
    unread, down = False, 0
    try:
        for page in feed:
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
        yield ReadError(_CELL_DOWN.format(count=down), around.target)


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
