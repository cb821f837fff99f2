"""The way into the clouds of these tests: a service that is away for a moment is asked again at
once."""

from collections.abc import Iterable
from functools import partial

from tests.cli.wired import platforms_with
from vnicaudit.cli import main
from vnicaudit.cli.wiring import Wiring
from vnicaudit.model.finding import OPENSTACK
from vnicaudit.model.fleet import DEADLINE, LiveOptions
from vnicaudit.platforms.openstack import connect as login
from vnicaudit.platforms.openstack import read as reading
from vnicaudit.platforms.openstack.cloud_reading import LazyCloudReading, regions
from vnicaudit.platforms.openstack.connect import ReadLogin

connect = partial(login.connect, pauses=(0.0, 0.0, 0.0))


def read(
    cloud: str, *, deadline: float = DEADLINE, total: float | None = None,
    login: ReadLogin = connect,
) -> reading.CloudItems:  # fmt: skip
    """As :func:`vnicaudit.platforms.openstack.read.read`."""
    return reading.read(cloud, deadline=deadline, total=total, login=login)


def wiring(login: ReadLogin = connect) -> Wiring:
    """Of the program, but that clouds are entered so."""

    def opened(cloud: str, live: LiveOptions) -> reading.CloudItems:
        return read(cloud, deadline=live.deadline, total=live.cloud, login=login)

    def listed(cloud: str, live: LiveOptions) -> tuple[str, ...]:
        return reading.regions_of(cloud, deadline=live.deadline, total=live.cloud, login=login)

    fields = {
        "cloud": partial(LazyCloudReading, opened=opened, listed=listed),
        "expanded": partial(regions, listed=listed),
    }
    there = platforms_with({OPENSTACK: fields})
    return Wiring(platforms=lambda: there)


def run(words: Iterable[str], login: ReadLogin = connect) -> int:
    """The command line, in this process; its exit code."""
    return main.run([*words], wiring(login))
