"""A NIC that is set like one before is what reading its element gives, whoever it is."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from vnicaudit.model.domain import Domain
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml import known_nics
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.domain_xml.shapes import Shapes

KINDS = ("bridge", "network", "direct", "vdpa", "vhostuser", "hostdev", "ethernet", "udp", "user")
NAMES = ("br0", "br1", "default", "/dev/vhost-vdpa-0", "/var/run/openvswitch/vhu1", "/tmp/s", "")
MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:AA:00:03", "53:54:00:00:00:04", "x",
        " 52:54:00:00:00:05", "00:00:00:00:00:00", "")  # fmt: skip
WORDS = ("on", "off", "virtio", "e1000", "4", "-1", "0x01", "1500", "pci", "ccw", "none", "NAME")
CHILDREN: tuple[str, ...] = (
    "<mac address='{mac}'/>",
    "<mac address='{mac}' type='{word}' check='{word}'/>",
    "<source bridge='{name}'/>",
    "<source network='{name}' bridge='{name}' portgroup='{name}'/>",
    "<source dev='{name}' mode='{word}'/>",
    "<source type='unix' path='{name}' mode='{word}'><reconnect enabled='{word}'/></source>",
    "<source address='{name}' port='1'><local address='{name}' port='2'/></source>",
    "<actual type='{word}'><source bridge='{name}'/></actual>",
    "<target dev='{name}' managed='{word}'/>",
    "<target dev='{name}'/>",
    "<model type='{word}'/>",
    "<driver name='{word}' queues='{word}'/>",
    "<driver queues='{word}'><host csum='{word}' gso='{word}'/><guest csum='{word}'/></driver>",
    "<backend type='{word}' vhost='{name}'/>",
    "<alias name='{name}'/>",
    "<address type='{word}' domain='0x0000' bus='{word}' slot='0x01' function='0x0'/>",
    "<address type='{word}' cssid='0xfe' ssid='0x0' devno='{word}'/>",
    "<vlan trunk='{word}'><tag id='{word}'/><tag id='2'/></vlan>",
    "<bandwidth><inbound average='{word}'/></bandwidth>",
    "<virtualport type='{word}'><parameters interfaceid='{name}'/></virtualport>",
    "<filterref filter='{name}'><parameter name='IP' value='{name}'/></filterref>",
    "<port isolated='{word}'/>", "<mtu size='{word}'/>", "<link state='{word}'/>",
    "<rom bar='{word}' file='{name}'/>", "<boot order='{word}'/>", "<teaming type='{word}'/>",
    "<coalesce><rx><frames max='{word}'/></rx></coalesce>", "<ip address='{name}'/>",
)  # fmt: skip


def interface(dice: random.Random) -> str:
    """An interface with placeholders for its values."""
    children = dice.sample(CHILDREN, dice.randrange(1, 9))
    trusted = " trustGuestRxFilters='{word}'" if dice.random() < 0.1 else ""
    kind = "" if dice.random() < 0.05 else " type='{kind}'"
    return f"<interface{kind}{trusted}>\n" + "\n".join(children) + "</interface>"


def filled(text: str, dice: random.Random, kind: str) -> str:
    """The text with a value for each placeholder; mostly the first one that there is."""
    for name, values in (("mac", MACS), ("name", NAMES), ("word", WORDS)):
        while f"{{{name}}}" in text:
            value = values[0] if dice.random() < 0.6 else dice.choice(values)
            text = text.replace(f"{{{name}}}", value, 1)
    return text.replace("{kind}", kind if dice.random() < 0.8 else dice.choice(KINDS))


def document(interfaces: str) -> bytes:
    """A domain with these interfaces."""
    head = "<domain type='kvm'><name>vm</name><devices>\n"
    return f"{head}{interfaces}</devices></domain>".encode()


def domains(data: bytes, shapes: Shapes | None) -> list[Domain]:
    """The domains that are read."""
    return list(read_bytes(data, target="t", file="/f.xml", shapes=shapes))


def test_nics_are_read_alike_whether_one_like_them_is_known(
    record_property: Callable[[str, object], None],
) -> None:
    seed = random.randrange(2**32)
    record_property("seed", seed)
    dice = random.Random(seed)
    for _shape in range(80):
        text = interface(dice) + interface(dice)
        shapes, kind = Shapes(), dice.choice(KINDS)
        for _guest in range(25):
            data = document(filled(text, dice, kind))
            if dice.random() < 0.2:
                data = b"\n" + data if dice.random() < 0.5 else b"<!-- x -->\n\n" + data
            assert domains(data, shapes) == domains(data, None), (seed, data)


def nic_of(shapes: Shapes, text: str) -> Nic:
    """The first NIC of a document of a shape that is known."""
    for _time in range(4):
        domains(document(text), shapes)
    return domains(document(text), shapes)[0].nics[0]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("00:01", "00:02", "mac"), ("br0", "br1", "source"), ("vnet0", "vnet1", "target_dev"),
        ("net0", "net1", "alias"),
    ],
)  # fmt: skip
def test_only_who_it_is_is_read_of_a_nic_like_one_before(old: str, new: str, field: str) -> None:
    text = (
        "<interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/>"
        "<target dev='vnet0'/><model type='virtio'/><alias name='net0'/></interface>"
    )
    shapes = Shapes()
    first, second = nic_of(shapes, text), nic_of(shapes, text.replace(old, new))
    assert second.lines is first.lines, "it was read anew"
    assert getattr(second, field) == getattr(first, field).replace(old, new)


def test_the_nics_that_are_remembered_are_bounded() -> None:
    shapes = Shapes()
    for number in range(known_nics.MOST // 16 + 8):
        nics = (
            f"<interface><mtu size='{number * 16 + place}'/></interface>" for place in range(16)
        )
        domains(document("".join(nics)), shapes)
        assert len(known_nics._known) <= known_nics.MOST
