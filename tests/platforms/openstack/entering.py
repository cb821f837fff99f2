"""The way into the clouds of these tests: a service that is away for a moment is asked again at
once."""

from collections.abc import Iterable
from functools import partial

from tests.cli.inside import run_here
from tests.cli.wired import platforms_with
from vnicaudit.cli.wiring import Wiring
from vnicaudit.model.finding import OPENSTACK
from vnicaudit.model.fleet import CLOUD_SECONDS, DEADLINE, LiveOptions
from vnicaudit.platforms.openstack.connect import Login
from vnicaudit.platforms.openstack.connect import connect as log_in
from vnicaudit.platforms.openstack.read import CloudItems, regions_of
from vnicaudit.text.targets import CLOUD

connect = partial(log_in, pauses=(0.001, 0.001, 0.0))


def read(
    cloud: str, *, deadline: float = DEADLINE, total: float = CLOUD_SECONDS, login: Login = connect
) -> CloudItems:
    """A cloud, which is entered when its items are asked for."""
    return CloudItems(f"{CLOUD}{cloud}", LiveOptions(deadline, cloud=total), login)


def wiring(login: Login = connect) -> Wiring:
    """Of the program, but that clouds are entered so."""

    fields = {
        "cloud": partial(CloudItems, login=login),
        "expanded": partial(regions_of, login=login),
    }
    there = platforms_with({OPENSTACK: fields})
    return Wiring(platforms=lambda: there)


def run(words: Iterable[str], login: Login = connect) -> int:
    """The command line, in this process; its exit code."""
    return run_here(words, wiring(login))
