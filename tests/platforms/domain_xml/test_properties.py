"""Any bytes and any shape of XML: domains or a TargetError, nothing else."""

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.domain_xml.recognise import looks_like_xml

NAMES = st.sampled_from(
    ["domain", "domstatus", "name", "uuid", "devices", "interface", "hostdev", "model", "driver",
     "source", "mac", "target", "address", "vcpu", "os", "type", "metadata", "cpu", "numa", "cell",
     "features", "hyperv", "clock", "memoryBacking", "access", "sysinfo", "system", "entry",
     "host", "guest", "mtu", "teaming", "disk", "controller", "link", "reconnect",
     "{http://libvirt.org/schemas/domain/qemu/1.0}commandline",
     "{http://libvirt.org/schemas/domain/qemu/1.0}arg",
     *(f"{{http://libvirt.org/schemas/domain/qemu/1.0}}{tag}"
       for tag in ("override", "device", "frontend", "property")),
     "{https://vnicaudit.org/xmlns/1}suppress"]
)  # fmt: skip
KEYS = st.sampled_from(
    ["type", "arch", "machine", "queues", "rx_queue_size", "tx_queue_size", "name", "value",
     "address", "dev", "path", "mode", "bus", "slot", "function", "current", "size", "index",
     "model", "tso4", "id", "rule", "alias"]
)  # fmt: skip
XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=12
)
VALUES = st.sampled_from(
    ["virtio", "network", "bridge", "hostdev", "pci", "user", "vhostuser", "vdpa", "4", "-1",
     "99999999999999999999", "0x", "", "off", "-netdev", "-device", "e1000,netdev=x",
     '{"driver":"e1000"', "٣"]
) | XML_TEXT  # fmt: skip


def _element(
    tag: str, attributes: dict[str, str], text: str, children: list[etree._Element]
) -> etree._Element:
    element = etree.Element(tag, attributes)
    element.text = text
    element.extend(children)
    return element


ELEMENTS: st.SearchStrategy[etree._Element] = st.recursive(
    st.builds(_element, NAMES, st.dictionaries(KEYS, VALUES, max_size=4), XML_TEXT, st.just([])),
    lambda inner: st.builds(
        _element,
        NAMES,
        st.dictionaries(KEYS, VALUES, max_size=4),
        XML_TEXT,
        st.lists(inner, max_size=4),
    ),
    max_leaves=20,
)


def _documents(elements: list[etree._Element]) -> bytes:
    domain = etree.Element("domain")
    domain.extend(elements)
    return etree.tostring(domain)


def _read(data: bytes) -> list[Domain]:
    looks_like_xml(data)
    return list(read_bytes(data, target="t", file="f"))


@given(st.lists(ELEMENTS, max_size=6).map(_documents))
def test_any_domain(data: bytes) -> None:
    for domain in _read(data):
        assert domain.name
        assert [nic.index for nic in domain.nics] == list(range(len(domain.nics)))
        assert len(domain.nics) <= data.count(b"<")
        for nic in domain.nics:
            assert nic.location.line is not None
            for number in (nic.declared.queues, nic.declared.rx_queue_size):
                assert number is None or 0 <= number < 10**10


def _refusal(data: bytes) -> TargetError | None:
    try:
        _read(data)
    except TargetError as error:
        return error
    return None


@given(st.lists(ELEMENTS, max_size=3).map(_documents), st.integers(0, 2000), st.binary(max_size=3))
def test_a_damaged_domain(data: bytes, place: int, damage: bytes) -> None:
    place = min(place, len(data))
    error = _refusal(data[:place] + damage + data[place + 1 :])
    assert error is None or (error.file == "f" and error.message)


@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    error = _refusal(data)
    assert error is None or error.file == "f"


@given(st.binary(max_size=100), st.sampled_from([b"LibvirtQemudSave", b"LibvirtQemudPart"]))
def test_any_save_image(data: bytes, magic: bytes) -> None:
    error = _refusal(magic + data)
    assert error is None or "save image" in error.message or "not well-formed" in error.message
