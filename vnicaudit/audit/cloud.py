"""A cloud as a target: everything in it, and what is to be said of the reading itself."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.audit.edge import guarded
from vnicaudit.audit.targets import CLOUD
from vnicaudit.model.domain import Domain
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.report import ReadError

CloudItem = Domain | Image | Flavor | ReadError


class CloudTarget:
    """One cloud. When :meth:`items` has ended, ``notes`` say what this user may not see, and
    ``calls`` how many calls were made to which API."""

    def __init__(self, target: str, deadline: float) -> None:
        self._target = target
        self._deadline = deadline
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}

    def items(self) -> Iterator[CloudItem]:
        """Its servers, images and flavors as they come, and what went wrong."""
        return guarded(self._target, self._items())

    def _items(self) -> Iterator[CloudItem]:
        # imported here: a run without clouds loads nothing of it
        from vnicaudit.platforms.openstack.read import read

        reading = read(self._target.removeprefix(CLOUD), deadline=self._deadline)
        try:
            yield from reading.items
        finally:
            self.notes, self.calls = reading.notes, reading.calls
