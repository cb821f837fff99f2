"""Changes of NICs written into domain XML: the bytes that differ, and no others."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.rows import rows
from vnicaudit.errors import OwnedElsewhereError, RefusedError
from vnicaudit.model.finding import Change, Location
from vnicaudit.model.nic import NicConfig
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.domain_xml.write import edits_for, text_of
from vnicaudit.text.edits import applied

_HEAD = "<domain type='kvm'><name>g</name><devices>"
_TAIL = "</devices></domain>"


def _change(field: str, new: str | None, old: str | None = None) -> Change:
    return Change(field, old, new, safe=True)


def _place(xpath: str = "/domain/devices/interface[1]") -> Location:
    return Location("x", "x.xml", 1, xpath)


def _edited(data: bytes, change: Change, xpath: str = "/domain/devices/interface[1]") -> bytes:
    return applied(data, edits_for(data, _place(xpath), change))


def _nic(data: bytes, number: int = 0) -> NicConfig:
    domain = next(read_bytes(data, target="x", file="x.xml"))
    return domain.nics[number].declared


@rows
def test_only_the_change_is_written(before: str, field: str, new: str | None, after: str) -> None:
    data = f"{_HEAD}{before}{_TAIL}".encode()
    assert _edited(data, _change(field, new)).decode() == f"{_HEAD}{after}{_TAIL}"


@rows
def test_a_change_that_cannot_be_written(
    inside: str, field: str, new: str | None, reason: str
) -> None:
    with pytest.raises(RefusedError, match=re.escape(reason)) as caught:
        _edited(f"{_HEAD}{inside}{_TAIL}".encode(), _change(field, new))
    assert not isinstance(caught.value, OwnedElsewhereError)


@pytest.mark.parametrize(
    ("data", "xpath", "reason"),
    [
        (
            b"<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE.\n-->\n<domain><devices><interface/>"
            b"</devices></domain>",
            "/domain/devices/interface[1]",
            "libvirt's own file, which it overwrites: change it with virsh edit",
        ),
        (
            b"<domain id='3'><devices><interface/></devices></domain>",
            "/domain/devices/interface[1]",
            "the dump of a running domain",
        ),
        (
            b"<domstatus><domain><devices><interface/></devices></domain></domstatus>",
            "/domstatus/domain/devices/interface[1]",
            "a <domstatus> describes a past state: change the domain's definition",
        ),
        (b"LibvirtQemudSave\x02", "/domain/devices/interface[1]", "a save image"),
    ],
)
def test_what_is_somebody_elses(data: bytes, xpath: str, reason: str) -> None:
    with pytest.raises(OwnedElsewhereError, match=reason):
        _edited(data, _change("model", "virtio"), xpath)


@pytest.mark.parametrize("number", [2, 9])
def test_a_domain_that_is_not_there_any_more(number: int) -> None:
    data = f"a log\n{_HEAD}<interface/>{_TAIL}\n<domain><name>cut".encode()
    with pytest.raises(RefusedError, match="the domain is no longer in the file"):
        _edited(data, _change("model", "virtio"), f"/domain[{number}]/devices/interface[1]")


def test_a_nic_in_qemu_arguments() -> None:
    place = "/domain/*[local-name()='commandline']/*[local-name()='arg'][2]"
    with pytest.raises(RefusedError, match="not an <interface>"):
        _edited(b"<domain/>", _change("model", "virtio"), place)


def test_one_of_several_documents_in_a_log() -> None:
    one = b"<domain><devices><interface><model type='e1000'/></interface></devices></domain>"
    data = b"2024-01-01 a < b\n" + one + b"\n\xff\n<?xml version='1.0'?>\n" + one + b"\ndone\n"
    last = data.rindex(b"e1000")
    result = _edited(data, _change("model", "virtio"), "/domain[2]/devices/interface[1]")
    assert result == data[:last] + b"virtio" + data[last + len("e1000") :]


@pytest.mark.parametrize("before", ["<6>Jan  1 ", "<!-- <domain><x> -->", "a <b> c "])
def test_what_stands_before_the_only_document(before: str) -> None:
    text = f"{before}\n{_HEAD}<interface><model type='e1000'/></interface>{_TAIL}\n"
    result = _edited(text.encode(), _change("model", "virtio"))
    assert result == text.replace("e1000", "virtio").encode()


_ENCODED = (
    "<?xml version='1.0' encoding='{}'?>\n<domain><title>\u00e9</title><devices><interface>"
    + ("<model type='e1000'/>\r\n</interface></devices></domain>")
)


@pytest.mark.parametrize(
    ("codec", "declared", "mark"),
    [
        ("utf-8", "UTF-8", b""),
        ("utf-8", "UTF-8", b"\xef\xbb\xbf"),
        ("latin-1", "ISO-8859-1", b""),
        ("gb18030", "GB18030", b""),
    ],
)
def test_encodings_stay(codec: str, declared: str, mark: bytes) -> None:
    text = _ENCODED.format(declared)
    data = mark + text.encode(codec)
    result = _edited(data, _change("model", "virtio"))
    assert result == mark + text.replace("e1000", "virtio").encode(codec)
    assert text_of(result) == text.replace("e1000", "virtio")
    assert _nic(result).model == "virtio"


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-32"])
def test_wide_characters_are_read_and_not_written(codec: str) -> None:
    data = f"{_HEAD}<interface/>{_TAIL}".encode(codec)
    with pytest.raises(RefusedError, match="UTF-16 or UTF-32, cannot be written"):
        _edited(data, _change("model", "virtio"))


@pytest.mark.parametrize("declared", ["ISO-2022-JP", "UTF-7", "x-unknown"])
def test_encodings_that_are_not_written(declared: str) -> None:
    data = f"<?xml version='1.0' encoding='{declared}'?>{_HEAD}<interface/>{_TAIL}".encode()
    with pytest.raises(RefusedError, match=f"its encoding, {declared}, cannot be written"):
        _edited(data, _change("model", "virtio"))


_BLANK = st.sampled_from([" ", "\n", "\r\n      ", "\t", "  "])
_GAP = st.sampled_from(
    ["", "\n  ", "\r\n    ", "<!-- <model type='no'/> -->", "\n\n\t", "<?pi x?>"]
)
_VALUES = {
    "queues": ("driver", "queues", ["1", "4"]),
    "rx_queue_size": ("driver", "rx_queue_size", ["256", "1024"]),
    "driver_name": ("driver", "name", ["vhost", "qemu"]),
    "packed": ("driver", "packed", ["on", "off"]),
    "model": ("model", "type", ["virtio", "e1000"]),
    "backend_vhost": ("backend", "vhost", ["/dev/vhost-net"]),
}


@st.composite
def _attributes(draw: st.DrawFn, given: dict[str, str]) -> str:
    parts = []
    for name in draw(st.permutations(sorted(given))):
        quote = draw(st.sampled_from("'\""))
        around = draw(st.sampled_from(["=", " = ", "\n="]))
        parts.append(f"{draw(_BLANK)}{name}{around}{quote}{given[name]}{quote}")
    return "".join(parts) + draw(st.sampled_from(["", " ", "\n"]))


@st.composite
def _documents(draw: st.DrawFn) -> str:
    """A domain with one to three interfaces, laid out as nobody would."""
    interfaces = []
    for _ in range(draw(st.integers(1, 3))):
        children: dict[str, dict[str, str]] = {"x": {"y": " model=b > "}}
        for tag, name, values in _VALUES.values():
            if draw(st.booleans()):
                children.setdefault(tag, {})[name] = draw(st.sampled_from(values))
        inside = ""
        for tag in draw(st.permutations(sorted(children))):
            text = draw(_attributes(children[tag]))
            close = "/>" if draw(st.booleans()) else f">{draw(_GAP)}</{tag}>"
            inside += f"{draw(_GAP)}<{tag}{text}{close}"
        interfaces.append(f"<interface type='bridge'>{inside}{draw(_GAP)}</interface>")
    gaps = [draw(_GAP) for _ in interfaces]
    body = "".join(gap + text for gap, text in zip(gaps, interfaces, strict=True))
    return f"<domain><name>\u00e9</name><devices>{body}{draw(_GAP)}</devices></domain>"


@given(_documents(), st.sampled_from(sorted(_VALUES)), st.booleans(), st.data())
def test_any_layout(text: str, field: str, remove: bool, draw: st.DataObject) -> None:
    """What libxml2 makes of the result is what it makes of the source, but for the one attribute;
    and outside of the edits every byte is the same."""
    data = text.encode()
    number = draw.draw(st.integers(1, text.count("<interface")))
    new = None if remove else draw.draw(st.sampled_from(_VALUES[field][2]))
    expected = _oracle(text, number, field, new)
    change, place = _change(field, new), f"/domain/devices/interface[{number}]"
    if expected is None:
        with pytest.raises(RefusedError):
            _edited(data, change, place)
    else:
        result = _edited(data, change, place).decode()
        assert _shape(etree.fromstring(result)) == expected


def _oracle(text: str, number: int, field: str, new: str | None) -> list[object] | None:
    """The same change, made by libxml2; None where it cannot be made."""
    tag, name, _values = _VALUES[field]
    root = etree.fromstring(text)
    interface = root.findall("devices/interface")[number - 1]
    child = interface.find(tag)
    if child is None:
        if new is None:
            return None
        child = etree.SubElement(interface, tag)
    if new is not None:
        child.set(name, new)
    elif child.get(name) is None:
        return None
    else:
        del child.attrib[name]
        if not child.attrib and not len(child):
            interface.remove(child)
    return _shape(root)


def _shape(root: etree._Element) -> list[object]:
    """Elements, attributes, comments and instructions of each interface, in no order; no blanks."""
    devices = root.find("devices")
    assert devices is not None
    return [
        (dict(node.items()), sorted(map(_parts, node))) if node.tag == "interface" else str(node)
        for node in devices
    ]


def _parts(node: etree._Element) -> str:
    return str((node.tag, sorted(node.items()), [str(inside) for inside in node]))
