"""The way into the clouds of these tests: a service that is away for a moment is asked again at
once."""

from collections.abc import Iterable
from functools import partial

from tests.cli.inside import run_here
from tests.cli.wired import platforms_with
from vnicaudit.cli.wiring import Wiring
from vnicaudit.model.finding import OPENSTACK
from vnicaudit.model.fleet import DEADLINE
from vnicaudit.platforms.openstack import connect as login
from vnicaudit.platforms.openstack import read as reading
from vnicaudit.platforms.openstack.cloud_reading import LazyCloudReading, regions
from vnicaudit.platforms.openstack.connect import ReadLogin

connect = partial(login.connect, pauses=(0.0, 0.0, 0.0))


def read(
    cloud: str, *, deadline: float = DEADLINE, total: float | None = None,
    login: ReadLogin = connect,
) -> reading.CloudItems:  # fmt: skip
    """Log in to a cloud, and read all of it."""
    return reading.opened(login(cloud, deadline=deadline, total=total))


def wiring(login: ReadLogin = connect) -> Wiring:
    """Of the program, but that clouds are entered so."""

    fields = {
        "cloud": partial(LazyCloudReading, login=login),
        "expanded": partial(regions, login=login),
    }
    there = platforms_with({OPENSTACK: fields})
    return Wiring(platforms=lambda: there)


def run(words: Iterable[str], login: ReadLogin = connect) -> int:
    """The command line, in this process; its exit code."""
    return run_here(words, wiring(login))
