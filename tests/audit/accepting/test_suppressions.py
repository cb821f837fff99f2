"""Suppressions: what they accept, when they stop, and that they never go stale in silence."""

import datetime

import msgspec

from vnicaudit.audit.accepting import settings_entries
from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.accepting.suppression import Suppression
from vnicaudit.audit.accepting.suppressions import MAX_PER_DOMAIN, Suppressor
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.finding import Location
from vnicaudit.model.host import HostConfig
from vnicaudit.model.report import Audited
from vnicaudit.platforms.domain_xml.read import read_bytes

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


def test_with_nothing_to_do_the_judgement_is_handed_back_itself() -> None:
    what = domain()
    audited = judged(what)
    assert suppressor().apply(audited, what) is audited


def test_unused_is_said_live_of_a_rule_that_needs_a_live_host() -> None:
    live = domain(models=("virtio",)).with_state(DomainState(active=True))
    made = suppressor(entry("VNIC020", domain="web-1"), rules=("VNIC020",))
    made.apply(judged(live, ()), live)
    assert [finding.rule for finding in made.settings.unused(made.settings.usage)] == ["SUPP002"]


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
