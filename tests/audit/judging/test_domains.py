"""What a finding is recognised by across audits, and what a domain that is not judged says."""

import pytest
from msgspec.structs import replace

from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Finding
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.domain_xml.read import read_bytes

UUID = "<uuid>6e1f1c2e-6a0f-4d53-a1f2-0d8f3f0a4a01</uuid>"
MAC = "<mac address='52:54:00:00:00:01'/>"
OTHER_MAC = "<mac address='52:54:00:00:00:02'/>"


def guest(*macs: str, uuid: str = UUID, before: str = "", model: str = "e1000") -> bytes:
    """A definition whose NICs have these ``<mac>``; ``before`` stands above the first."""
    nics = "\n".join(
        f"<interface type='bridge'><source bridge='br0'/>{mac}<model type='{model}'/></interface>"
        for mac in macs
    )
    return (
        f"<domain type='kvm'>{before}<name>guest</name>{uuid}<os><type arch='x86_64' machine='pc'>"
        f"hvm</type></os><devices>{before}\n{nics}</devices></domain>"
    ).encode()


def domain_of(data: bytes, file: str = "guest.xml") -> Domain:
    (domain,) = read_bytes(data, target="fleet", file=file)
    return domain


def findings(domain: Domain, rule: str = "VNIC002") -> tuple[Finding, ...]:
    """All this rule (by default: an emulated e1000) says of the domain."""
    return (
        DomainAuditor([rule], every_platform()).audit_domain(domain, HostConfig(), "fleet").findings
    )


def marks(data: bytes, file: str = "guest.xml") -> list[str]:
    return [finding.fingerprint for finding in findings(domain_of(data, file))]


class TestFingerprint:
    @pytest.mark.parametrize("uuid", [UUID, ""], ids=["by UUID", "by place"])
    def test_no_line_number_in_it(self, uuid: str) -> None:
        above, below = guest(MAC, uuid=uuid), guest(MAC, uuid=uuid, before="\n\n\n")
        (first,), (second,) = findings(domain_of(above)), findings(domain_of(below))
        assert (first.location.line, second.location.line) == (2, 8)
        assert first.fingerprint == second.fingerprint

    def test_the_file_does_not_matter_where_there_is_an_identity(self) -> None:
        assert marks(guest(MAC)) == marks(guest(MAC), file="copy.xml")

    def test_the_file_matters_where_there_is_none(self) -> None:
        nameless = guest(MAC, uuid="")
        assert marks(nameless) != marks(nameless, file="copy.xml")

    def test_another_order_is_the_same_nics(self) -> None:
        here, there = marks(guest(MAC, OTHER_MAC)), marks(guest(OTHER_MAC, MAC))
        assert here == there[::-1]
        assert len(set(here)) == 2

    def test_one_mac_twice_is_two_findings(self) -> None:
        first, second, third = marks(guest(MAC, MAC, OTHER_MAC))
        assert len({first, second, third}) == 3
        assert third == marks(guest(OTHER_MAC))[0], "no index where the MAC is the only one"

    def test_a_second_nic_does_not_change_the_first(self) -> None:
        assert marks(guest(MAC)) == marks(guest(MAC, OTHER_MAC))[:1]

    def test_nics_without_mac_are_apart(self) -> None:
        assert len(set(marks(guest("", "")))) == 2

    def test_rules_are_apart(self) -> None:
        both = DomainAuditor(["VNIC002", "VNIC009"], every_platform())
        mixed = guest(MAC).replace(
            b"</devices>",
            b"<interface type='bridge'><mac address='52:54:00:00:00:03'/>"
            b"<model type='virtio'/></interface></devices>",
        )
        found = both.audit_domain(domain_of(mixed), HostConfig(), "fleet").findings
        assert [finding.rule for finding in found] == ["VNIC002", "VNIC009"]
        assert found[0].fingerprint != found[1].fingerprint


class TestNotJudged:
    def test_another_hypervisors_domain_is_skipped_whole(self) -> None:
        domain = domain_of(guest(MAC).replace(b"type='kvm'", b"type='xen'"))
        audited = DomainAuditor(["VNIC002"], every_platform()).audit_domain(
            domain, HostConfig(), "fleet"
        )
        assert audited.findings == ()
        (skipped,) = audited.skipped
        assert (skipped.rule, skipped.about.name) == ("*", "guest")
        assert skipped.needs == "a QEMU or KVM domain (this one is type='xen')"

    def test_a_missing_fact_is_named(self) -> None:
        data = guest(MAC, model="virtio").replace(b"<model", b"<driver name='vhost'/><model")
        audited = DomainAuditor(["VNIC024"], every_platform()).audit_domain(
            domain_of(data), HostConfig(), "fleet"
        )
        assert audited.findings == ()
        (skipped,) = audited.skipped
        assert (skipped.rule, skipped.about.index) == ("VNIC024", 0)
        assert "vhost" in skipped.needs


def test_what_is_remembered_keeps_identities_apart() -> None:
    """The second guest's verdict comes from memory, its names do not."""
    auditor = DomainAuditor(["VNIC002"], every_platform())
    first = domain_of(guest(MAC))
    second = replace(domain_of(guest(OTHER_MAC)), name="other")
    one, two = (
        auditor.audit_domain(domain, HostConfig(), "fleet").findings for domain in (first, second)
    )
    assert one[0].message == two[0].message
    assert (one[0].about.name, one[0].about.mac) == ("guest", "52:54:00:00:00:01")
    assert (two[0].about.name, two[0].about.mac) == ("other", "52:54:00:00:00:02")
