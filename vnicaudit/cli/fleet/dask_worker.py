"""Functions called by name on the workers of a Dask cluster. Each takes and returns bytes
(:mod:`vnicaudit.fleet.dask`), so that no object of vnicaudit is pickled."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.fleet.dask import encoded, read_for_controller

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem
    from vnicaudit.fleet.host_reading import ReadHost


def version() -> bytes:
    """The version of vnicaudit."""
    return encoded(None)


def read_host(order: bytes) -> bytes:
    """Read a host as requested by the controller."""
    return read_for_controller(order, _reader())


@cache
def _reader() -> ReadHost[HostItem]:
    return every_platform().read_live
