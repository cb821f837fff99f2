"""Everything in a cloud, and its regions, as an audit reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Protocol

from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import CloudItem, LiveOptions
from vnicaudit.text.diff import CLOUD

ALL_REGIONS = "/*"
"""Suffix of a cloud's name: every region of its catalogue."""
_NOT_TOLD = (
    "its regions could not be listed at the start, but can be now ({regions}): none was read; "
    "try again"
)


class OpenedCloud(Protocol):
    """A cloud that is being read, see :class:`vnicaudit.platforms.openstack.read.CloudItems`."""

    @property
    def items(self) -> Iterator[CloudItem]:
        """Everything in it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """See :attr:`LazyCloudReading.notes`."""

    @property
    def calls(self) -> dict[str, int]:
        """See :attr:`LazyCloudReading.calls`."""


OpenCloud = Callable[[str, LiveOptions], OpenedCloud]
"""Logs in to a cloud for reading. Raises TargetError."""
RegionsOf = Callable[[str, LiveOptions], tuple[str, ...]]
"""Returns the regions of a cloud. Raises TargetError."""


def open_cloud(cloud: str, live: LiveOptions) -> OpenedCloud:
    """A cloud by its API."""
    from vnicaudit.platforms.openstack.read import read

    return read(cloud, deadline=live.deadline, total=live.cloud)


def regions_of(cloud: str, live: LiveOptions) -> tuple[str, ...]:
    """The regions of a cloud, by its catalogue."""
    from vnicaudit.platforms.openstack import read

    return read.regions_of(cloud, deadline=live.deadline, total=live.cloud)


def regions(name: str, live: LiveOptions, listed: RegionsOf = regions_of) -> list[str]:
    """The targets for a name: itself, with the region that the environment sets for a cloud; for
    ``openstack:CLOUD/*`` every region. Raises UsageError if the configuration is invalid."""
    if name.endswith(ALL_REGIONS):
        return _every_region(name, live, listed)
    if not os.environ.get("OS_REGION_NAME"):
        return [name]  # without openstacksdk, which is slow to load
    from vnicaudit.platforms.openstack.config_files import with_region

    return [f"{CLOUD}{with_region(name.removeprefix(CLOUD))}"]


def _every_region(target: str, live: LiveOptions, listed: RegionsOf) -> list[str]:
    """One target for each region (``openstack:CLOUD/REGION``) of ``openstack:CLOUD/*``. If the
    cloud cannot be queried, the target is unchanged: reading it reports the reason, and does not
    read one region in place of all."""
    cloud = target.removeprefix(CLOUD).removesuffix(ALL_REGIONS)
    try:
        found = listed(cloud, live)
    except TargetError:
        return [target]
    return [f"{CLOUD}{cloud}/{region}" for region in found] or [f"{CLOUD}{cloud}"]


class LazyCloudReading:
    """One cloud. After :attr:`items` has ended, ``notes`` say what this user may not see, and
    ``calls`` how many calls were made to each API."""

    def __init__(
        self,
        target: str,
        live: LiveOptions,
        opened: OpenCloud = open_cloud,
        listed: RegionsOf = regions_of,
    ) -> None:
        self._name = target.removeprefix(CLOUD)
        self._live = live
        self._opened = opened
        self._listed = listed
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}
        self.items = self._items()
        """Its servers, images and flavors as they come, and errors. Raises TargetError for a cloud
        that cannot be read at all."""

    def _items(self) -> Iterator[CloudItem]:
        live, name = self._live, self._name
        if name.endswith(ALL_REGIONS):
            cloud = name.removesuffix(ALL_REGIONS)
            found = self._listed(cloud, live)
            raise TargetError(_NOT_TOLD.format(regions=", ".join(found)), file=f"{CLOUD}{name}")
        reading = self._opened(name, live)
        try:
            yield from reading.items
        finally:
            self.notes, self.calls = reading.notes, reading.calls
