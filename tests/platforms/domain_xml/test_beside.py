"""A second NIC like one of a definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.rows import rows
from vnicaudit.errors import RefusedError
from vnicaudit.platforms.domain_xml.source import beside, for_attach

_MAC = "52:54:00:f0:00:01"
_NIC = """\
<interface type='network'>
      <mac address='52:54:00:aa:00:01' type='static'/>
      <source network='lan' portgroup='fast' portid='c0ffee00-0000-4000-8000-000000000000'/>
      <target dev='vnet3'/>
      <model type='virtio'/>
      <driver name='vhost' queues='4'><host gso='off'/></driver>
      <bandwidth><inbound average='1000'/></bandwidth>
      <filterref filter='clean-traffic'/>
      <boot order='1'/>
      <acpi index='2'/>
      <alias name='ua-net'/>
      <mtu size='9000'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
    </interface>"""


def _definition(interface: str, head: str = "") -> bytes:
    return f"{head}<domain><devices>{interface}</devices></domain>".encode()


def _second(interface: str) -> etree._Element:
    return etree.fromstring(beside(_definition(interface), 1, _MAC))


def test_what_only_one_nic_may_have_is_left_out_and_all_else_stays() -> None:
    found = _second(_NIC)
    assert [child.tag for child in found] == [
        "mac", "source", "model", "driver", "bandwidth", "filterref", "mtu",
    ]  # fmt: skip
    assert found.get("type") == "network"
    assert dict(found[0].attrib) == {"address": _MAC}
    assert dict(found[1].attrib) == {"network": "lan", "portgroup": "fast"}
    assert dict(found[3].attrib) == {"name": "vhost", "queues": "4"}
    assert found[3][0].get("gso") == "off"


@rows
def test_a_nic_that_says_little(interface: str, second: str) -> None:
    assert beside(_definition(interface), 1, _MAC).decode() == second


def test_it_is_in_utf_8_with_its_namespaces() -> None:
    text = _NIC.replace("<model", "<x:note xmlns:x='u'>\u00e4</x:note><model")
    data = _definition(text, "<?xml version='1.0' encoding='ISO-8859-1'?>").decode()
    assert "\u00e4".encode() in beside(data.encode("latin-1"), 1, _MAC)


def test_a_nic_that_is_not_there() -> None:
    with pytest.raises(RefusedError, match=r"^the <interface> is no longer there$"):
        beside(_definition(_NIC), 2, _MAC)


_CHILDREN = st.sampled_from([
    "<mac address='52:54:00:00:00:02'/>", "<address type='pci'/>", "<alias name='a'/>", "<model/>",
    "<boot order='2'/>", "<target dev='t'/>", "<source bridge='b'/>", "<!-- <mac/> -->", " ",
])  # fmt: skip


@given(st.lists(_CHILDREN, max_size=8))
def test_the_rest_is_what_libvirt_would_attach_anyway(children: list[str]) -> None:
    data = _definition(f"<interface type='bridge'>{''.join(children)}</interface>")
    first, second = etree.fromstring(for_attach(data, 1)), etree.fromstring(beside(data, 1, _MAC))
    macs = second.findall("mac")
    assert [mac.get("address") for mac in macs] == [_MAC]
    kept = [str(one.tag) for one in first if one.tag in ("model", "source", etree.Comment)]
    assert [str(one.tag) for one in second if one.tag != "mac"] == kept
