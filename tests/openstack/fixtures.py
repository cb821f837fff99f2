"""Fixtures that give tests a real OpenStack. It lasts for the session: bringing it up is dear."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.not_run import not_run
from tests.openstack.cloud import Cloud
from tests.openstack.images import make_image
from tests.openstack.running import running_cloud
from tests.openstack.servers import ServerFactory
from tests.rig.errors import Missing


@contextmanager
def _missing_is_not_run() -> Iterator[None]:
    try:
        yield
    except Missing as error:
        not_run("openstack", str(error))


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    """A real OpenStack."""
    with _missing_is_not_run(), running_cloud() as running:
        yield running


@pytest.fixture
def server(cloud: Cloud) -> Iterator[ServerFactory]:
    """Makes servers: `server("legacy")`, `server(image(hw_vif_model="e1000"), "m2")`."""
    factory = ServerFactory(cloud)
    yield factory
    factory.remove()


@pytest.fixture
def image(cloud: Cloud) -> Iterator[Callable[..., str]]:
    """Makes images that boot the guest: `image(hw_vif_model="e1000")` is the new one's name. With
    `boots=False` it stays in its firmware, which takes a fifth of the CPU."""
    made = []

    def make(*, boots: bool = True, **properties: str) -> str:
        made.append(make_image(cloud.api, cloud.new_name(), boots=boots, **properties))
        return str(made[-1].name)

    yield make
    for one in made:
        cloud.api.image.delete_image(one, ignore_missing=True)


@pytest.fixture
def flavor(cloud: Cloud) -> Iterator[Callable[..., str]]:
    """Makes flavors: `flavor(vcpus=2, **{"hw:vif_multiqueue_enabled": "true"})` is its name."""
    made = []

    def make(vcpus: int = 1, **extra_specs: str) -> str:
        compute = cloud.api.compute
        new = compute.create_flavor(name=cloud.new_name(), ram=256, vcpus=vcpus, disk=1)
        made.append(new)
        if extra_specs:
            compute.create_flavor_extra_specs(new, extra_specs)
        return str(new.name)

    yield make
    for one in made:
        cloud.api.compute.delete_flavor(one, ignore_missing=True)
