"""A cloud as a target: everything in it, and what is to be said of the reading itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from vnicaudit.audit.edge import guarded
from vnicaudit.audit.options import LiveOptions
from vnicaudit.audit.targets import CLOUD, Target
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError

CloudItem = Domain | Image | Flavor | ReadError


ALL_REGIONS = "/*"
"""Behind the name of a cloud: every region of its catalogue."""
_NOT_TOLD = (
    "which regions it has could not be asked when this began, and can by now ({regions}): none was "
    "read; try again"
)


def each_region(targets: Iterable[Target], live: LiveOptions) -> list[Target]:
    """The targets, each once, with one for each region (``openstack:CLOUD/REGION``) in the place of
    ``openstack:CLOUD/*``, and the region that the environment gives to a cloud. A cloud that cannot
    be asked stays as it is: reading it says why, and reads no one region in the place of all.
    Raises UsageError where what is configured of a cloud is wrong."""
    found: dict[Target, None] = {}
    for target in targets:
        if target.kind != "openstack":
            found[target] = None
        elif target.name.endswith(ALL_REGIONS):
            found.update(dict.fromkeys(_regions(target, live)))
        else:
            found[_with_region(target)] = None
    return list(found)


def _with_region(target: Target) -> Target:
    if not os.environ.get("OS_REGION_NAME"):
        return target  # without openstacksdk, which is slow to load
    from vnicaudit.platforms.openstack.configuration import with_region

    name = target.name.removeprefix(CLOUD)
    found = with_region(name)
    return target if found == name else Target(f"{CLOUD}{found}", "openstack")


def _regions(target: Target, live: LiveOptions) -> list[Target]:
    from vnicaudit.platforms.openstack.read import regions_of

    name = target.name.removeprefix(CLOUD).removesuffix(ALL_REGIONS)
    try:
        regions = regions_of(name, deadline=live.deadline, limits=live.cloud)
    except TargetError:
        return [target]
    names = [f"{name}/{region}" for region in regions] or [name]
    return [Target(f"{CLOUD}{each}", "openstack") for each in names]


class CloudTarget:
    """One cloud. When :meth:`items` has ended, ``notes`` say what this user may not see, and
    ``calls`` how many calls were made to which API."""

    def __init__(self, target: str, live: LiveOptions) -> None:
        self._target = target
        self._live = live
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}

    def items(self) -> Iterator[CloudItem]:
        """Its servers, images and flavors as they come, and what went wrong."""
        return guarded(self._target, self._items())

    def _items(self) -> Iterator[CloudItem]:
        # imported here: a run without clouds loads nothing of it
        from vnicaudit.platforms.openstack.read import read

        live = self._live
        name = self._target.removeprefix(CLOUD)
        if name.endswith(ALL_REGIONS):
            from vnicaudit.platforms.openstack.read import regions_of

            cloud = name.removesuffix(ALL_REGIONS)
            regions = regions_of(cloud, deadline=live.deadline, limits=live.cloud)
            raise TargetError(_NOT_TOLD.format(regions=", ".join(regions)), file=self._target)
        reading = read(name, deadline=live.deadline, limits=live.cloud)
        try:
            yield from reading.items
        finally:
            self.notes, self.calls = reading.notes, reading.calls
