"""Judge a case of a rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue, RuleOptions, shipped_catalogue
from vnicaudit.audit.judging.descriptions import DescriptionAuditor
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.audit.judging.macs import MacAuditor, MacTable, encoded, nics_seen
from vnicaudit.audit.judging.site import SiteAuditor, differing_nodes
from vnicaudit.audit.judging.site_node import node_of
from vnicaudit.audit.reading.platform import Platforms
from vnicaudit.audit.work import Assumptions
from vnicaudit.knowledge.nova_conf.options import release_of
from vnicaudit.knowledge.nova_conf.resolve import as_of
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Finding
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.nova_options import Release
from vnicaudit.model.owner import owner_named
from vnicaudit.model.report import Audited, AuditedScope
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.kubevirt.read import read_bytes as read_manifests
from vnicaudit.platforms.nova_conf.read import read_bytes as read_nova
from vnicaudit.platforms.qemu.domain import domain_of
from vnicaudit.platforms.qemu.read import read_text
from vnicaudit.rule_cases.cases import Case
from vnicaudit.rule_cases.definitions import document, record_of, with_facts
from vnicaudit.rule_cases.images import OPENSTACK_FILE, flavor_of, image_of
from vnicaudit.rule_cases.servers import CLOUD, server_of

FILE = "case.xml"
NOVA_FILE = "nova.conf"
MANIFEST_FILE = "vm.yaml"


class OneRule(NamedTuple):
    """A single rule, with the settings of a case."""

    id: str
    catalogue: Catalogue
    platforms: Platforms

    def auditor(self) -> DomainAuditor:
        """Judges NICs, domains and hosts."""
        return DomainAuditor([self.id], self.platforms, self.catalogue)

    def descriptions(self) -> DescriptionAuditor:
        """Judges configurations, images, flavors and preferences."""
        return DescriptionAuditor([self.id], self.platforms.wordings, self.catalogue)


def judge(
    rule_id: str,
    case: Case,
    platforms: Platforms,
    owner: str | None = None,
    catalogue: Catalogue | None = None,
) -> Audited:
    """The judgement of a rule of a ``catalogue`` on the case. Line numbers count from the first
    line of ``case.xml``, ``case.command`` or ``case.nova_conf``. ``owner`` replaces the owner that
    was read. Raises ValueError (msgspec.ValidationError is one) for an invalid case."""
    rules = catalogue or shipped_catalogue()
    if case.settings:
        rules = rules.adjusted({rule_id: RuleOptions(table=case.settings)})
    rule = OneRule(rule_id, rules, platforms)
    if (described := _judge_description(rule, case)) is not None:
        return described
    host = record_of(HostConfig, case.host)
    if case.server is not None and case.xml is None:
        return rule.auditor().audit_domain(server_of(case.server), host, CLOUD)
    if case.xml is None and case.command is None:
        return rule.auditor().audit_host(Host("host", host), frozenset(case.uses), "host")
    if "mac" in rules.listed(rule_id).scopes:
        return _judge_macs(rule, case, owner)
    text, before = document(case)
    domain = _owned(with_facts(_domain(text, case), case), owner)
    audited = rule.auditor().audit_domain(domain, host, FILE)
    return msgspec.structs.replace(audited, findings=_moved_up(audited.findings, before))


def _judge_description(rule: OneRule, case: Case) -> Audited | None:
    """Findings on a configuration, a manifest, an image or a flavor; None for another case."""
    if case.nova_conf is not None or case.nova_confs or case.nova_nodes:
        return _judge_nova(rule, case)
    if case.manifest is not None:
        return _judge_manifest(rule, case)
    if case.image is not None:
        image = Assumptions(nova=_release(case)).interpreted(image_of(case.image, case.definition))
        return rule.descriptions().audit(image, OPENSTACK_FILE)
    if case.flavor is not None:
        flavor = flavor_of(case.flavor, case.definition, case.booted)
        return rule.descriptions().audit(flavor, OPENSTACK_FILE)
    return None


def _owned(domain: Domain, owner: str | None) -> Domain:
    """The domain with another owner, where one is named."""
    if owner is None:
        return domain
    declared = msgspec.structs.replace(domain.declared, owner=owner_named(owner))
    return msgspec.structs.replace(domain, declared=declared)


def _moved_up(findings: Iterable[Finding], lines: int) -> tuple[Finding, ...]:
    """The findings, each so many lines further up."""
    replace = msgspec.structs.replace
    return tuple(
        replace(one, location=replace(one.location, line=(one.location.line or 0) - lines))
        for one in findings
    )


def _judge_nova(rule: OneRule, case: Case) -> Audited:
    """Findings on all files of a case: on each file alone, or on the nodes compared with each
    other."""
    if case.nova_nodes:
        nodes = [node_of(config) for config in _configs(case)]
        known = [node for node in nodes if node is not None]
        auditor = SiteAuditor([rule.id], rule.platforms.wordings, rule.catalogue)
        audited = [auditor.audit(node, found) for node, found in differing_nodes(known)]
    else:
        audited = [rule.descriptions().audit(config, NOVA_FILE) for config in _configs(case)]
    return _put_together(audited, NOVA_FILE, "config")


def _configs(case: Case) -> list[NovaConfig]:
    """The configuration files of a case: one, several that Nova reads together, or one per node."""
    release = _release(case)
    texts = case.nova_nodes or case.nova_confs or {NOVA_FILE: case.nova_conf or ""}
    configs = [read_nova(t.encode(), target=NOVA_FILE, file=file) for file, t in texts.items()]
    if case.nova_confs:
        options = tuple(option for config in configs for option in config.options)
        together = {"options": options, "files": tuple(texts)}
        configs = [msgspec.structs.replace(config, **together) for config in configs]
    return [as_of(config, release) for config in configs]


def _release(case: Case) -> Release | None:
    return None if case.nova_release is None else release_of(case.nova_release)


def _judge_manifest(rule: OneRule, case: Case) -> Audited:
    """Findings on everything in a file of manifests."""
    audited = []
    for found in read_manifests(
        (case.manifest or "").encode(), target=MANIFEST_FILE, file=MANIFEST_FILE
    ):
        if isinstance(found, Domain):
            audited.append(rule.auditor().audit_domain(found, HostConfig(), MANIFEST_FILE))
        elif isinstance(found, Preference):
            audited.append(rule.descriptions().audit(found, MANIFEST_FILE))
        else:
            raise ValueError(f"{found.file}:{found.line}: {found.message}")
    return _put_together(audited, MANIFEST_FILE, "domain")


def _put_together(audited: list[Audited], file: str, scope: AuditedScope) -> Audited:
    """The judgements on everything in a file, combined into one."""
    return Audited(
        file,
        file,
        scope=scope,
        findings=tuple(finding for one in audited for finding in one.findings),
        skipped=tuple(skipped for one in audited for skipped in one.skipped),
        crashed=tuple(crashed for one in audited for crashed in one.crashed),
    )


def _judge_macs(rule: OneRule, case: Case, owner: str | None) -> Audited:
    """Findings on all NICs of the case that share a MAC address."""
    text, before = document(case)
    table = MacTable()
    for domain in read_bytes(text.encode(), target=FILE, file=FILE):
        table.take(encoded(nics_seen(_owned(with_facts(domain, case), owner), FILE)))
    auditor = MacAuditor([rule.id], rule.platforms.wordings, rule.catalogue)
    found = (one for subject in table.subjects() for one in auditor.audit(subject).findings)
    return Audited(FILE, FILE, findings=_moved_up(found, before))


def _domain(text: str, case: Case) -> Domain:
    if case.command is None:
        (domain,) = read_bytes(text.encode(), target=FILE, file=FILE)
        return domain
    (qemu,) = read_text(text.encode(), target=FILE, file=FILE)
    return domain_of(qemu, FILE)
