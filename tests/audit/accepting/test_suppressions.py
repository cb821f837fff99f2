"""Suppressions: what they accept, when they stop, and that they never go stale in silence."""

import datetime
from pathlib import Path

import msgspec
import pytest

from tests.rows import rows
from vnicaudit.audit.accepting import settings_entries
from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.accepting.suppression import IN_METADATA, Suppression
from vnicaudit.audit.accepting.suppressions import MAX_PER_DOMAIN, Suppressor
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.audit.settings.settings import load_settings
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.finding import Finding, Location
from vnicaudit.model.host import HostConfig
from vnicaudit.model.report import Audited
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.nova_conf.read import read_bytes as read_nova

TODAY = datetime.date(2026, 11, 21)
UUID = "6e1f1c2e-6a0f-4d53-a1f2-0d8f3f0a4a01"
RULES = ("VNIC001", "VNIC002")
NAMESPACE = "https://vnicaudit.org/xmlns/1"


def domain(*entries: str, models: tuple[str, ...] = ("rtl8139",), name: str = "web-1") -> Domain:
    """A domain with a NIC per model and the given attributes of suppressions in its metadata."""
    suppress = "".join(f"<v:suppress xmlns:v='{NAMESPACE}' {entry}/>" for entry in entries)
    nics = "".join(
        f"<interface type='bridge'><mac address='52:54:00:00:00:0{i}'/><source bridge='br0'/>"
        f"<target dev='vnet{i}'/><model type='{model}'/></interface>"
        for i, model in enumerate(models)
    )
    xml = (
        f"<domain type='kvm'><name>{name}</name><uuid>{UUID}</uuid>"
        f"<metadata><v:all xmlns:v='{NAMESPACE}'>{suppress}</v:all></metadata>"
        f"<os><type arch='x86_64' machine='q35'>hvm</type></os><devices>{nics}</devices></domain>"
    )
    (read,) = read_bytes(xml.encode(), target="lab", file=f"lab/{name}.xml")
    return read


def entry(rule: str = "VNIC001", line: int = 7, **fields: object) -> Suppression:
    """A suppression of the settings."""
    location = Location("etc/vnicaudit.toml", "etc/vnicaudit.toml", line)
    values = {"rule": rule, "reason": "agreed", "location": location} | fields
    return msgspec.convert(values, Suppression, from_attributes=True)


def suppressor(*entries: Suppression, rules: tuple[str, ...] = RULES) -> Suppressor:
    return Suppressor(entries, TODAY, rules)


def judged(what: Domain, rules: tuple[str, ...] = RULES) -> Audited:
    return DomainAuditor(rules, every_platform()).audit_domain(what, HostConfig(), "lab")


def said(findings: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    return [(finding.rule, finding.severity, finding.message) for finding in findings]


def test_with_nothing_to_do_the_judgement_is_handed_back_itself() -> None:
    what = domain()
    audited = judged(what)
    assert suppressor().apply(audited, what) is audited


def test_a_suppression_of_the_settings_moves_the_finding_and_names_its_place() -> None:
    what = domain(models=("rtl8139", "e1000"))
    before = judged(what)
    after = suppressor(entry("VNIC001")).apply(before, what)
    assert [finding.rule for finding in after.findings] == ["VNIC002"]
    (moved,) = after.suppressed
    assert moved.finding == before.findings[0]
    assert (moved.reason, moved.source) == ("agreed", "etc/vnicaudit.toml:7")


MATCHING = {
    "the rule": {},
    "the beginning of rules": {"rule": "VNIC00"},
    "the domain": {"domain": "web-1"},
    "a pattern of the domain": {"domain": "web-*"},
    "the uuid": {"uuid": UUID},
    "the MAC address": {"mac": "52:54:00:00:00:00"},
    "the last part of the file": {"file": "web-?.xml"},
    "a pattern of the file": {"file": "*/web-1.xml"},
    "its last day": {"until": TODAY},
    "all of it": {"domain": "web-1", "uuid": UUID, "mac": "52:54:00:00:00:00", "file": "lab/*"},
}

OTHER = {
    "another rule": {"rule": "VNIC002"},
    "another domain": {"domain": "db-*"},
    "another case": {"domain": "WEB-1"},
    "another uuid": {"uuid": UUID.replace("6", "7")},
    "another MAC address": {"mac": "52:54:00:00:00:01"},
    "another file": {"file": "lab/db.xml"},
    "a file pattern without its folder": {"file": "other/web-1.xml"},
    "one of two does not match": {"domain": "web-1", "mac": "52:54:00:00:00:01"},
}


@pytest.mark.parametrize("fields", MATCHING.values(), ids=MATCHING)
def test_matches(fields: dict[str, object]) -> None:
    what = domain()
    made = suppressor(msgspec.structs.replace(entry(), **fields))
    after = made.apply(judged(what), what)
    assert (after.findings, len(after.suppressed)) == ((), 1)
    assert made.settings.unused(made.settings.usage) == ()


@rows
def test_does_not_match(fields: dict[str, object]) -> None:
    what = domain()
    after = suppressor(msgspec.structs.replace(entry(), **fields)).apply(judged(what), what)
    assert [finding.rule for finding in after.findings] == ["VNIC001"]
    assert after.suppressed == ()


def test_a_finding_in_a_configuration_is_matched_by_file() -> None:
    text = b"[libvirt]\nuse_virtio_for_bridges = false\n"
    audited = DescriptionAuditor(["VNIC060"], every_platform().wordings).audit(
        read_nova(text, target="etc", file="etc/nova.conf"), "etc"
    )
    made = suppressor(entry("VNIC060", file="nova.conf"), rules=("VNIC060",))
    after = made.apply(audited, None)
    assert (after.findings, len(after.suppressed)) == ((), 1)
    other = suppressor(entry("VNIC060", domain="*"), rules=("VNIC060",))
    assert other.apply(audited, None).findings == audited.findings


def test_expired_in_the_settings_never_hides_and_is_reported_once() -> None:
    what = domain()
    made = suppressor(entry(until=datetime.date(2026, 11, 20), owner="ops", domain="web-1"))
    after = made.apply(judged(what), what)
    assert [finding.rule for finding in after.findings] == ["VNIC001"]
    closing = made.settings.closing(made.settings.usage)
    assert closing is not None
    (found,) = closing.findings
    assert said((found,)) == [
        (
            "SUPP001",
            "low",
            "the suppression of VNIC001 for domain web-1 expired on 2026-11-20 (reason: agreed, "
            "owner ops): what it accepted is reported again",
        )
    ]
    assert (str(found.location), found.owner) == ("etc/vnicaudit.toml:7", "vnicaudit")
    assert found.about.name == "web-1"
    assert (closing.scope, closing.subject) == ("config", "etc/vnicaudit.toml")


def test_unused_where_what_it_names_was_audited_is_low() -> None:
    what = domain(models=("virtio",))
    made = suppressor(entry(domain="web-1", line=12))
    made.apply(judged(what), what)
    (found,) = made.settings.unused(made.settings.usage)
    assert said((found,)) == [
        (
            "SUPP002",
            "low",
            "the suppression of VNIC001 for domain web-1 is not used: there is no such finding "
            "(any more) (reason: agreed)",
        )
    ]
    assert (str(found.location), found.fix) == ("etc/vnicaudit.toml:12", "Remove it.")


def test_unused_where_what_it_names_was_not_audited_is_no_more_than_info() -> None:
    what = domain(models=("virtio",))
    made = suppressor(entry(domain="db-1"), entry(mac="52:54:00:00:00:09"), entry(uuid="x"))
    made.apply(judged(what), what)
    assert [finding.severity for finding in made.settings.unused(made.settings.usage)] == [
        "info"
    ] * 3
    assert "nothing it is about was audited" in made.settings.unused(made.settings.usage)[0].message


@pytest.mark.parametrize("fields", [{}, {"domain": "web-*"}, {"file": "lab/*"}])
def test_unused_pattern_is_no_more_than_info(fields: dict[str, object]) -> None:
    what = domain(models=("virtio",))
    made = suppressor(msgspec.structs.replace(entry(), **fields))
    made.apply(judged(what), what)
    (found,) = made.settings.unused(made.settings.usage)
    assert found.severity == "info"
    assert "there is no such finding among what was audited" in found.message


def test_unused_is_not_said_of_a_rule_that_was_not_selected() -> None:
    what = domain()
    made = suppressor(entry("VNIC002", domain="web-1"), rules=("VNIC001",))
    made.apply(judged(what, ("VNIC001",)), what)
    assert made.settings.closing(made.settings.usage) is None


def test_unused_is_not_said_where_the_rule_was_skipped() -> None:
    nic = "<interface type='bridge'/>"
    text = f"<domain type='kvm'><name>web-1</name><devices>{nic}</devices></domain>"
    (what,) = read_bytes(text.encode(), target="lab", file="lab/web-1.xml")
    audited = judged(what, ("VNIC001",))
    assert [skipped.rule for skipped in audited.skipped] == ["VNIC001"]
    made = suppressor(entry(domain="web-1"), rules=("VNIC001",))
    made.apply(audited, what)
    assert made.settings.closing(made.settings.usage) is None


def test_unused_is_not_said_offline_of_a_rule_that_needs_a_live_host() -> None:
    what = domain(models=("virtio",))
    made = suppressor(entry("VNIC020", domain="web-1"), rules=("VNIC020",))
    made.apply(judged(what, ()), what)
    assert made.settings.closing(made.settings.usage) is None
    live = what.with_state(DomainState(active=True))
    made = suppressor(entry("VNIC020", domain="web-1"), rules=("VNIC020",))
    made.apply(judged(live, ()), live)
    assert [finding.rule for finding in made.settings.unused(made.settings.usage)] == ["SUPP002"]


def test_unused_is_not_said_of_a_domain_that_is_not_judged() -> None:
    nic = "<interface type='bridge'/>"
    text = f"<domain type='xen'><name>web-1</name><devices>{nic}</devices></domain>"
    (what,) = read_bytes(text.encode(), target="lab", file="lab/web-1.xml")
    made = suppressor(entry(domain="web-1"))
    made.apply(judged(what), what)
    assert made.settings.closing(made.settings.usage) is None


def test_usage_of_several_workers_is_merged_and_travels() -> None:
    first, second = domain(), domain(models=("virtio",), name="db-1")
    entries = (entry(domain="web-1"), entry(domain="db-1"), entry(domain="mail-1"))
    workers = [suppressor(*entries), suppressor(*entries)]
    workers[0].apply(judged(first), first)
    workers[1].apply(judged(second), second)
    encoded = [msgspec.msgpack.encode(worker.settings.usage) for worker in workers]
    usages = [msgspec.msgpack.decode(data, type=Usage) for data in encoded]
    merged = Usage() | usages[0] | usages[1]
    assert merged == Usage(used=frozenset({0}), judged_entries=frozenset({0, 1}))
    assert [(f.about.name, f.severity) for f in suppressor(*entries).settings.unused(merged)] == [
        ("db-1", "low"),
        ("mail-1", "info"),
    ]


def test_two_that_match_the_same_finding_are_both_used() -> None:
    what = domain()
    made = suppressor(entry(reason="first"), entry(reason="second", domain="web-1"))
    after = made.apply(judged(what), what)
    assert [moved.reason for moved in after.suppressed] == ["first"]
    assert made.settings.usage.used == {0, 1}


def test_from_file_to_finding(tmp_path: Path) -> None:
    path = tmp_path / "vnicaudit.toml"
    path.write_text('[[suppress]]\nrule = "vnic001"\nreason = "old"\nmac = "52-54-00-00-00-00"\n')
    what = domain()
    after = suppressor(*load_settings(str(path)).suppressions).apply(judged(what), what)
    places = [(moved.source, moved.in_source) for moved in after.suppressed]
    assert places == [(f"{path}:1", False)]


def test_metadata_suppresses_in_its_own_domain() -> None:
    what = domain("rule='vnic001' reason=' the appliance has no driver ' until='2026-11-21'")
    after = suppressor().apply(judged(what), what)
    assert after.findings == ()
    (moved,) = after.suppressed
    assert (moved.reason, moved.source) == ("the appliance has no driver", IN_METADATA)
    assert moved.in_source
    assert moved.finding.rule == "VNIC001"


def test_metadata_suppresses_one_nic_by_its_mac() -> None:
    what = domain(
        "rule='VNIC001' reason='r' mac='52:54:00:00:00:01'", models=("rtl8139", "ne2k_pci")
    )
    after = suppressor().apply(judged(what), what)
    assert [finding.about.index for finding in after.findings] == [0]
    assert [moved.finding.about.index for moved in after.suppressed] == [1]


def test_metadata_and_settings_work_side_by_side() -> None:
    what = domain("rule='VNIC001' reason='own'", models=("rtl8139", "e1000"))
    after = suppressor(entry("VNIC002")).apply(judged(what), what)
    assert after.findings == ()
    assert [(m.finding.rule, m.reason) for m in after.suppressed] == [
        ("VNIC001", "own"),
        ("VNIC002", "agreed"),
    ]


def test_expired_in_metadata_never_hides() -> None:
    what = domain("rule='VNIC001' reason='r' owner='ops' until='2026-11-20'")
    after = suppressor().apply(judged(what), what)
    assert after.suppressed == ()
    assert [finding.rule for finding in after.findings] == ["VNIC001", "SUPP001"]
    found = after.findings[1]
    assert said((found,)) == [
        (
            "SUPP001",
            "low",
            "the suppression of VNIC001 expired on 2026-11-20 (reason: r, owner ops): what it "
            "accepted is reported again",
        )
    ]
    assert (found.about.name, found.about.id, found.owner) == ("web-1", UUID, "vnicaudit")
    assert (str(found.location), found.location.xpath) == ("lab/web-1.xml:1", "/domain/metadata")


@rows
def test_invalid_in_metadata_suppresses_nothing_and_says_why(attributes: str, problem: str) -> None:
    what = domain(attributes)
    after = suppressor().apply(judged(what), what)
    assert [finding.rule for finding in after.findings] == ["VNIC001", "SUPP003"]
    assert said(after.findings[1:]) == [
        (
            "SUPP003",
            "medium",
            f"a suppression in the metadata is not valid, and suppresses nothing: {problem}",
        )
    ]
    assert after.suppressed == ()


def test_a_domain_cannot_bring_suppressions_without_end() -> None:
    what = domain(*["rule='VNIC001' reason='r'"] * (MAX_PER_DOMAIN + 1))
    after = suppressor().apply(judged(what), what)
    assert [finding.message.rpartition(": ")[2] for finding in after.findings] == [
        "more than 256 in one domain; the others are not read"
    ]


def test_fingerprints_do_not_hang_on_lines_or_on_where_the_settings_lie() -> None:
    def mark(found: Suppression) -> str:
        made = suppressor(found)
        return made.settings.unused(Usage())[0].fingerprint

    moved = Location("home/vnicaudit.toml", "home/vnicaudit.toml", 99)
    assert mark(entry(line=1)) == mark(entry(line=2))
    assert mark(entry()) == mark(msgspec.structs.replace(entry(), location=moved))
    assert mark(entry()) != mark(entry("VNIC002"))


def test_each_of_the_three_is_in_the_catalogue_with_a_manual() -> None:
    assert [(info.id, info.name, info.severity) for info in settings_entries.INFO] == [
        ("SUPP001", "expired-suppression", "low"),
        ("SUPP002", "unused-suppression", "low"),
        ("SUPP003", "invalid-suppression", "medium"),
    ]
    assert all(info.manual.startswith(f"{info.summary}.\n\n") for info in settings_entries.INFO)
