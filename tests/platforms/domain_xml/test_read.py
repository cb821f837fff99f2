"""A ``<domain>`` as a whole: identity, owner, form, memory, suppressions."""

import json

import pytest

from tests.rows import rows
from vnicaudit.model.domain import Domain
from vnicaudit.platforms.domain_xml.read import read_bytes

NOVA = "<n:instance xmlns:n='http://openstack.org/xmlns/libvirt/nova/1.1'/>"
KUBEVIRT = "<kubevirt xmlns='http://kubevirt.io'/>"
SUPPRESS = "xmlns:v='https://vnicaudit.org/xmlns/1'"


def read(body: str, attributes: str = "type='kvm'") -> Domain:
    text = f"<domain {attributes}>{body}</domain>"
    (found,) = read_bytes(text.encode(), target="t", file="d.xml")
    return found


def test_identity() -> None:
    found = read("\n<name> web </name>\n<uuid>\n F00D6F00-0000-4000-8000-0000000000AB</uuid>")
    assert (found.name, found.uuid) == ("web", "f00d6f00-0000-4000-8000-0000000000ab")
    assert (found.location.target, found.location.file) == ("t", "d.xml")
    assert (found.location.line, found.location.xpath) == (1, "/domain")


def test_nothing_is_said() -> None:
    found = read("", attributes="")
    assert (found.name, found.uuid, found.nics) == ("(no name)", None, ())
    assert (found.declared.type, found.declared.arch, found.declared.machine) == (
        "qemu", None, None,
    )  # fmt: skip
    assert (found.declared.vcpus, found.declared.vcpus_max) == (1, 1)


def test_the_first_of_duplicates_wins() -> None:
    found = read(
        "<name>a</name><name>b</name><vcpu>2</vcpu><vcpu>8</vcpu>"
        "<os><type arch='x86_64' machine='q35'>hvm</type><type arch='s390x'>hvm</type></os>"
        "<os><type arch='aarch64' machine='virt'>hvm</type></os>"
        "<devices><interface type='user'/></devices><devices/>"
    )
    assert found.name == "a"
    assert (found.declared.vcpus, found.declared.arch, found.declared.machine) == (
        2, "x86_64", "q35",
    )  # fmt: skip
    assert len(found.nics) == 1


@rows
def test_vcpus(vcpu: str, now: int | None, most: int | None) -> None:
    found = read(vcpu).declared
    assert (found.vcpus, found.vcpus_max) == (now, most)


@rows
def test_owner_by_the_namespaces_of_the_metadata(metadata: str, owner: str) -> None:
    assert read(f"<metadata>{metadata}</metadata>").declared.owner == owner


@rows
def test_owner_by_the_smbios_product(product: str, owner: str) -> None:
    found = read(
        "<sysinfo type='smbios'><system><entry name='manufacturer'>OpenStack Nova</entry>"
        f"<entry name='product'>{product}</entry></system></sysinfo>"
        "<sysinfo type='fwcfg'><entry name='opt/a'>b</entry></sysinfo>"
    )
    assert found.declared.owner == owner


def test_owner_where_firmware_comes_before_smbios() -> None:
    found = read(
        "<sysinfo type='fwcfg'><entry name='opt/a'>b</entry></sysinfo><sysinfo type='smbios'>"
        "<system><entry name='product'>OpenStack Nova</entry></system></sysinfo>"
    )
    assert found.declared.owner == "nova"


def test_the_namespace_beats_the_product() -> None:
    found = read(
        f"<metadata>{KUBEVIRT}</metadata><sysinfo type='smbios'><system>"
        "<entry name='product'>OpenStack Nova</entry></system></sysinfo>"
    )
    assert found.declared.owner == "kubevirt"


def _form(data: str) -> tuple[str, str | None]:
    (found,) = read_bytes(data.encode(), target="t", file="d.xml")
    return found.declared.form, found.location.xpath


def test_forms() -> None:
    domain = "<domain type='kvm'><name>a</name></domain>"
    note = "<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE. CHANGES TO IT\n-->\n"
    assert _form(domain) == ("raw", "/domain")
    assert _form(note + domain) == ("dump", "/domain")
    assert _form(domain.replace("<domain", "<domain id='7'")) == ("live", "/domain")
    assert _form(f"<domstatus state='running'>{domain}</domstatus>") == (
        "live", "/domstatus/domain",
    )  # fmt: skip
    assert _form(f"<domainsnapshot><name>s</name>{domain}</domainsnapshot>") == (
        "dump", "/domainsnapshot/domain",
    )  # fmt: skip


def test_a_snapshot_has_no_other_domains_than_its_own() -> None:
    text = (
        "<domainsnapshot><inactiveDomain><name>later</name></inactiveDomain>"
        "<domain type='kvm'><name>now</name></domain></domainsnapshot>"
    )
    assert [domain.name for domain in read_bytes(text.encode(), target="t", file=None)] == ["now"]


@rows
def test_shared_memory(body: str, shared: bool | None) -> None:
    assert read(body).declared.shared_memory is shared


def test_suppressions_one_by_one_and_together() -> None:
    found = read(
        f"<metadata><v:suppress {SUPPRESS} rule='VNIC001' reason='a'/>"
        f"<v:suppressions {SUPPRESS}><v:suppress rule='VNIC002' mac='x'/><v:other rule='no'/>"
        "<suppress rule='no'/></v:suppressions></metadata>"
    )
    assert [json.loads(text) for text in found.suppressions] == [
        {"rule": "VNIC001", "reason": "a"},
        {"rule": "VNIC002", "mac": "x"},
    ]


def test_the_system_by_its_metadata() -> None:
    found = read(
        "<metadata><l:libosinfo xmlns:l='http://libosinfo.org/xmlns/libvirt/domain/1.0'>"
        "<l:os id='http://microsoft.com/win/2k19'/></l:libosinfo></metadata>"
    )
    assert (found.declared.os_id, found.declared.readiness) == (
        "http://microsoft.com/win/2k19", "needs-driver",
    )  # fmt: skip


@pytest.mark.parametrize(
    "body",
    ["<features><acpi/><hyperv mode='custom'/></features>", "<clock offset='localtime'/>"],
)
def test_signs_of_windows(body: str) -> None:
    disk = "<devices><disk><target dev='vda' bus='virtio'/></disk></devices>"
    assert read(disk).declared.readiness == "likely-ready"
    assert read(disk + body).declared.readiness == "needs-driver"
