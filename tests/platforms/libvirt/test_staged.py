"""Running against persistent definitions."""

import pytest

from vnicaudit.model.domain import Domain, StagedNic
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.libvirt.staged import staged

MAC = "52:54:00:00:00:01"


def domain(*nics: str) -> Domain:
    text = f"<domain type='kvm'><name>d</name><devices>{''.join(nics)}</devices></domain>"
    (found,) = read_bytes(text.encode(), target="t", file=None)
    return found


def nic(children: str, kind: str = "bridge", mac: str = MAC) -> str:
    return f"<interface type='{kind}'><mac address='{mac}'/>{children}</interface>"


@pytest.mark.parametrize(
    ("now", "later", "fields"),
    [
        ("<model type='e1000'/>", "<model type='virtio'/>", (("model", "e1000", "virtio"),)),
        (
            "<driver queues='4' tx_queue_size='1024'/>",
            "<driver name='qemu' queues='2'/>",
            (
                ("driver_name", "", "qemu"),
                ("queues", "4", "2"),
                ("tx_queue_size", "1024", ""),
            ),
        ),
        ("<mtu size='1500'/>", "<mtu size='9000'/>", (("mtu", "1500", "9000"),)),
        ("<driver><host tso4='off' gso='off'/></driver>", "", (("host_off", "tso4 gso", ""),)),
    ],
)
def test_what_waits_for_a_power_cycle(
    now: str, later: str, fields: tuple[tuple[str, str, str], ...]
) -> None:
    assert staged(domain(nic(now)), domain(nic(later))) == (StagedNic(MAC, fields),)


def test_another_type_waits_too() -> None:
    found = staged(domain(nic("", "user")), domain(nic("", "bridge")))
    assert found == (StagedNic(MAC, (("type", "user", "bridge"),)),)


@pytest.mark.parametrize(
    ("now", "later"),
    [
        # what libvirt fills in at start
        ("<target dev='vnet3'/><alias name='net0'/>", ""),
        ("<address type='pci' domain='0' bus='0' slot='3' function='0'/>", ""),
        # what is changed live, or learned from the bridge
        ("<link state='down'/>", ""),
        ("<bandwidth><inbound average='1'/></bandwidth>", ""),
        ("<mtu size='9000'/>", ""),
    ],
)
def test_what_libvirt_or_an_update_changes_live_is_not_staged(now: str, later: str) -> None:
    assert staged(domain(nic(now)), domain(nic(later))) == ()


@pytest.mark.parametrize("running", ["network", "bridge", "direct", "hostdev"])
def test_a_nic_on_a_network_runs_as_what_it_became(running: str) -> None:
    later = domain(nic("<source network='n'/>", "network"))
    assert staged(domain(nic("<source network='n' portid='p'/>", running)), later) == ()


def test_a_nic_of_one_definition_only_is_no_change_of_a_nic() -> None:
    assert staged(domain(nic("")), domain()) == ()
    assert staged(domain(), domain(nic(""))) == ()


def test_a_mac_that_occurs_twice_matches_nothing() -> None:
    model = "<model type='e1000'/>"
    assert staged(domain(nic(model), nic(model)), domain(nic(""), nic(model))) == ()
