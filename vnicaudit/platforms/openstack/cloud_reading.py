"""Everything in a cloud, and its regions, as an audit reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vnicaudit.errors import TargetError
from vnicaudit.model.fleet import CloudItem, LiveOptions
from vnicaudit.text.targets import CLOUD

if TYPE_CHECKING:
    from vnicaudit.platforms.openstack.connect import CloudLogin, ReadLogin

ALL_REGIONS = "/*"
"""Suffix of a cloud's name: every region of its catalogue."""
_NOT_TOLD = (
    "its regions could not be listed at the start, but can be now ({regions}): none was read; "
    "try again"
)


def regions(name: str, live: LiveOptions, login: ReadLogin | None = None) -> list[str]:
    """The targets for a name: itself, with the region that the environment sets for a cloud; for
    ``openstack:CLOUD/*`` every region. Raises UsageError if the configuration is invalid."""
    if name.endswith(ALL_REGIONS):
        return _every_region(name, live, login)
    if not os.environ.get("OS_REGION_NAME"):
        return [name]  # without openstacksdk, which is slow to load
    from vnicaudit.platforms.openstack.config_files import with_region

    return [f"{CLOUD}{with_region(name.removeprefix(CLOUD))}"]


def _every_region(target: str, live: LiveOptions, login: ReadLogin | None) -> list[str]:
    """One target for each region (``openstack:CLOUD/REGION``) of ``openstack:CLOUD/*``. If the
    cloud cannot be queried, the target is unchanged: reading it reports the reason, and does not
    read one region in place of all."""
    cloud = target.removeprefix(CLOUD).removesuffix(ALL_REGIONS)
    try:
        found = _entered(cloud, live, login).regions
    except TargetError:
        return [target]
    return [f"{CLOUD}{cloud}/{region}" for region in found] or [f"{CLOUD}{cloud}"]


class LazyCloudReading:
    """One cloud. After :attr:`items` has ended, ``notes`` say what this user may not see, and
    ``calls`` how many calls were made to each API."""

    def __init__(self, target: str, live: LiveOptions, login: ReadLogin | None = None) -> None:
        self._name = target.removeprefix(CLOUD)
        self._live = live
        self._login = login
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}
        self.items = self._items()
        """Its servers, images and flavors as they come, and errors. Raises TargetError for a cloud
        that cannot be read at all."""

    def _items(self) -> Iterator[CloudItem]:
        from vnicaudit.platforms.openstack.read import opened

        live, name = self._live, self._name
        if name.endswith(ALL_REGIONS):
            cloud = name.removesuffix(ALL_REGIONS)
            found = _entered(cloud, live, self._login).regions
            raise TargetError(_NOT_TOLD.format(regions=", ".join(found)), file=f"{CLOUD}{name}")
        reading = opened(_entered(name, live, self._login))
        try:
            yield from reading.items
        finally:
            self.notes, self.calls = reading.notes, reading.calls


def _entered(cloud: str, live: LiveOptions, login: ReadLogin | None) -> CloudLogin:
    """The cloud after a login; openstacksdk, which is slow to load, is needed from here on."""
    from vnicaudit.platforms.openstack.connect import connect

    return (login or connect)(cloud, deadline=live.deadline, total=live.cloud)
