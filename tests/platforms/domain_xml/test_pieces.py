"""One ``<interface>`` taken out of a definition, put back, and made to stand alone."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tests.rows import rows
from vnicaudit.errors import RefusedError
from vnicaudit.platforms.domain_xml.source import (
    for_attach,
    interface_number,
    interface_of,
    with_interface,
)

_FIRST = "<interface type='bridge'>\n  <mac address='52:54:00:AA:00:01'/>\n</interface>"
_SECOND = (
    '<interface\ttype="user"><!-- </interface> --><mac address = "52:54:00:aa:00:02" /></interface>'
)
_THIRD = "<interface type='user'/>"
_HEAD = "<?xml version='1.0'?>\n<!-- <domain> -->\n<domain id='3'><name>\u00e9</name><devices>"
_TEXT = (
    f"{_HEAD}\n {_FIRST}\n <disk/>{_SECOND}{_THIRD}<console/></devices></domain>\n<!-- end -->\n"
)
_DATA = _TEXT.encode()


@pytest.mark.parametrize(("number", "text"), [(1, _FIRST), (2, _SECOND), (3, _THIRD)])
def test_the_text_of_a_nic(number: int, text: str) -> None:
    assert interface_of(_DATA, number) == text.encode()


@pytest.mark.parametrize(("number", "text"), [(1, _FIRST), (2, _SECOND), (3, _THIRD)])
def test_another_text_for_a_nic(number: int, text: str) -> None:
    new = "<interface type='network'>\u00fc</interface>"
    result = with_interface(_DATA, number, new.encode())
    assert result.decode() == _TEXT.replace(text, new)
    assert with_interface(result, number, text.encode()) == _DATA


@pytest.mark.parametrize("number", [-1, 0, 4])
def test_a_nic_that_is_not_there(number: int) -> None:
    calls: list[Callable[[], object]] = [
        lambda: interface_of(_DATA, number),
        lambda: with_interface(_DATA, number, b"<interface/>"),
        lambda: for_attach(_DATA, number),
    ]
    for call in calls:
        with pytest.raises(RefusedError, match=r"^the <interface> is no longer there$"):
            call()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is not a domain definition"),
        (b"just text", "it is not a domain definition"),
        (b"</x><domain/>", "it is not a domain definition"),
        (b"<domain><devices><interface/>", "it is not a domain definition"),
        (b"<network><devices><interface/></devices></network>", "it is not a domain definition"),
        (
            b"<domain xmlns='u'><devices><interface/></devices></domain>",
            "it is not a domain definition",
        ),
        (b"LibvirtQemudSave\2\0\0\0" + _DATA, "it is not a domain definition"),
        (_DATA + b"<domain/>", "it holds more than one definition"),
        (_DATA.replace(b"'1.0'", b"'1.0' encoding='UTF-7'"), "its encoding, UTF-7, cannot be"),
        (b"\xff\xfe<\0d\0o\0m\0a\0i\0n\0>", "its encoding, UTF-16 or UTF-32, cannot be written"),
    ],
)
def test_what_is_not_one_definition(data: bytes, reason: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: interface_of(data, 1),
        lambda: with_interface(data, 1, b"<interface/>"),
        lambda: interface_number(data, "52:54:00:aa:00:01"),
        lambda: for_attach(data, 1),
    ]
    for call in calls:
        with pytest.raises(RefusedError, match=f"^{reason}"):
            call()


@pytest.mark.parametrize(
    "element",
    [
        b"",
        b"text",
        b"<hostdev/>",
        b"<interface>",
        b" <interface/>",
        b"<interface/>\n",
        b"<interface/><interface/>",
        b"<interface xmlns='u'/>",
        b"<x:interface xmlns:x='u'/>",
    ],
)
def test_what_is_no_interface_is_not_put_in(element: bytes) -> None:
    with pytest.raises(RefusedError, match=r"^the replacement is not an <interface>$"):
        with_interface(_DATA, 1, element)


@rows
def test_the_number_of_a_mac(mac: str, number: int | None) -> None:
    assert interface_number(_DATA, mac) == number


def test_a_mac_that_several_have_is_nobodys() -> None:
    data = with_interface(_DATA, 2, _FIRST.lower().encode())
    assert interface_number(data, "52:54:00:aa:00:01") is None


@rows
def test_a_mac_written_as_nobody_does(mac: str) -> None:
    data = with_interface(_DATA, 3, f"<interface>{mac}</interface>".encode())
    assert interface_number(data, "52:54:00:aa:00:09") == 3
    assert interface_number(data, "52:54:00:aa:00:01") == 1


def test_a_nic_without_a_domains_devices() -> None:
    assert interface_number(b"<domain/>", "52:54:00:aa:00:01") is None


def test_a_definition_in_latin_1() -> None:
    text = _TEXT.replace("'1.0'", "'1.0' encoding='ISO-8859-1'").replace("<disk/>", "<d>\u00fc</d>")
    text = text.replace("</interface> -->", "\u00e4 -->")
    data = text.encode("latin-1")
    assert "\u00e4".encode("latin-1") in interface_of(data, 2)
    assert with_interface(data, 2, interface_of(data, 2)) == data


def test_a_definition_in_an_unknown_encoding() -> None:
    data = b"<?xml version='1.0' encoding='x-unknown'?><domain><devices><interface/>"
    with pytest.raises(RefusedError, match="its encoding, x-unknown"):
        for_attach(data + b"</devices></domain>", 1)


def _attached(domain: str, devices: str, interface: str) -> str:
    data = f"<domain{domain}><devices{devices}>{interface}</devices></domain>".encode()
    etree.fromstring(data)
    return for_attach(data, 1).decode()


@rows
def test_namespaces_go_with_a_nic(domain: str, devices: str, interface: str, result: str) -> None:
    assert _attached(domain, devices, interface) == result


_NAMES = st.sampled_from(["a", "b.c", "q", "qz", "\u00e9"])


@given(st.sets(_NAMES), st.sets(_NAMES), st.lists(_NAMES), st.sets(_NAMES, max_size=1))
def test_every_name_is_in_its_namespace(
    outer: set[str], inner: set[str], used: list[str], own: set[str]
) -> None:
    known = outer | inner | own
    body = "".join(f"<{name}:x {name}:y='z'/>" for name in used if name in known)
    domain, devices, interface = (
        "".join(f" xmlns:{name}='urn:{place}:{ord(name[-1])}'" for name in sorted(names))
        for place, names in enumerate((outer, inner, own))
    )
    text = f"<interface{interface}>{body}</interface>"
    whole = etree.fromstring(f"<domain{domain}><devices{devices}>{text}</devices></domain>")
    alone = etree.fromstring(_attached(domain, devices, text))
    names = [[child.tag, *child.keys()] for child in alone]
    assert names == [[child.tag, *child.keys()] for child in whole[0][0]]
