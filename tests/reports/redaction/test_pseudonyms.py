import ipaddress
import uuid

import pytest

from tests.rows import rows
from vnicaudit.base.wording import MAC, UUID
from vnicaudit.reports.pseudonyms import Prefix, Pseudonyms

A, B = Pseudonyms(b"a" * 32), Pseudonyms(b"b" * 32)


def test_a_name_has_its_kind_and_says_nothing_else() -> None:
    assert A.name("vm", "mail-01") == "vm-1efbea084e"
    assert A.name("vm", "mail-02") != A.name("vm", "mail-01")
    assert A.name("vm", "") == ""


def test_standard_input_is_the_same_on_every_machine() -> None:
    assert A.path("standard input") == "standard input"


def test_one_name_is_recognised_in_all_its_places() -> None:
    digits = A.name("vm", "mail-01").removeprefix("vm-")
    assert A.path("/srv/acme/mail-01.xml").endswith(f"/file-{digits}.xml")
    assert A.target("qemu+ssh://mail-01/system") == f"qemu+ssh://host-{digits}/system"


@pytest.mark.parametrize("text", ["52:54:00:6b:3c:58", "FA-16-3E-10-20-30", "0:1:2:3:4:5"])
def test_a_mac_address_stays_one_and_becomes_locally_administered(text: str) -> None:
    made = A.mac(text)
    assert MAC.fullmatch(made.replace("-", ":"))
    assert int(made[:2], 16) & 0b11 == 0b10
    assert ("-" in made) == ("-" in text)
    assert made != B.mac(text)


def test_a_mac_address_is_one_however_it_is_spelled() -> None:
    assert A.mac("52:54:00:06:0a:58") == A.mac("52:54:0:6:A:58")
    assert A.mac("52-54-00-06-0A-58").replace("-", ":") == A.mac("52:54:00:06:0a:58")


def test_an_address_of_a_group_stays_one() -> None:
    assert int(A.mac("01:00:5e:00:00:01")[:2], 16) & 0b11 == 0b11


def test_a_uuid_stays_one_with_its_hyphens_or_without() -> None:
    text = "6F1F9A90-6f0c-4f2a-9bb4-2b4bd9b9c001"
    made = A.identity(text)
    assert UUID.fullmatch(made)
    assert uuid.UUID(made).version == 4
    assert A.identity(text.replace("-", "").lower()) == made.replace("-", "")
    assert A.identity("42").startswith("id-")
    assert A.identity("") == ""


@pytest.mark.parametrize("text", ["192.0.2.7", "10.1.2.3", "2001:db8::7", "fe80::5054:ff:fe12:1"])
def test_an_address_stays_one_that_nobody_has(text: str) -> None:
    made = ipaddress.ip_address(A.address(text) or "")
    assert made != ipaddress.ip_address(text)
    assert made.is_reserved or made in ipaddress.ip_network("2001:db8::/32")


@pytest.mark.parametrize("text", ["127.0.0.1", "::1", "0.0.0.0", "::"])
def test_an_address_of_every_machine_stays(text: str) -> None:
    assert A.address(text) == text


@rows
def test_a_target_that_every_machine_has_stays(text: str, shape: str) -> None:
    assert A.target(text) == shape


@rows
def test_no_part_of_a_target_is_left(text: str) -> None:
    made = A.target(text)
    for part in ("anna", "kvm7", "example", "192.0.2.7", "db8::7", "acme", "mail-01", "/run/x"):
        assert part not in made
    assert made.count("/") == text.split("?")[0].count("/")
    assert A.target(text) == made != B.target(text)


def test_a_place_in_a_document_keeps_its_form() -> None:
    public = frozenset({"domain", "devices", "interface", "spec"})
    assert A.pointer("/domain[2]/devices/interface[1]", public) == "/domain[2]/devices/interface[1]"
    made = A.pointer("[2]/spec/acme[x]/0/acme-net[3]", public)
    assert made.startswith("[2]/spec/name-")
    assert made.endswith("[3]")
    assert "acme" not in made
    name = A.name("name", "acme/web-01")
    assert A.pointer("[acme/web-01]/spec/devices", public) == f"[{name}]/spec/devices"


@pytest.mark.parametrize("key", [b"k" * 16, b"k" * 64, b"k" * 4096])
def test_a_key_of_any_length_counts_whole(key: bytes) -> None:
    prefix: Prefix = "host"
    assert Pseudonyms(key).name(prefix, "x") != Pseudonyms(key[:-1] + b"l").name(prefix, "x")


def test_of_100_000_names_no_two_have_one_pseudonym() -> None:
    assert len({A.name("vm", f"instance-{number:08x}") for number in range(100_000)}) == 100_000
