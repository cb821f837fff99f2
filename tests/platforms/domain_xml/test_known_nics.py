"""NICs and facts of domains that are set like one before are what reading their elements gives."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from lxml import etree
from msgspec.structs import replace

from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic
from vnicaudit.platforms.domain_xml.facts import DomainFacts, gathered
from vnicaudit.platforms.domain_xml.known_facts import FactsMemory, read_facts
from vnicaudit.platforms.domain_xml.known_nics import NicMemory, read_interface
from vnicaudit.platforms.domain_xml.nics import interface_nic
from vnicaudit.platforms.domain_xml.reading_memory import ReadingMemory
from vnicaudit.platforms.domain_xml.shapes import Shapes
from vnicaudit.platforms.domain_xml.xml_element import XmlElement

KINDS = ("bridge", "network", "direct", "vdpa", "vhostuser", "hostdev", "ethernet", "udp", "mcast",
         "user")  # fmt: skip
NAMES = ("br0", "br1", "default", "/dev/vhost-vdpa-0", "/var/run/openvswitch/vhu1", "/tmp/s", "")
MACS = ("52:54:00:00:00:01", "52:54:00:00:00:02", "52:54:00:AA:00:03", "53:54:00:00:00:04", "x",
        " 52:54:00:00:00:05", "00:00:00:00:00:00", "")  # fmt: skip
WORDS = ("off", "on", "virtio", "e1000", "4", "-1", "0x01", "1500", "pci", "ccw", "none", "NAME")
CHILDREN: tuple[str, ...] = (
    "<mac address='{mac}'/>",
    "<mac address='{mac}' type='{word}' check='{word}'/>",
    "<source bridge='{name}'/>",
    "<source network='{name}' bridge='{name}' portgroup='{name}'/>",
    "<source dev='{name}' mode='{word}'/>",
    "<source><address type='{word}' bus='{word}' slot='0x01'/></source>",
    "<source type='unix' path='{name}' mode='{word}'><reconnect enabled='{word}'/></source>",
    "<source address='{name}' port='{word}'><local address='{name}' port='2'/></source>",
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
            value = values[0] if dice.random() < 0.85 else dice.choice(values)
            text = text.replace(f"{{{name}}}", value, 1)
    return text.replace("{kind}", kind if dice.random() < 0.8 else dice.choice(KINDS))


HEAD = """<domain type='kvm'>
<name>{name}</name><uuid>{name}</uuid><vcpu current='{word}'>{word}</vcpu>
<os><type arch='{word}' machine='{word}'>hvm</type><nvram>/{name}.fd</nvram></os>
<metadata>
<l:libosinfo xmlns:l='http://libosinfo.org/xmlns/libvirt/domain/1.0'><l:os id='{word}'/>
</l:libosinfo>
<n:instance xmlns:n='http://openstack.org/xmlns/libvirt/nova/1.1'><n:name>{name}</n:name>
</n:instance>
<s:suppress xmlns:s='https://vnicaudit.org/xmlns/1' rule='{word}' reason='{name}'/></metadata>
<sysinfo type='smbios'><system><entry name='{product}'>{word}</entry>
<entry name='manufacturer'>{word}</entry><entry name='serial'>{name}</entry></system></sysinfo>
<clock offset='{word}'/><memoryBacking><access mode='{word}'/></memoryBacking>
<cpu><numa><cell id='0' memAccess='{word}'/><cell id='1'/></numa></cpu>
<devices>
"""


def document(interfaces: str, dice: random.Random, kind: str) -> str:
    """A domain with these interfaces and a value for each placeholder."""
    text = f"{HEAD}{interfaces}</devices></domain>"
    product = dice.choice(("product", "family", "sku"))
    text = text.replace("{product}", "product" if dice.random() < 0.6 else product)
    for value in ("smbios", "localtime", "shared", "OpenStack Nova", "x86_64", "pc-q35-7.2"):
        if dice.random() < 0.5:
            text = text.replace("{word}", value, 1)
    return filled(text, dice, kind)


def interfaces_of(root: XmlElement) -> list[XmlElement]:
    """The NICs of a domain."""
    devices = root.find("devices")
    return [] if devices is None else list(devices.iterchildren("interface"))


def simple(facts: DomainFacts) -> DomainFacts:
    """The facts without elements, which differ by who parsed them."""
    return replace(facts, devices=None)


def test_what_is_remembered_is_what_reading_gives(
    record_property: Callable[[str, object], None],
) -> None:
    seed = random.randrange(2**32)
    record_property("seed", seed)
    dice = random.Random(seed)
    known_nics: NicMemory = ReadingMemory()
    known_facts: FactsMemory = ReadingMemory()
    for _shape in range(24):
        text, shapes = interface(dice) + interface(dice), Shapes()
        kind = dice.choice(KINDS)
        for _guest in range(20):
            data = document(text, dice, kind)
            root, parsed = shapes.root(data), etree.fromstring(data.encode())
            if root is None:
                continue
            facts = read_facts(root, known_facts)
            assert simple(facts) == simple(gathered(parsed)), (seed, data)
            assert facts.devices is not None
            pairs = zip(interfaces_of(root), interfaces_of(parsed), strict=True)
            for index, (one, other) in enumerate(pairs):
                base, path = 6 * dice.randrange(2), f"/domain[{dice.randrange(9)}]"
                place = Location("t", "/f.xml", dice.randrange(9), path)
                nic = read_interface(one, index, place, base, known_nics)
                assert nic == interface_nic(other, index, place, base), (seed, data)


def test_a_nic_set_like_one_before_shares_what_was_read() -> None:
    shapes, memory = Shapes(), NicMemory()
    nics = [
        read_interface(nic, 0, Location("t"), 0, memory)
        for root in map(shapes.root, alike(6))
        if root is not None
        for nic in interfaces_of(root)
    ]
    assert [nic.mac for nic in nics] == [f"52:54:00:00:00:0{number}" for number in range(3, 6)]
    read, first, second = nics
    assert read.lines == first.lines
    assert first.lines is second.lines
    assert first.declared is second.declared


def test_a_domain_set_like_one_before_shares_its_facts() -> None:
    shapes, memory = Shapes(), FactsMemory()
    roots = [root for root in map(shapes.root, alike(6)) if root is not None]
    read, first, second = [read_facts(root, memory) for root in roots]
    assert [facts.name for facts in (read, first, second)] == ["vm-3", "vm-4", "vm-5"]
    assert len(read.suppressions) == 1
    assert first.suppressions == read.suppressions
    assert first.suppressions is second.suppressions


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns within a look-up."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("eager_threads")
def test_threads_share_a_memory(record_property: Callable[[str, object], None]) -> None:
    seed = random.randrange(2**32)
    record_property("seed", seed)
    dice = random.Random(seed)
    shapes, nics, facts = Shapes(), NicMemory(), FactsMemory()
    texts = [interface(dice) for _ in range(6)]
    documents = [document(dice.choice(texts), dice, "bridge") for _ in range(400)]

    def read(text: str) -> tuple[DomainFacts, list[Nic]] | None:
        if (root := shapes.root(text)) is None:
            return None
        elements = interfaces_of(root)
        found = [read_interface(each, 0, Location("t"), 0, nics) for each in elements]
        return simple(read_facts(root, facts)), found

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(read, documents))
    assert sum(result is not None for result in results) > len(documents) / 2
    for text, result in zip(documents, results, strict=True):
        root = etree.fromstring(text.encode())
        elements = interfaces_of(root)
        wanted = [interface_nic(each, 0, Location("t"), 0) for each in elements]
        assert result is None or result == (simple(gathered(root)), wanted), (seed, text)


def alike(number: int) -> list[str]:
    """Domains that differ in name and MAC address alone. The shape is known from the fourth on."""
    text = (
        "<domain type='kvm'><name>vm-{0}</name><metadata>"
        "<s:suppress xmlns:s='https://vnicaudit.org/xmlns/1' rule='VNIC001' reason='known'/>"
        "</metadata><devices><interface type='bridge'><mac address='52:54:00:00:00:0{0}'/>"
        "<source bridge='br0'/><model type='virtio'/></interface></devices></domain>"
    )
    return [text.format(index) for index in range(number)]


def test_arguments_of_one_domain_are_not_those_of_another() -> None:
    text = (
        "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><name>a</name>"
        "<qemu:commandline><qemu:arg value='{}'/></qemu:commandline></domain>"
    )
    shapes, memory = Shapes(), FactsMemory()
    roots = [shapes.root(text.format(number)) for number in range(9)]
    facts = [read_facts(root, memory) for root in roots if root is not None]
    values = [next(iter(each.commandlines[0])).get("value") for each in facts]
    assert values == [str(number) for number in range(3, 9)]
