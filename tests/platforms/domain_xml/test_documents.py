"""Documents in bytes: several, with text around them, in other encodings, in save images."""

import struct

import pytest

from tests.rows import rows
from vnicaudit.errors import TargetError
from vnicaudit.platforms.domain_xml.documents import documents
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.domain_xml.recognise import looks_like_xml, root_name

A = "<domain type='kvm'>\n<name>a</name>\n</domain>\n"
B = A.replace(">a<", ">b<")
PROLOG = "<?xml version='1.0' encoding='UTF-8'?>\n"


def places(text: str) -> list[tuple[str, int | None, str | None]]:
    found = read_bytes(text.encode(), target="t", file="f")
    return [(domain.name, domain.location.line, domain.location.xpath) for domain in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (A, [("a", 1, "/domain")]),
        (PROLOG + A, [("a", 2, "/domain")]),
        ("\n\n" + A, [("a", 3, "/domain")]),
        (A + B, [("a", 1, "/domain[1]"), ("b", 4, "/domain[2]")]),
        (PROLOG + A + PROLOG + B, [("a", 2, "/domain[1]"), ("b", 6, "/domain[2]")]),
        ("# virsh dumpxml a\n" + A, [("a", 2, "/domain")]),
        (A + "-----\n" + B + "end\n", [("a", 1, "/domain[1]"), ("b", 5, "/domain[2]")]),
    ],
)
def test_where_domains_stand(text: str, expected: list[tuple[str, int | None, str | None]]) -> None:
    assert places(text) == expected


def test_elements_of_the_same_name_inside() -> None:
    inner = "<metadata><domain>x</domain><domain/></metadata>"
    text = f"<domain type='kvm'><name>a</name>{inner}</domain>\n{B}"
    assert [name for name, _line, _xpath in places(text)] == ["a", "b"]
    numa = "<cpu><domainx/></cpu><seclabel><domain name='x'/></seclabel>"
    assert [name for name, *_rest in places(f"log\n<domain><name>c</name>{numa}</domain>")] == ["c"]


@pytest.mark.parametrize(
    "codec", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-8-sig"]
)
def test_wide_encodings(codec: str) -> None:
    text = "<domain type='kvm'><name>größe-仮想</name></domain>"
    data = text.encode(codec)
    assert looks_like_xml(data)
    assert [domain.name for domain in read_bytes(data, target="t", file="f")] == ["größe-仮想"]


def test_a_declared_encoding() -> None:
    data = "<?xml version='1.0' encoding='ISO-8859-1'?><domain><name>größe</name></domain>"
    found = read_bytes(data.encode("latin-1"), target="t", file="f")
    assert [domain.name for domain in found] == ["größe"]


def save_image(xml: bytes, order: str = "<", magic: bytes = b"LibvirtQemudSave") -> bytes:
    """struct _virQEMUSaveHeader of libvirt 11.3, the XML with its NUL, then QEMU's state."""
    data = xml + b"\0" * 100
    return magic + struct.pack(f"{order}5I", 2, len(data), 1, 0, 0) + b"\0" * 56 + data + b"QEVM"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("magic", [b"LibvirtQemudSave", b"LibvirtQemudPart"])
def test_a_save_image(order: str, magic: bytes) -> None:
    data = save_image(A.encode(), order, magic)
    assert looks_like_xml(data)
    assert [domain.name for domain in read_bytes(data, target="t", file="f")] == ["a"]


@pytest.mark.parametrize(
    "data",
    [save_image(A.encode())[:100], b"LibvirtQemudSave", b"LibvirtQemudSave" + b"\xff" * 200],
)
def test_a_damaged_save_image(data: bytes) -> None:
    with pytest.raises(TargetError, match="truncated or of an unknown version") as caught:
        list(documents(data, "f"))
    assert caught.value.file == "f"


@rows
def test_what_is_not_read(text: str, message: str, line: int) -> None:
    with pytest.raises(TargetError, match=message) as caught:
        list(documents(text.encode(), "f"))
    assert (caught.value.file, caught.value.line) == ("f", line)


def test_a_broken_document_costs_itself() -> None:
    found = read_bytes((A + "<domain>\n<oops></domain>\n" + B).encode(), target="t", file="f")
    assert [next(found).name, next(found).name] == ["a", "b"]
    with pytest.raises(TargetError, match="not well-formed XML"):
        next(found)


def test_the_root_of_other_files() -> None:
    assert root_name(b"<?xml version='1.0'?>\n<!-- c --><network connections='1'>") == "network"
    assert root_name("<pool type='dir'>".encode("utf-16")) == "pool"
    assert root_name(b"no markup") is None
    assert not looks_like_xml(b"<domainCapabilities>")
