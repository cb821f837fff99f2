"""Fixtures that give tests real guests. They last for the session: booting is dear."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.not_run import not_run
from tests.rig import host
from tests.rig.errors import Missing
from tests.rig.guests import GuestFactory
from tests.rig.host import SshHost
from tests.rig.hypervisor import Hypervisor, running_hypervisor
from tests.rig.l1 import L1, bring_up, start_l2_guests
from tests.rig.l2 import L2Factory
from tests.rig.process import require

if TYPE_CHECKING:
    from tests.rig.unwilling_guests import Cases


@contextmanager
def _missing_is_not_run() -> Iterator[None]:
    try:
        yield
    except Missing as error:
        not_run("rig", str(error))


@pytest.fixture(scope="session")
def hypervisor() -> Iterator[Hypervisor]:
    """A real libvirtd on this machine, with a bridge for guests."""
    with _missing_is_not_run(), running_hypervisor() as running:
        yield running


@pytest.fixture(scope="session")
def x86_guest(hypervisor: Hypervisor) -> GuestFactory:
    """Makes x86_64 guests: `with x86_guest(Nic("e1000"), machine="q35") as guest: ...`."""
    with _missing_is_not_run():
        require("qemu-system-x86_64")
        return GuestFactory(hypervisor, "x86_64", "pc")


@pytest.fixture(scope="session")
def s390x_guest(hypervisor: Hypervisor) -> GuestFactory:
    """Makes s390x guests: `with s390x_guest(Nic("virtio")) as guest: ...`."""
    with _missing_is_not_run():
        require("qemu-system-s390x")
        return GuestFactory(hypervisor, "s390x", "s390-ccw-virtio")


@pytest.fixture(scope="session")
def unwilling(
    x86_guest: GuestFactory, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Cases]":
    """Guests that are waited for in vain, under way from the first test that asks for them on."""
    # imported here: the plugin is loaded by suites that have no use for it
    from tests.rig.remedy import Remedy
    from tests.rig.unwilling_guests import under_way

    with under_way(x86_guest, lambda: Remedy(tmp_path_factory.mktemp("remedy"))) as cases:
        yield cases


@pytest.fixture(scope="session")
def ssh_host(hypervisor: Hypervisor) -> SshHost:
    """A whole Debian with systemd, reached by ssh; whoever changes it changes it back."""
    with _missing_is_not_run():
        return host.bring_up(hypervisor)


@pytest.fixture(scope="session")
def l1(hypervisor: Hypervisor) -> L1:
    """A hypervisor in a guest, with real vhost."""
    with _missing_is_not_run():
        return bring_up(hypervisor)


@pytest.fixture(scope="session")
def l1_with_guests(l1: L1) -> L1:
    """L1, whose libvirt runs the guests of L2_GUESTS."""
    start_l2_guests(l1)
    return l1


@pytest.fixture(scope="session")
def l1_with_product(l1: L1) -> L1:
    """L1, with the product in it."""
    # imported here: the plugin is loaded by suites that have no use for it
    from tests.rig.product import put_product

    put_product(l1)
    return l1


@pytest.fixture(scope="session")
def l2_guest(l1: L1) -> L2Factory:
    """Makes guests in L1, with KVM: `with l2_guest(Nic("e1000")) as guest: ...`."""
    return L2Factory(l1)
