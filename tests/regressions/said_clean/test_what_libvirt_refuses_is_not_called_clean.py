"""What libvirt 9.0 refuses to define was called clean: ``<driver name='foo'/>``, ``iommu='maybe'``,
a multicast MAC, ``<mtu>`` on ``type='user'``. Of ``' virtio '`` it was said that it is defined and
does not start: it is not defined either.
Then any value in capitals was taken for a placeholder: ``iommu='MAYBE'`` was clean.
"""

from pathlib import Path

import pytest

from tests.regressions.said_clean.definitions import audited, definition, nics

VIRTIO = "<model type='virtio'/>"


@pytest.mark.parametrize(
    ("inside", "kind", "words"),
    [
        ("<driver name='foo'/>", "bridge", "<driver> name='foo' is not qemu or vhost"),
        ("<driver iommu='maybe'/>", "bridge", "<driver> iommu='maybe' is not on or off"),
        ("<driver txmode='x'/>", "bridge", "<driver> txmode='x' is not iothread or timer"),
        ("<link state='off'/>", "bridge", "<link> state='off' is not up or down"),
        ("<mtu size='1500'/>", "user", "type='user' takes no <mtu>"),
        ("<mtu size='1500'/>", "server", "type='server' takes no <mtu>"),
        ("<mtu size='big'/>", "bridge", "<mtu> size='big' is not a number"),
        ("<port isolated='yes'/>", "ethernet", "type='ethernet' takes no <port isolated>"),
        ("<boot order='0'/>", "bridge", "<boot> order='0' is not between 1 and 4294967295"),
        ("<rom bar='yes'/>", "bridge", "<rom> bar='yes' is not on or off"),
        ("<rom enabled='no' bar='on'/>", "bridge", "<rom enabled='no'> takes no bar and no file"),
        (
            "<teaming type='transient' persistent='ua-x'/>",
            "bridge",
            "type='bridge' takes no <teaming type='transient'>",
        ),
        ("<route address='0.0.0.0' gateway='192.0.2.1'/>", "user", "type='user' takes no <route>"),
        (
            "<bandwidth><inbound peak='5'/></bandwidth>",
            "bridge",
            "<inbound> (in <bandwidth>) has no average",
        ),
        (
            "<bandwidth><inbound average='5' floor='5'/></bandwidth>",
            "bridge",
            "<inbound> (in <bandwidth>) takes no floor with type='bridge'",
        ),
        (
            "<bandwidth><outbound average='5' floor='5'/></bandwidth>",
            "bridge",
            "<outbound> (in <bandwidth>) takes no floor",
        ),
        ("<vlan><tag/></vlan>", "bridge", "<tag> (in <vlan>) has no id"),
        (
            "<vlan><tag id='5' nativeMode='tagged'/><tag id='6' nativeMode='tagged'/></vlan>",
            "bridge",
            "<vlan> has more than one nativeMode",
        ),
        (
            "<vlan trunk='no'><tag id='5'/><tag id='6'/></vlan>",
            "bridge",
            "<vlan trunk='no'> takes only one <tag>, without nativeMode",
        ),
        ("<driver iommu='MAYBE'/>", "bridge", "<driver> iommu='MAYBE' is not on or off"),
        ("<driver name='FOOBAR'/>", "bridge", "<driver> name='FOOBAR' is not qemu or vhost"),
        ("<link state='DISABLED'/>", "bridge", "<link> state='DISABLED' is not up or down"),
        ("<mtu size='JUMBO'/>", "bridge", "<mtu> size='JUMBO' is not a number"),
        ("<port isolated='TRUE'/>", "bridge", "<port> isolated='TRUE' is not yes or no"),
    ],
)
def test_a_value_that_libvirt_refuses_is_an_error(
    tmp_path: Path, inside: str, kind: str, words: str
) -> None:
    source = "<source bridge='br0' address='127.0.0.1' port='5558'/>"
    file = definition(tmp_path, f"{VIRTIO}{inside}", kind=kind, source=source)
    found = [one for one in audited(file) if one["rule"] == "VNIC015"]
    assert [one["message"] for one in found] == [f"libvirt refuses the definition: {words}"]
    assert (found[0]["severity"], found[0]["location"]["line"]) == ("error", 3)
    assert [nic["starts"] for nic in nics(file)] == [False]


def test_a_multicast_address_is_refused(tmp_path: Path) -> None:
    file = definition(tmp_path, VIRTIO)
    file.write_text(file.read_text().replace("52:54:00:00:00:01", "01:00:5e:00:00:01"))
    (found,) = audited(file)
    assert found["message"] == "libvirt refuses the definition: its MAC address is a multicast one"
    assert [nic["starts"] for nic in nics(file)] == [False]


def test_blanks_around_a_model_are_not_said_to_be_defined(tmp_path: Path) -> None:
    found = audited(definition(tmp_path, "<model type=' virtio '/>"))
    assert [one["rule"] for one in found] == ["VNIC015"]
    assert "is defined but" not in found[0]["message"]
    assert found[0]["change"]["new"] == "virtio"


@pytest.mark.parametrize(
    "inside",
    [
        "<model type='e1000'/><driver name='foo' txmode='x'/>",  # libvirt does not read it
        f"{VIRTIO}<backend type='passt'/>",  # later versions do
        f"{VIRTIO}<driver name='DRIVERNAME'/>",
        f"{VIRTIO}<vlan><tag id='VLAN_ID'/></vlan><mtu size='MTU'/><link state='LINKSTATE'/>",
        f"{VIRTIO}<driver iommu='CHANGEME'/><boot order='XXX'/>",
        "<model type='VIRTIO'/><driver name='vhost'/>",
        "<model type='VirtIO-Transitional'/>",
    ],
)
def test_what_libvirt_takes_is_not_refused(tmp_path: Path, inside: str) -> None:
    found = audited(definition(tmp_path, inside))
    assert "VNIC015" not in {one["rule"] for one in found}


@pytest.mark.parametrize(
    "inside",
    [
        "<driver iommu='MAYBE'/>",
        "<link state='DISABLED'/>",
        "<port isolated='OWNPORT'/>",
        "<coalesce><rx><frames max='MANY'/></rx></coalesce>",
        "<vlan><tag id='TENANT'/></vlan>",
    ],
)
@pytest.mark.parametrize("evidence", ["<name>GUESTNAME", "<memory>MEMORY</memory><name>guest"])
def test_beside_other_placeholders_a_word_in_capitals_is_one(
    tmp_path: Path, evidence: str, inside: str
) -> None:
    file = definition(tmp_path, f"{VIRTIO}{inside}")
    file.write_text(file.read_text().replace("<name>guest", evidence))
    assert audited(file) == []


def test_beside_placeholders_a_wrong_value_is_still_one(tmp_path: Path) -> None:
    inside = f"{VIRTIO}<port isolated='OWNPORT'/><vlan trunk='maybe'><tag id='5'/></vlan>"
    file = definition(tmp_path, inside)
    file.write_text(file.read_text().replace("<name>guest", "<name>GUESTNAME"))
    (found,) = audited(file)
    assert found["message"] == (
        "libvirt refuses the definition: <vlan> trunk='maybe' is not yes or no"
    )


def test_what_is_not_read_on_e1000_is_not_made_virtio_s(tmp_path: Path) -> None:
    """As virtio libvirt would read it, and refuse the whole domain."""
    inside = "<model type='e1000'/><driver name='foo'/>"
    file = definition(tmp_path, inside)
    before = file.read_text()
    audited(file, more=("--fix", "--select", "VNIC002"), code=5)
    assert file.read_text() == before
