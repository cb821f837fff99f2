"""NICs that ``<qemu:commandline>`` adds, and devices that are kept from the guest."""

from __future__ import annotations

from vnicaudit.audit.effective import resolve
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.domain_xml.read import read_bytes

NS = "http://libvirt.org/schemas/domain/qemu/1.0"
XML = f"""<domain type='kvm' xmlns:q='{NS}'>
  <name>a</name>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='user'><model type='virtio'/></interface>
  </devices>
  <q:commandline>
    <q:arg value='-netdev'/>
    <q:arg value='tap,id=own,ifname=tap7'/>
    <q:arg value='-device'/>
    <q:arg value='virtio-net-pci,netdev=own,rx_queue_size=1024,mac=52:54:00:00:00:0A,id=own0'/>
    <q:env name='A' value='B'/>
  </q:commandline>
</domain>
"""


def _domain(xml: str) -> Domain:
    (domain,) = read_bytes(xml.encode(), target="t", file="a.xml")
    return domain


def test_a_nic_behind_libvirts_back() -> None:
    domain = _domain(XML)
    own = domain.nics[1]
    assert (own.index, own.mac, own.alias) == (1, "52:54:00:00:00:0a", "own0")
    assert (own.declared.origin, own.declared.type, own.declared.rx_queue_size) == (
        "commandline", "ethernet", 1024,
    )  # fmt: skip
    assert (own.location.file, own.location.line) == ("a.xml", 7)
    assert own.location.xpath == "/domain/*[local-name()='commandline']"
    assert domain.declared.nics == 2


def test_it_has_no_vhost_unless_its_arguments_say_so() -> None:
    domain = _domain(XML)
    own = domain.nics[1]
    found = resolve(own.declared, domain.declared, HostConfig(vhost_net=True), own.running)
    assert found.vhost.effective is False
    assert found.vhost.reason == "seen in QEMU's arguments in <qemu:commandline>"
    assert found.rx_queue_size.effective == 1024


def test_the_prefix_is_free_and_the_namespace_is_not() -> None:
    assert len(_domain(XML.replace("q:", "ns0:").replace(":q=", ":ns0=")).nics) == 2
    assert len(_domain(XML.replace(NS, "http://example.org/other")).nics) == 1


def test_arguments_without_a_nic() -> None:
    xml = XML.replace("-netdev", "-unknown").replace("-device", "-other")
    assert len(_domain(xml).nics) == 1


def test_a_device_kept_from_the_guest_is_none_of_its_nics() -> None:
    """``<address type='unassigned'/>``: libvirt detaches it from the host and goes no further."""
    hostdev = (
        "<hostdev type='pci'><source><address bus='1' slot='0' function='{}'/></source>{}</hostdev>"
    )
    devices = hostdev.format(0, "<address type='unassigned'/>") + hostdev.format(1, "")
    domain = _domain(f"<domain><name>a</name><devices>{devices}</devices></domain>")
    assert [nic.source for nic in domain.nics] == ["0000:01:00.1"]


def test_a_model_that_says_nothing_is_no_model() -> None:
    """Measured with libvirt 9.0 (tests/conformance): both become the default, rtl8139."""
    nic = "<interface type='user'><model type='{}'/></interface>"
    devices = nic.format("") + nic.format("Unknown") + nic.format("VirtIO")
    domain = _domain(f"<domain><name>a</name><devices>{devices}</devices></domain>")
    assert [nic.declared.model for nic in domain.nics] == [None, None, "virtio"]
