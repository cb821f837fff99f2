"""A cloud -> its servers as domains, then its images and flavors, as a stream.

Each service is asked in threads of its own, one page after the other. Servers come page by page,
and no page is kept; what they are joined with is read before the first of them is handed out: ports
(small records, let go with their server), images, flavors, networks, hypervisors, host aggregates
and what projects are called. What one service does not give costs what it would have told, and is
an error of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import DEADLINE, CloudLimits
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError
from vnicaudit.model.server import NovaVersions
from vnicaudit.platforms.openstack.aggregates import read_aggregates
from vnicaudit.platforms.openstack.calls import Calls
from vnicaudit.platforms.openstack.connect import Cloud, connect
from vnicaudit.platforms.openstack.domains import Around, domain_of
from vnicaudit.platforms.openstack.flavors import read_flavors
from vnicaudit.platforms.openstack.groups import read_groups
from vnicaudit.platforms.openstack.images import read_images
from vnicaudit.platforms.openstack.libosinfo import Models, shipped
from vnicaudit.platforms.openstack.networks import Networks, read_networks
from vnicaudit.platforms.openstack.nodes import read_nodes
from vnicaudit.platforms.openstack.notes import Seen, notes_of, scope_of
from vnicaudit.platforms.openstack.osinfo_db import installed
from vnicaudit.platforms.openstack.pages import Page, read_error
from vnicaudit.platforms.openstack.ports import Ports, read_ports
from vnicaudit.platforms.openstack.projects import read_projects
from vnicaudit.platforms.openstack.servers import RawServer, Servers
from vnicaudit.platforms.openstack.uses import Uses
from vnicaudit.platforms.openstack.versions import Microversions, microversions, releases
from vnicaudit.platforms.openstack.waiting import Feed, Task

Item = Domain | Image | Flavor | ReadError

_CELL_DOWN = (
    "servers: of {count:,} Nova tells little more than the id: their cell is down, and they could "
    "not be read"
)


class CloudReading:
    """What is read of a cloud. ``items`` can be walked once: servers, then images (those of most
    servers first), then flavors, with what could not be read among them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        scope = _scope(calls.cloud)
        self._notes: tuple[str, ...] = (scope,) if scope else ()
        self.items: Iterator[Item] = self._items()

    @property
    def notes(self) -> tuple[str, ...]:
        """Which Nova it is, and what this user is not shown: a sentence each, known when ``items``
        has ended."""
        return self._notes

    @property
    def calls(self) -> dict[str, int]:
        """Service -> how many requests it was sent so far; ``identity`` is Keystone."""
        return dict(sorted(self._calls.cloud.session.calls.items()))

    def _items(self) -> Iterator[Item]:
        highest = self._calls.endpoint("compute").microversion
        wanted, nova = microversions(highest), releases(highest)
        servers, uses, systems = Servers(self._calls, wanted), Uses(), Systems()
        feed = Feed("servers", servers.pages())
        try:
            around, errors = _gathered(self._calls, wanted, nova, systems)
            yield from errors
            yield from _servers(feed, around, uses)
        finally:
            feed.stop()
        yield from uses.images(around.images, self._calls.cloud, around.projects)
        yield from uses.flavors(around.flavors, around.images)
        self._notes = notes_of(
            Seen(
                nova,
                wanted.kept,
                servers.all_projects,
                uses.hosts,
                around.nodes.seen,
                around.aggregates.seen,
                around.ports.tells if uses.nics else None,
                self._calls.cloud.project_name or self._calls.cloud.project,
                len(uses.unnamed),
                around.projects.reason,
                systems.asked,
                _scope(self._calls.cloud),
                around.groups.seen,
            )
        )


class Systems:
    """What Nova takes for an ``os_distro``: by libosinfo's database of this machine, where there
    is one. ``asked`` is the table, once it was needed."""

    def __init__(self) -> None:
        self.asked: Models | None = None

    def __call__(self, os_distro: str) -> str | None:
        """As :meth:`Models.emulated_model`."""
        if self.asked is None:
            self.asked = installed() or shipped()
        return self.asked.emulated_model(os_distro)


def _scope(cloud: Cloud) -> str:
    region = str(cloud.region.region_name or (cloud.regions or ("",))[0])
    return scope_of(cloud.name, region, cloud.regions, system_scoped=cloud.system_scoped)


def regions_of(
    cloud: str, *, deadline: float = DEADLINE, limits: CloudLimits | None = None
) -> tuple[str, ...]:
    """The regions of a cloud in which there is a Nova, by its catalogue, sorted. Raises as
    :func:`read`."""
    return connect(cloud, deadline=deadline, limits=limits).regions


def read(
    cloud: str, *, deadline: float = DEADLINE, limits: CloudLimits | None = None
) -> CloudReading:
    """Log in to a cloud, to be read; ``deadline`` is in seconds, for each request.

    Raises TargetError where there is no such cloud, where it does not let this user in, or has no
    Nova; MissingExtraError without openstacksdk.
    """
    calls = Calls(connect(cloud, deadline=deadline, limits=limits))
    try:
        calls.endpoint("compute")
    except TargetError as error:
        scope = _scope(calls.cloud)
        raise TargetError(
            f"{error.message}; {scope}" if scope else error.message, file=error.file
        ) from None
    return CloudReading(calls)


def _gathered(
    calls: Calls, wanted: Microversions, nova: NovaVersions, systems: Systems
) -> tuple[Around, list[ReadError]]:
    """What servers are joined with, and what of it could not be read."""

    def network() -> tuple[Ports, Networks]:
        networks = read_networks(calls)
        return read_ports(calls, networks.made_of), networks

    network_task = Task("network", network)
    images_task = Task("images", lambda: read_images(calls, systems, nova.newest))
    flavors_task = Task("flavors", lambda: read_flavors(calls, wanted))
    nodes_task = Task("hypervisors", lambda: read_nodes(calls, wanted))
    groups_task = Task("server groups", lambda: read_groups(calls, wanted))
    aggregates_task = Task("aggregates", lambda: read_aggregates(calls))
    projects_task = Task("projects", lambda: read_projects(calls))
    ports, networks = network_task.result()
    around = Around(
        calls.cloud.target,
        nova,
        images_task.result(),
        flavors_task.result(),
        ports,
        nodes_task.result(),
        groups_task.result(),
        aggregates_task.result(),
        projects_task.result(),
        networks.mtus,
        admin=calls.cloud.admin,
    )
    lists = (
        ports, networks, around.images, around.flavors, around.nodes, around.groups,
        around.aggregates,
    )  # fmt: skip
    return around, [error for each in lists for error in each.errors]


def _servers(
    feed: Feed[Page[RawServer]], around: Around, uses: Uses
) -> Iterator[Domain | ReadError]:
    """Every server; where its list ends early, what is missing is an error, and so are those of a
    cell that does not answer: of them Nova tells little more than the id."""
    unread, down = False, 0
    try:
        for page in feed:
            yield from page.errors
            unread = unread or bool(page.errors)
            for raw in page.items:
                found = domain_of(raw, around)
                # of a cell that is down no image and no flavor is told
                unread = unread or isinstance(found, ReadError) or raw.status == "UNKNOWN"
                down += raw.name is None and raw.status == "UNKNOWN"
                if isinstance(found, Domain):
                    uses.count(found, around.flavors.of(raw.flavor))
                if found is not None:
                    yield found
        uses.complete = not unread
    except TargetError as error:
        yield read_error(error)
    if down:
        yield ReadError(_CELL_DOWN.format(count=down), around.target)
