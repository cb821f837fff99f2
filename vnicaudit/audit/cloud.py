"""A cloud as a target: everything in it, and what is to be said of the reading itself."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.audit.edge import guarded
from vnicaudit.audit.options import LiveOptions
from vnicaudit.audit.targets import CLOUD
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError

CloudItem = Domain | Image | Flavor | ReadError


ALL_REGIONS = "/*"
"""Behind the name of a cloud: every region of its catalogue."""


def every_region(target: str) -> list[str]:
    """``openstack:CLOUD/*`` as one target for each region, ``openstack:CLOUD/REGION``. A cloud that
    cannot be asked stays as it is: reading it says why."""
    from vnicaudit.platforms.openstack.read import regions_of

    name = target.removeprefix(CLOUD).removesuffix(ALL_REGIONS)
    try:
        regions = regions_of(name)
    except TargetError:
        regions = ()
    return [f"{CLOUD}{name}/{region}" for region in regions] or [f"{CLOUD}{name}"]


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
        reading = read(name, deadline=live.deadline, limits=live.cloud)
        try:
            yield from reading.items
        finally:
            self.notes, self.calls = reading.notes, reading.calls
