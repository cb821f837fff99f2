"""Running against persistent definitions."""

import pytest

from tests.rows import rows, rows_of_tuples
from vnicaudit.model.domain import Domain, StagedNic
from vnicaudit.platforms.domain_xml.definitions import coming, staged
from vnicaudit.platforms.domain_xml.read import read_bytes

MAC = "52:54:00:00:00:01"
OTHER = "52:54:00:00:00:02"
QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
METADATA = {
    "libvirt": "",
    "nova": "<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/>",
    "kubevirt": "<kubevirt xmlns='http://kubevirt.io'/>",
    "ovirt": "<ovirt-vm:vm xmlns:ovirt-vm='http://ovirt.org/vm/1.0'/>",
}


def domain(*nics: str, owner: str = "libvirt", more: str = "") -> Domain:
    text = (
        f"<domain type='kvm'><name>d</name><metadata>{METADATA[owner]}</metadata>"
        f"<devices>{''.join(nics)}</devices>{more}</domain>"
    )
    (found,) = read_bytes(text.encode(), target="t", file=None)
    return found


def nic(children: str, kind: str = "bridge", mac: str = MAC) -> str:
    return f"<interface type='{kind}'><mac address='{mac}'/>{children}</interface>"


@rows_of_tuples
def test_what_waits_for_a_power_cycle(
    now: str, later: str, fields: tuple[tuple[str, str, str], ...]
) -> None:
    (found,) = staged(domain(nic(now)), domain(nic(later)))
    assert (found.mac, found.fields, found.gone) == (MAC, fields, False)
    assert found.later == domain(nic(later)).nics[0].declared


def test_another_type_waits_too() -> None:
    (found,) = staged(domain(nic("", "user")), domain(nic("", "bridge")))
    assert (found.mac, found.fields) == (MAC, (("type", "user", "bridge"),))


@rows
def test_what_libvirt_or_an_update_changes_live_is_not_staged(now: str, later: str) -> None:
    assert staged(domain(nic(now)), domain(nic(later))) == ()


@pytest.mark.parametrize("running", ["network", "bridge", "direct", "hostdev"])
def test_a_nic_on_a_network_runs_as_what_it_became(running: str) -> None:
    later = domain(nic("<source network='n'/>", "network"))
    assert staged(domain(nic("<source network='n' portid='p'/>", running)), later) == ()


def test_a_nic_of_the_running_definition_only_is_gone() -> None:
    both, one = domain(nic(""), nic("", mac=OTHER)), domain(nic(""))
    assert staged(both, one) == (StagedNic(OTHER, gone=True),)
    assert coming(both, one) == ()


def test_a_nic_of_the_persistent_definition_only_is_coming() -> None:
    one, both = domain(nic("")), domain(nic("", mac=OTHER), nic(""))
    assert staged(one, both) == ()
    assert coming(one, both) == (OTHER,)


def test_another_mac_is_another_nic() -> None:
    before, after = domain(nic("")), domain(nic("", mac=OTHER))
    assert staged(before, after) == (StagedNic(MAC, gone=True),)
    assert coming(before, after) == (OTHER,)


MODEL = "<model type='e1000'/>"
TWICE = (nic(MODEL), nic(MODEL))
NAMELESS = "<interface type='bridge'><source bridge='br0'/></interface>"
HOSTDEV = "<hostdev mode='subsystem' type='pci'><source><address bus='3'/></source></hostdev>"
ARGUMENTS = (
    f"<commandline xmlns='{QEMU}'><arg value='-device'/>"
    f"<arg value='e1000,netdev=n,mac={MAC}'/></commandline>"
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(domain(*TWICE), domain(nic(""), nic(MODEL)), id="a MAC twice, and twice"),
        pytest.param(domain(*TWICE), domain(nic("")), id="a MAC twice, one removed"),
        pytest.param(domain(*TWICE), domain(), id="a MAC twice, both removed"),
        pytest.param(domain(nic("")), domain(NAMELESS), id="an interface without MAC"),
        pytest.param(domain(NAMELESS), domain(), id="it has no MAC itself"),
        pytest.param(domain(HOSTDEV), domain(), id="an assigned device has no MAC"),
        pytest.param(domain(nic("")), domain(more=ARGUMENTS), id="moved to QEMU's arguments"),
        pytest.param(
            domain(nic("", "hostdev")), domain(nic("", "network")), id="from a pool of devices"
        ),
    ],
)
def test_no_nic_goes_or_comes_where_that_is_not_certain(one: Domain, other: Domain) -> None:
    for running, persistent in ((one, other), (other, one)):
        assert not [found for found in staged(running, persistent) if found.gone]
        assert coming(running, persistent) == ()


def test_an_assigned_device_hides_no_nic_that_goes() -> None:
    """It has no MAC, and an interface is none."""
    assert staged(domain(nic(""), HOSTDEV), domain(HOSTDEV)) == (StagedNic(MAC, gone=True),)


@pytest.mark.parametrize("owner", ["nova", "kubevirt", "ovirt"])
def test_an_owner_that_writes_the_definition_anew_decides_which_nics_come(owner: str) -> None:
    both, one = domain(nic(""), nic("", mac=OTHER), owner=owner), domain(nic(""), owner=owner)
    assert staged(both, one) == ()
    assert coming(one, both) == ()


def test_a_mac_that_occurs_twice_matches_nothing() -> None:
    assert staged(domain(*TWICE), domain(nic(""), nic(MODEL))) == ()
