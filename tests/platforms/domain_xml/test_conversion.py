"""A NIC made into one of another kind: what is written, one change after another."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.rows import rows
from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Change, Location
from vnicaudit.model.nic import NicConfig
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.domain_xml.write import ENTAILED, edits_for, rewritten
from vnicaudit.text.edits import applied

_PLACE = Location("x", "x.xml", 1, "/domain/devices/interface[1]")

_RICH = """\
    <interface type='bridge' trustGuestRxFilters='yes'>
      <mac address='52:54:00:00:00:01'/>
      <source bridge='br0'/>
      <virtualport type='openvswitch'>
        <parameters interfaceid='09b11c53-8b5c-4eeb-8f00-d84eaa0aaa4f'/>
      </virtualport>
      <bandwidth>
        <inbound average='1000'/>
      </bandwidth>
      <vlan>
        <tag id='42'/>
      </vlan>
      <port isolated='yes'/>
      <ip address='192.0.2.1' family='ipv4'/>
      <ip address='2001:db8::1' family='ipv6'/>
      <route address='192.0.2.0' prefix='24' gateway='192.0.2.2'/>
      <portForward proto='tcp'/>
      <script path='/etc/qemu-ifup'/>
      <downscript path='/etc/qemu-ifdown'/>
      <target dev='tap7'/>
      <model type='e1000'/>
      <driver name='vhost' queues='4'/>
      <backend tap='/dev/net/tun' vhost='/dev/vhost-net'/>
      <filterref filter='clean-traffic'>
        <parameter name='IP' value='192.0.2.1'/>
      </filterref>
      <tune>
        <sndbuf>1600</sndbuf>
      </tune>
      <teaming type='transient' persistent='ua-net1'/>
      <link state='up'/>
      <mtu size='1400'/>
      <coalesce>
        <rx><frames max='7'/></rx>
      </coalesce>
      <boot order='1'/>
      <alias name='ua-net0'/>
      <rom bar='off'/>
      <acpi index='3'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>
    </interface>
"""


def _change(field: str, new: str | None) -> Change:
    return Change(field, "x", new, safe=False)


def _document(interface: str) -> bytes:
    return f"<domain><devices>\n{interface}</devices></domain>".encode()


def _changed(interface: str, *changes: tuple[str, str | None]) -> str:
    """The interface after these changes, made one after another."""
    data = _document(interface)
    for field, new in changes:
        data = applied(data, edits_for(data, _PLACE, _change(field, new)))
    whole = [_change(field, new) for field, new in changes]
    assert rewritten(_document(interface), _PLACE.xpath or "", whole) == data
    text = data.decode()
    return text[text.index("\n") + 1 : text.index("</devices>")]


def _declared(interface: str) -> NicConfig:
    (domain,) = read_bytes(_document(interface), target="x", file="x.xml")
    return domain.nics[0].declared


_VDPA = """\
    <interface type='vdpa'>
      <mac address='52:54:00:00:00:01'/>
      <source dev='/dev/vhost-vdpa-0'/>
      <model type='virtio'/> <!-- fast -->
      <address type='pci' slot='0x03'/>
    </interface>
"""
_BRIDGE = """\
    <interface type='bridge'>
      <mac address='52:54:00:00:00:01'/>
      <source bridge='br0'/>
      <model type='virtio'/> <!-- fast -->
      <address type='pci' slot='0x03'/>
    </interface>
"""


def test_a_bridge_becomes_vdpa() -> None:
    changes = (("type", "vdpa"), ("source", None), ("device", "/dev/vhost-vdpa-0"))
    assert _changed(_BRIDGE, *changes) == _VDPA
    assert _changed(_VDPA, *changes) == _VDPA


def test_a_bridge_becomes_vhostuser() -> None:
    changes = (
        ("type", "vhostuser"),
        ("source", None),
        ("source_type", "unix"),
        ("source_path", "/run/vhost.sock"),
        ("source_mode", "client"),
    )
    wanted = _VDPA.replace("'vdpa'", "'vhostuser'").replace(
        "dev='/dev/vhost-vdpa-0'", "type='unix' path='/run/vhost.sock' mode='client'"
    )
    assert _changed(_BRIDGE, *changes) == wanted
    assert _changed(wanted, *changes) == wanted


def test_an_attribute_is_set_where_there_is_a_source() -> None:
    assert _changed(_VDPA, ("device", "/dev/vhost-vdpa-1")) == _VDPA.replace("pa-0", "pa-1")
    assert _changed(_VDPA, ("source_mode", "server")) == _VDPA.replace(
        "pa-0'", "pa-0' mode='server'"
    )


def test_a_type_that_is_not_written() -> None:
    assert _changed("  <interface/>\n", ("type", "vdpa")) == "  <interface type='vdpa'/>\n"
    assert (
        _changed('  <interface x:type="a" xmlns:x="u"/>\n', ("type", "vdpa"))
        == '  <interface x:type="a" xmlns:x="u" type="vdpa"/>\n'
    )


def test_several_driver_settings_stand_in_one_driver() -> None:
    fields = (
        ("driver_name", "vhost"), ("queues", "2"), ("rx_queue_size", "1024"),
        ("tx_queue_size", "256"), ("iommu", "on"), ("packed", "on"), ("page_per_vq", "on"),
    )  # fmt: skip
    driver = (
        "<driver name='vhost' queues='2' rx_queue_size='1024' tx_queue_size='256' iommu='on' "
        "packed='on' page_per_vq='on'/>"
    )
    wanted = _BRIDGE.replace("<!-- fast -->\n", f"<!-- fast -->\n      {driver}\n")
    assert _changed(_BRIDGE, *fields) == wanted
    assert _changed(wanted, *((field, None) for field, _value in fields)) == _BRIDGE


_GONE = {
    "source": r"      <source .*?/>\n",
    "virtualport": r"      <virtualport.*?</virtualport>\n",
    "bandwidth": r"      <bandwidth.*?</bandwidth>\n",
    "vlan": r"      <vlan.*?</vlan>\n",
    "port": r"      <port .*?/>\n",
    "ip": r"      <ip .*?/>\n      <ip .*?/>\n",
    "route": r"      <route .*?/>\n",
    "port_forward": r"      <portForward .*?/>\n",
    "script": r"      <script .*?/>\n",
    "downscript": r"      <downscript .*?/>\n",
    "target": r"      <target .*?/>\n",
    "backend": r"      <backend .*?/>\n",
    "filterref": r"      <filterref.*?</filterref>\n",
    "tune": r"      <tune.*?</tune>\n",
    "teaming": r"      <teaming .*?/>\n",
    "mtu": r"      <mtu .*?/>\n",
    "coalesce": r"      <coalesce.*?</coalesce>\n",
    "acpi": r"      <acpi .*?/>\n",
    "rom": r"      <rom .*?/>\n      <acpi .*?/>\n",
    "address": r"      <address .*?/>\n",
    "address_type": r"      <rom .*?/>\n      <acpi .*?/>\n      <address .*?/>\n",
    "trust_guest_rx_filters": r" trustGuestRxFilters='yes'",
}
"""Field -> what goes when it is removed."""


@pytest.mark.parametrize("field", _GONE)
def test_what_goes_with_a_field(field: str) -> None:
    wanted, number = re.subn(_GONE[field], "", _RICH, flags=re.DOTALL)
    assert number == 1
    assert _changed(_RICH, (field, None)) == wanted
    with pytest.raises(RefusedError, match=r"there is no <|the attribute is not there"):
        _changed(wanted, (field, None))


_SETTABLE = {
    "type": "vdpa", "trust_guest_rx_filters": "no", "model": "virtio", "link_state": "down",
    "device": "/dev/vhost-vdpa-0", "source_type": "unix", "source_path": "/run/vhost.sock",
    "source_mode": "client", "backend_type": "passt", "backend_vhost": "/dev/vhost-net-2",
    "driver_name": "qemu", "queues": "8", "rx_queue_size": "512", "tx_queue_size": "512",
    "txmode": "timer", "ioeventfd": "off", "event_idx": "off", "rss": "on", "rss_hash_report": "on",
    "iommu": "on", "ats": "on", "packed": "on", "page_per_vq": "on", "mtu": "1500", "acpi": "4",
    "teaming": "persistent", "boot_order": "2",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["bridge", "network", "vdpa", "vhostuser", "user"])
@pytest.mark.parametrize("field", [*_SETTABLE, *(f"-{field}" for field in _GONE)])
def test_only_what_is_entailed_changes_with_a_field(field: str, kind: str) -> None:
    """And the record says what was written."""
    before = _RICH.replace("'bridge' trust", f"'{kind}' trust")
    if kind == "vdpa":
        before = before.replace("bridge='br0'", "dev='/dev/vhost-vdpa-9'")
    name, new = field.removeprefix("-"), _SETTABLE.get(field)
    old, now = (_declared(text) for text in (before, _changed(before, (name, new))))
    # what libvirt refuses follows from what is set
    names = set(NicConfig.__struct_fields__) - {"refused", "device" if kind != "vdpa" else ""}
    differing = {found for found in names if getattr(old, found) != getattr(now, found)}
    assert differing <= {name, *ENTAILED.get(name, ())}
    if name in names:
        assert getattr(now, name) is None if new is None else str(getattr(now, name)) == new


@pytest.mark.parametrize("field", _SETTABLE)
def test_a_field_is_set_where_nothing_is(field: str) -> None:
    """In the order in which libvirt writes children, and in the quotes used around it."""
    text = '  <interface type="user">\n    <mac address="52:54:00:00:00:01"/>\n  </interface>\n'
    element = etree.fromstring(_changed(text, (field, _SETTABLE[field])))
    assert [child.tag for child in element][:1] == ["mac"]
    assert len(element) <= 2
    assert _SETTABLE[field] in [*element.values(), *element[-1].values()]
    assert "'" not in etree.tostring(element, encoding="unicode")


def test_all_of_a_name_go() -> None:
    """libvirt would read the second where the first alone is taken out."""
    text = "<interface><filterref filter='a'/><x/><filterref filter='b'/></interface>"
    assert _changed(text + "\n", ("filterref", None)) == "<interface><x/></interface>\n"


def test_an_empty_element_stays_where_another_would_count() -> None:
    text = "<interface><driver queues='4'/><driver queues='8'/></interface>\n"
    assert _changed(text, ("queues", None)) == text.replace(" queues='4'", "")


def test_an_interface_stays_without_its_only_attribute() -> None:
    text = "<interface trustGuestRxFilters='yes'></interface>\n"
    assert _changed(text, ("trust_guest_rx_filters", None)) == "<interface></interface>\n"


@rows
def test_what_is_not_written(field: str, new: str | None, reason: str) -> None:
    with pytest.raises(RefusedError) as caught:
        _changed(_RICH, (field, new))
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("device", "vhost-vdpa-0"),
        ("device", "/dev/vhost vdpa"),
        ("device", "/dev/\u00e9"),
        ("device", "/dev/a'b"),
        ("device", ""),
        ("source_path", "run/a.sock"),
        ("source_path", "/"),
        ("source_path", "/run/a\nb"),
        ("source_path", "/run/a\tb"),
        ("source_path", "/run/a\0b"),
        ("source_path", "/run/a\x1b[0m"),
        ("source_path", "/run/a\x7f"),
        ("source_path", "/run/a\x85b"),
        ("source_path", "/run/a\ud800"),
        ("source_path", "/run/a\ufffe"),
        ("source_path", ""),
        ("source_mode", "cli ent"),
        ("type", "vdpa'"),
        ("queues", "four"),
        ("queues", "-1"),
        ("queues", "\u0664"),
        ("queues", "4\n"),
        ("queues", "12345678901"),
        ("mtu", ""),
        ("backend_vhost", "vhost-net"),
    ],
)
def test_a_value_that_cannot_be_written(field: str, value: str) -> None:
    with pytest.raises(RefusedError) as caught:
        _changed(_BRIDGE, (field, value))
    assert str(caught.value) == f"{field} cannot be set to {value!r}"


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(RefusedError) as caught:
        _changed(_BRIDGE, ("source_path", "a" * 1000))
    assert str(caught.value) == f"source_path cannot be set to '{'a' * 40}'"


_TEXT = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), min_size=1
)


@given(_TEXT, st.sampled_from(["utf-8", "iso-8859-1", "gb18030"]))
def test_any_path_is_read_back_as_it_was_given(name: str, codec: str) -> None:
    """Be the file in an encoding that has no such character."""
    declared = f"<?xml version='1.0' encoding='{codec}'?>"
    interface = _BRIDGE.replace("bridge='br0'", 'path="a"')
    data = f"{declared}<domain><devices>{interface}</devices></domain>".encode(codec)
    path = f"/{name}"
    result = applied(data, edits_for(data, _PLACE, _change("source_path", path)))
    source = etree.fromstring(result).find("devices/interface/source")
    assert source is not None
    assert dict(source.items()) == {"path": path}
