"""What is read of a document whose shape is known is what parsing it gives, whatever is in it."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lxml import etree

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.domain_xml.shapes import LARGEST, ROOM, Shapes
from vnicaudit.platforms.domain_xml.xml_element import XmlElement

SEEDS = sorted((Path(__file__).parents[2] / "fuzz/seeds/xml").iterdir())
DEFINITION = """<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>vm-1</name>
  <uuid>8d1b9dcd-5ea7-4a3c-9d4e-2f0a31a7a1b0</uuid>
  <metadata>
    <nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1"/>
    <s:suppress xmlns:s='https://vnicaudit.org/xmlns/1' rule='VNIC001' reason='known'/>
  </metadata>
  <vcpu placement='static' current='2'>4</vcpu>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>
  <cpu><numa><cell id='0' memAccess='shared'/></numa></cpu>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <disk type='file'><target dev='vda' bus='virtio'/></disk>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:01'/>
      <source bridge='br0'/>
      <model type='virtio'/>
      <driver name='vhost' queues='4'><host csum='off'/></driver>
      <address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>
    </interface>
    <hostdev type='pci'><source><address bus='0x05' slot='0x00' function='0x0'/></source></hostdev>
    <interface type='network'>
      <source network='default'/><vlan><tag id='4'/></vlan>
      <model type='e1000'/>
    </interface>
  </devices>
  <qemu:commandline><qemu:arg value='-set'/><qemu:arg value='device.net0.mq=on'/></qemu:commandline>
</domain>
"""
SINGLE = DEFINITION.replace('"', "'")
HEAD = """<!--
WARNING: THIS IS AN AUTO-GENERATED FILE. CHANGES TO IT ARE LIKELY TO BE
OVERWRITTEN AND LOST. Changes to this xml configuration should be made using:
  virsh edit vm-1
or other application using the libvirt API.
-->

"""
DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
HOSTILE = (
    "<", "&", "&amp;", "&#10;", "'", '"', ">", "]]>", "-->", "\n", "\t", "\r", "\r\n", "\0", "\x1b",
    "\x85", "\u00a0", "\u2028", "\ufffe", "\ufeff", "é", "仮想", "{{ x }}", "${x}", "@X@", "__X__",
    "%s", "((", "[[", "<!-- x -->", "<![CDATA[x]]>", "<?x y?>", "<!DOCTYPE domain>", "<a/>", "/>",
    "<!ENTITY x 'y'>", "#0;", "#1;", "''", '""', "x='y'", ' x="y"', " xml:id='a'", " xmlns='urn:x'",
    " xmlns:a='urn:a' a:b='c'", "</domain>", "<domain>", "NAME", "network", "vhostuser", "-1", "",
    " ", "AUTO-GENERATED FILE", "x" * 3000, "https://vnicaudit.org/xmlns/1",
)  # fmt: skip
"""What is put into documents."""
_VALUE = re.compile(r"(?<==)(['\"])([^'\"]*)\1|(?<=>)[^<>\s][^<>]*(?=<)")


def outcome(data: bytes, shapes: Shapes | None) -> list[Domain | tuple[str, int | None]]:
    """What is read: the domains, then the error."""
    found: list[Domain | tuple[str, int | None]] = []
    try:
        found.extend(read_bytes(data, target="t", file="/f.xml", shapes=shapes))
    except TargetError as error:
        found.append((error.message, error.line))
    return found


def learned(*texts: str) -> Shapes:
    """The shapes of these documents."""
    shapes = Shapes()
    for text in texts:
        for number in range(4):
            outcome(text.replace("vm-1", f"vm-{number}").encode(), shapes)
    return shapes


def with_other_values(text: str, dice: random.Random) -> str:
    """A document of the same shape, unless a value is hostile."""

    def other(match: re.Match[str]) -> str:
        if dice.random() < 0.9:
            return match[0]
        value = dice.choice(("virtio", "4", "", "x y", "0x1f", "br-ex", *HOSTILE))
        return f"{match[1]}{value}{match[1]}" if match[1] else value

    return _VALUE.sub(other, text)


def with_something(text: str, dice: random.Random) -> str:
    """A document with something put in anywhere, or taken out."""
    place = dice.randrange(len(text))
    if dice.random() < 0.3:
        return text[:place] + text[place + dice.randrange(20) :]
    return text[:place] + dice.choice(HOSTILE) + text[place:]


def documents(dice: random.Random) -> Iterator[str]:
    """Documents, of which some have one shape."""
    texts = [DEFINITION, SINGLE, HEAD + SINGLE, DECLARATION + DEFINITION.replace("'", '"')]
    texts += [path.read_bytes().decode("utf-8", "replace") for path in SEEDS]
    for text in (dice.choice(texts) for _ in range(60)):
        base = with_something(text, dice) if dice.random() < 0.4 else text
        for _ in range(5):
            yield base
        for _ in range(12):
            changed = with_other_values(base, dice)
            yield with_something(changed, dice) if dice.random() < 0.2 else changed


@pytest.mark.parametrize("_round", range(2))
def test_known_and_parsed_documents_are_read_alike(
    _round: int, record_property: Callable[[str, object], None]
) -> None:
    seed = random.randrange(2**32)
    record_property("seed", seed)
    shapes = Shapes()
    for text in documents(random.Random(seed)):
        data = text.encode("utf-8", "surrogatepass")
        assert outcome(data, shapes) == outcome(data, None), (seed, text)


@pytest.mark.parametrize("text", [SINGLE, HEAD + SINGLE, DECLARATION + SINGLE.replace("'", '"')])
def test_a_document_of_a_known_shape_is_not_parsed(text: str) -> None:
    shapes = learned(text)
    other = text.replace("vm-1", "other").replace("br0", "br7").replace("0x01", "0x02")
    document = other[other.index("<domain") :]
    root = shapes.root(document)
    assert root is not None
    assert_alike(root, etree.fromstring(document.encode()))
    assert outcome(other.encode(), shapes) == outcome(other.encode(), None)


def assert_alike(one: XmlElement, other: etree._Element) -> None:
    """All that readers ask of an element."""
    assert one.tag == other.tag
    assert (one.sourceline, one.text, one.items()) == (other.sourceline, other.text, other.items())
    assert len(one) == len(other)
    for name, value in other.items():
        assert one.get(str(name)) == value
    assert (one.get("none"), one.get("none", "x")) == (None, "x")
    tags = sorted({str(child.tag) for child in other} | {"none"})
    for tag in tags:
        wanted = [child.sourceline for child in other.iterfind(tag)]
        assert [child.sourceline for child in one.iterfind(tag)] == wanted
        assert [child.sourceline for child in one.iterchildren(tag)] == wanted
        assert (one.find(tag) is None) == (other.find(tag) is None)
    for several in (tags[:2], ["*"]):
        lines = [child.sourceline for child in other.iterchildren(*several)]
        assert [child.sourceline for child in one.iterchildren(*several)] == lines
    inside = [child.sourceline for child in other.iter("address")]
    assert [child.sourceline for child in one.iter("address")] == inside
    for mine, theirs in zip(one, other, strict=True):
        assert_alike(mine, theirs)


def test_a_path_of_names() -> None:
    root = learned(SINGLE).root(SINGLE)
    assert root is not None
    paths = ("devices/interface/mac", "devices/hostdev/source/address", "devices/none/mac")
    parsed = etree.fromstring(SINGLE.encode())
    for path in paths:
        wanted = [found.items() for found in parsed.iterfind(path)]
        assert [found.items() for found in root.iterfind(path)] == wanted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("nova/1.1", "nova/1.0"),  # another namespace
        ("br0", "br&amp;0"),
        ("br0", "{{ bridge }}"),
        ("br0", "br\t0"),
        ("vm-1", "vm&lt;1"),
        ("vm-1", "vm 1<!-- x -->"),
    ],
)
def test_a_value_that_may_be_more_is_parsed(old: str, new: str) -> None:
    assert learned(SINGLE).root(SINGLE.replace(old, new)) is None


@pytest.mark.parametrize(
    "more",
    [
        "<!DOCTYPE domain>", "<!-- 'x' -->", "<x>it's what's in it</x>", "<x xml:id='a'/>",
        "<x><![CDATA['x']]></x>", "<x>a<!-- -->b</x>",
    ],
)  # fmt: skip
def test_documents_of_other_shapes_are_parsed_each_time(more: str) -> None:
    text = SINGLE.replace("<os>", f"{more}<os>")
    assert learned(text).root(text) is None


def test_large_documents_are_parsed_each_time() -> None:
    text = SINGLE.replace("br0", "b" * LARGEST)
    shapes = learned(SINGLE)
    assert outcome(text.encode(), shapes) == outcome(text.encode(), None)


def test_what_shapes_take_is_bounded() -> None:
    shapes = Shapes()
    for number in range(3 * ROOM // LARGEST):
        text = f"<domain><a{number}/><!--{'x' * (LARGEST - 100)}--></domain>"
        for _ in range(4):
            shapes.root(text)
        assert shapes.size <= ROOM


MEASURE = """
import tracemalloc
from vnicaudit.platforms.domain_xml.read import read_bytes
tracemalloc.start()
for number in range(6):
    children = "<a/>" * 6000
    text = (
        f"<domain><n{number}/><devices><interface type='user'>{children}</interface></devices>"
        f"<b>{children}</b></domain>"
    )
    for _ in range(5):
        list(read_bytes(text.encode(), target="t", file="/f.xml"))
print(tracemalloc.get_traced_memory()[0])
"""


def test_what_was_read_keeps_no_shape_that_was_dropped() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, check=True)
    assert int(done.stdout) < ROOM


def test_nothing_is_cut_where_documents_have_nothing_in_common() -> None:
    shapes = Shapes()
    for number in range(600):
        shapes.root(f"<domain><a{number}/></domain>")
    for _ in range(5):
        assert shapes.root(SINGLE) is None
