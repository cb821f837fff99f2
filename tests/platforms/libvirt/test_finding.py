"""Domains by name or by UUID: libvirt's own test driver has one, ``test``."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from vnicaudit.errors import ActionError
from vnicaudit.platforms.libvirt.control import LibvirtHypervisor, connect

UUID = "6695eb01-f6a4-8304-79aa-97f2502e193f"


@pytest.fixture
def host() -> Iterator[LibvirtHypervisor]:
    with closing(connect("test:///default", deadline=20)) as connected:
        yield connected


@pytest.mark.parametrize("name", ["test", UUID, UUID.upper()])
def test_a_domain_is_found_by_either(host: LibvirtHypervisor, name: str) -> None:
    machine = host.find(name)
    assert (machine.name, machine.uuid) == ("test", UUID)
    assert machine.state().active


@pytest.mark.parametrize("name", ["tes", "", "test ", UUID[:-1] + "0"])
def test_one_that_is_not_there_is_an_error(host: LibvirtHypervisor, name: str) -> None:
    with pytest.raises(ActionError, match=f"^cannot find domain {name}: "):
        host.find(name)
