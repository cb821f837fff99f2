"""How many servers use each image and flavor, counted as they pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.platforms.openstack.connect import Cloud
from vnicaudit.platforms.openstack.flavors import Flavors
from vnicaudit.platforms.openstack.images import Images
from vnicaudit.platforms.openstack.projects import Projects

_READY = "ready"
"""Of :attr:`~vnicaudit.model.domain.DomainConfig.readiness`."""


class Uses:
    """``complete``: every server was counted. ``hosts``: whether a server came with its host; None
    where there is none to tell by (one that was never placed has no host for anybody). ``nics``:
    there was one. ``unnamed``: ids of projects of servers whose names are not known."""

    def __init__(self) -> None:
        self.complete = False
        self.hosts: bool | None = None
        self.nics = False
        self.unnamed: set[str] = set()
        self._images: Counter[str] = Counter()
        self._flavors: Counter[str] = Counter()
        self._ready: set[str] = set()
        self._together: defaultdict[str, set[str]] = defaultdict(set)

    def count(self, server: Domain, flavor: Flavor | None) -> None:
        """Take note of one server; ``flavor`` is its own as it is listed now."""
        self.nics = self.nics or bool(server.nics)
        if server.cloud is not None and (server.cloud.host or server.cloud.vm_state == "active"):
            self.hosts = self.hosts or server.cloud.host is not None
        if server.cloud is not None and server.cloud.project and not server.cloud.project_name:
            self.unnamed.add(server.cloud.project)
        kept = server.declared.server
        image = None if kept is None or kept.image is None else kept.image.id
        if image is not None:
            self._images[image] += 1
            if server.declared.readiness == _READY:
                self._ready.add(image)
        if flavor is not None and flavor.id is not None:
            self._flavors[flavor.id] += 1
            if image is not None:
                self._together[flavor.id].add(image)

    def images(self, images: Images, cloud: Cloud, projects: Projects) -> Iterator[Image]:
        """Those of most servers first. A tenant is spared those of the community that no server
        here is made of."""
        shown = images.by_id.items()
        if not cloud.admin:
            shown = {
                key: image
                for key, image in images.by_id.items()
                if self._images[key] or key not in images.others or image.owner == cloud.project
            }.items()
        order = sorted(shown, key=lambda item: (-self._images[item[0]], item[1].name, item[0]))
        for key, image in order:
            counted = self._counted(image, key)
            yield replace(counted, owner_name=projects.name(image.owner))

    def flavors(self, flavors: Flavors, images: Images) -> Iterator[Flavor]:
        """In Nova's order, each with the images that its servers are made of."""
        for key, flavor in flavors.by_id.items():
            made = sorted(self._together.get(key, ()))
            together = tuple(self._counted(images.by_id[each], each) for each in made)
            servers = self._flavors[key] if self.complete else None
            yield replace(flavor, servers=servers, images=together)

    def _counted(self, image: Image, key: str) -> Image:
        """What drives virtio in a server drives it in its image, where it comes with the system:
        that of Windows does not."""
        proven = key in self._ready and image.linux and not image.windows
        servers = self._images[key] if self.complete else None
        return replace(image, servers=servers, proven=proven)
