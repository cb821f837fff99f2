"""A cloud as a target: its name, its regions, and everything in it. The readers are imported on
first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.live import CloudItem
from vnicaudit.model.live_options import LiveOptions
from vnicaudit.text.cloud_names import CLOUD

if TYPE_CHECKING:
    from vnicaudit.model.compute_node import ComputeNode

ALL_REGIONS = "/*"
"""Suffix of a cloud's name: every region of its catalogue."""
_NOT_TOLD = (
    "its regions could not be listed at the start, but can be now ({regions}): none was read; "
    "try again"
)


def cloud_of(name: str) -> str | None:
    """The name of a cloud, from OS_CLOUD if the target has none; None if the target is not a cloud.
    Raises UsageError if neither names one, or if no region follows the slash."""
    if not name.startswith(CLOUD):
        return None
    cloud, slash, region = name.removeprefix(CLOUD).strip().partition("/")
    if slash and not name.rpartition("/")[2].strip():
        alone = name.rstrip("/ ")
        raise UsageError(
            f"{name}: the region after the slash is missing; write {alone} for the configured "
            f"region, or {alone}/* for all of them"
        )
    if cloud:
        return name
    if chosen := os.environ.get("OS_CLOUD", "").strip():
        return f"{CLOUD}{chosen}{slash}{region}"
    raise UsageError(
        f"{name}: the cloud is missing; write openstack:NAME with a name from clouds.yaml (or set "
        "OS_CLOUD), or openstack:envvars to use the OS_* variables"
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

    return read(cloud, deadline=live.deadline, limits=live.cloud)


def regions_of(cloud: str, live: LiveOptions) -> tuple[str, ...]:
    """The regions of a cloud, by its catalogue."""
    from vnicaudit.platforms.openstack import read

    return read.regions_of(cloud, deadline=live.deadline, limits=live.cloud)


def regions(name: str, live: LiveOptions, listed: RegionsOf = regions_of) -> list[str]:
    """The targets for a name: itself, with the region that the environment sets for a cloud; for
    ``openstack:CLOUD/*`` every region. Raises UsageError if the configuration is invalid."""
    if name.endswith(ALL_REGIONS):
        return _every_region(name, live, listed)
    if not os.environ.get("OS_REGION_NAME"):
        return [name]  # without openstacksdk, which is slow to load
    from vnicaudit.platforms.openstack.configuration import with_region

    return [f"{CLOUD}{with_region(name.removeprefix(CLOUD))}"]


def read(
    name: str, live: LiveOptions, opened: OpenCloud = open_cloud, listed: RegionsOf = regions_of
) -> LazyCloudReading:
    """Everything in a cloud."""
    return LazyCloudReading(name, live, opened, listed)


def compute_nodes(name: str, live: LiveOptions) -> list[ComputeNode]:
    """The hosts of a cloud that run its servers, by its hypervisors. Raises TargetError if this
    user may not list them."""
    from vnicaudit.platforms.openstack.compute_nodes import compute_nodes_of

    cloud = name.removeprefix(CLOUD)
    return compute_nodes_of(cloud, deadline=live.deadline, limits=live.cloud)


def check() -> None:
    """Raises MissingExtraError if openstacksdk is missing."""
    import vnicaudit.platforms.openstack.binding as binding

    del binding


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
        self, target: str, live: LiveOptions, opened: OpenCloud, listed: RegionsOf
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
