"""Judge a case of a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import TypeVar
from xml.sax.saxutils import quoteattr

import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue, RuleOptions, shipped_catalogue
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.audit.judging.hosts import HostAuditor
from vnicaudit.audit.judging.judgement import DescriptionAuditor
from vnicaudit.audit.judging.macs import EncodedNic, MacAuditor, MacTable, encoded, nics_seen
from vnicaudit.audit.judging.site import SiteAuditor, differing_nodes, node_of
from vnicaudit.audit.reading.targets import Platforms
from vnicaudit.audit.work import Assumptions
from vnicaudit.knowledge.nova_conf.options import release_of
from vnicaudit.knowledge.nova_conf.resolve import as_of
from vnicaudit.model.decoding import converted
from vnicaudit.model.domain import (
    ClusterDomain,
    Domain,
    DomainState,
    LiveFacts,
    PendingChanges,
    StagedNic,
)
from vnicaudit.model.finding import AuditedScope, Description, Finding, owner_named
from vnicaudit.model.host import HostConfig, Version
from vnicaudit.model.host_facts import HostFacts, HostGuest
from vnicaudit.model.nic import Nic, NicConfig, PathMtu, RunningNic
from vnicaudit.model.nova import NovaConfig, Release
from vnicaudit.model.report import Audited
from vnicaudit.model.rule import HostSubject, VisitedHost
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.kubevirt.read import read_bytes as read_manifests
from vnicaudit.platforms.nova_conf.read import read_bytes as read_nova
from vnicaudit.platforms.qemu.proc import domain_of
from vnicaudit.platforms.qemu.read import read_text
from vnicaudit.rule_cases.cases import (
    CLOUD,
    OPENSTACK_FILE,
    Case,
    Facts,
    flavor_of,
    image_of,
    kept_of,
    server_of,
)

# The definition of a case, and the facts that the case sets on the domain read from it.


Record = TypeVar("Record", bound=msgspec.Struct)

_OWNERS = {
    "nova": "<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'/>",
    "kubevirt": "<kubevirt xmlns='http://kubevirt.io'><uid/></kubevirt>",
    "ovirt": "<ovirt-vm:vm xmlns:ovirt-vm='http://ovirt.org/vm/1.0'/>",
}
_SYSTEM = (
    "<libosinfo:libosinfo xmlns:libosinfo='http://libosinfo.org/xmlns/libvirt/domain/1.0'>"
    "<libosinfo:os id='{}'/></libosinfo:libosinfo>"
)
_MACHINES = {"x86_64": "pc-q35-9.2", "s390x": "s390-ccw-virtio-9.2", "aarch64": "virt-9.2"}
_DUMPED = "<!-- WARNING: THIS IS AN AUTO-GENERATED FILE. -->"


def document(case: Case) -> tuple[str, int]:
    """The text to read, and the number of lines in it before the case's own text."""
    if case.command is not None:
        return case.command, 0
    xml = case.xml or ""
    if "<devices" in xml or "<domain" in xml:
        if case.domain or case.owner in _OWNERS:
            raise ValueError(f"{case.name}: `domain` and `owner` are for the short form of `xml`")
        return xml, 0
    head, tail = _frame(case.domain, case.owner)
    return f"{head}\n{xml}\n{tail}", head.count("\n") + 1


class _StandardDomain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The standard domain around the devices of a case; the key ``domain`` overrides its fields."""

    arch: str | None = "x86_64"
    machine: str | msgspec.UnsetType | None = msgspec.UNSET
    vcpus: int | str | None = 2
    vcpus_max: int | str | msgspec.UnsetType | None = msgspec.UNSET
    disk: str | None = "virtio"
    os: str | None = "http://debian.org/debian/12"
    form: str = "raw"
    type: str | None = "kvm"
    extra: str = ""

    @property
    def machine_type(self) -> str | None:
        """The machine type that the case names, else the usual one of its architecture."""
        if self.machine is msgspec.UNSET:
            return _MACHINES.get(self.arch or "")
        return self.machine

    @property
    def vcpu(self) -> str:
        """The element with the number of vCPUs; empty if the case gives none."""
        most = self.vcpus if self.vcpus_max is msgspec.UNSET else self.vcpus_max
        return f"<vcpu current='{self.vcpus}'>{most}</vcpu>" if self.vcpus else ""


def _frame(facts: Facts, owner: str | None) -> tuple[str, str]:
    """The text before and after the devices of a case."""
    frame = converted(facts, _StandardDomain)
    arch, machine, disk = frame.arch, frame.machine_type, frame.disk
    identity = "1" if frame.form == "live" else None
    lines = [
        _DUMPED if frame.form == "dump" else "",
        f"<domain{_attribute('type', frame.type)}{_attribute('id', identity)}>",
        "<name>guest</name><uuid>6e1f1c2e-6a0f-4d53-a1f2-0d8f3f0a4a01</uuid>",
        frame.vcpu,
        f"<os><type{_attribute('arch', arch)}{_attribute('machine', machine)}>hvm</type></os>",
        frame.extra,
        _metadata(owner, frame.os),
        "<devices>",
        f"<disk type='file' device='disk'><target dev='da' bus='{disk}'/></disk>" if disk else "",
    ]
    return "\n".join(line for line in lines if line), "</devices></domain>"


def _metadata(owner: str | None, system: str | None) -> str:
    """The metadata that name the owner of the guest and its operating system. If there are several
    ``<metadata>`` elements, libvirt uses the first, so both share one."""
    parts = [_OWNERS.get(owner or "", ""), _SYSTEM.format(system) if system else ""]
    return f"<metadata>{''.join(parts)}</metadata>" if any(parts) else ""


def _attribute(name: str, value: str | None) -> str:
    return "" if value is None else f" {name}={quoteattr(value)}"


def with_facts(domain: Domain, case: Case) -> Domain:
    """The domain with the facts that other platforms would have added."""
    declared = domain.declared
    if case.owner is not None and (case.command is not None or case.owner not in _OWNERS):
        declared = msgspec.structs.replace(declared, owner=owner_named(case.owner))
    if case.server is not None:
        declared = declared.with_server(kept_of(case.server))
    if case.readiness is not None:
        declared = msgspec.structs.replace(declared, readiness=case.readiness)
    running = case.running if isinstance(case.running, list) else [case.running]
    running = running + [None] * (len(domain.nics) - len(running))
    pairs = zip(domain.nics, running, strict=True)
    return msgspec.structs.replace(
        domain,
        declared=declared,
        nics=tuple(_nic(nic, facts, case) for nic, facts in pairs),
        live=_live(domain, case),
    )


def _live(domain: Domain, case: Case) -> LiveFacts | None:
    """Facts of a live host, where the case has any."""
    if case.state is None and not case.staged and not case.coming:
        return None
    staged = tuple(_staged(facts, domain.nics) for facts in case.staged)
    state = DomainState() if case.state is None else record_of(DomainState, case.state)
    return LiveFacts(state, PendingChanges(staged, tuple(case.coming)))


def _nic(nic: Nic, running: Facts | None, case: Case) -> Nic:
    declared = nic.declared
    if case.actual is not None and declared.type == "network":
        declared = msgspec.structs.replace(declared, actual_type=case.actual)
    seen = nic.running if running is None else record_of(RunningNic, running)
    path = record_of(PathMtu, case.path) if case.path else None
    return msgspec.structs.replace(nic, declared=declared, running=seen, path=path)


class _StagedFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A NIC whose persistent definition differs from the running one. ``fields``: (field, running
    value, new value)."""

    mac: str | None = None
    gone: bool = False
    fields: tuple[tuple[str, str, str], ...] = ()


def _staged(facts: Facts, nics: tuple[Nic, ...]) -> StagedNic:
    """The persistent definition of a NIC: the running one with the named fields changed."""
    staged = converted(facts, _StagedFacts)
    if staged.gone:
        return StagedNic(staged.mac, gone=True)
    declared = next((nic.declared for nic in nics if nic.mac == staged.mac), NicConfig())
    changed = {field: new or None for field, _running, new in staged.fields}
    later = msgspec.to_builtins(declared) | changed
    return StagedNic(staged.mac, staged.fields, converted(later, NicConfig, strict=False))


def record_of(kind: type[Record], given: Facts) -> Record:
    """A record from the values of a case, where versions are text."""
    values: Facts = {
        name: Version.parse(str(value)) if name.endswith("_version") else value
        for name, value in given.items()
    }
    for name in {"vhost_paths", "vdpa_drivers"} & values.keys():
        values[name] = converted(values[name], tuple[tuple[str, object], ...])
    return kind(**values)


FILE = "case.xml"
NOVA_FILE = "nova.conf"
MANIFEST_FILE = "vm.yaml"
CLUSTER = "kube:lab"
_READ_AT = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
"""When the objects of a case were read."""


class _Judges:
    """The judges of a single rule, with the settings of a case."""

    def __init__(self, rule_id: str, catalogue: Catalogue, platforms: Platforms) -> None:
        words = platforms.wordings
        self.domains = DomainAuditor([rule_id], platforms, catalogue)
        self.hosts = HostAuditor([rule_id], words, catalogue)
        self.descriptions = DescriptionAuditor([rule_id], words, catalogue)
        self.sites = SiteAuditor([rule_id], words, catalogue)
        self.macs = MacAuditor([rule_id], words, catalogue)


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
    judges = _Judges(rule_id, rules, platforms)
    if (described := _judge_description(judges, case)) is not None:
        return described
    host = record_of(HostConfig, case.host)
    if case.server is not None and case.xml is None:
        return judges.domains.audit_domain(server_of(case.server), host, CLOUD)
    if case.xml is None and case.command is None:
        return judges.hosts.audit("host", _host_subject(host, case), "host")
    if "mac" in rules.listed(rule_id).scopes:
        return _judge_macs(judges, case, owner)
    text, before = document(case)
    domain = _owned(with_facts(_domain(text, case), case), owner)
    audited = judges.domains.audit_domain(domain, host, FILE)
    return msgspec.structs.replace(audited, findings=_moved_up(audited.findings, before))


def _host_subject(host: HostConfig, case: Case) -> HostSubject:
    guests = tuple(converted(guest, HostGuest) for guest in case.guests)
    if case.facts is None:
        return HostSubject(host, frozenset(case.uses), guests, case.workload)
    facts = converted(case.facts, HostFacts)
    return VisitedHost(host, frozenset(case.uses), guests, case.workload, facts=facts)


def _judge_description(judges: _Judges, case: Case) -> Audited | None:
    """Findings on a configuration, a manifest, an image or a flavor; None for another case."""
    if case.nova_conf is not None or case.nova_confs or case.nova_nodes:
        return _judge_nova(judges, case)
    if case.manifest is not None:
        return _judge_manifest(judges, case)
    if case.objects:
        return _judge_cluster(judges, case)
    if case.image is not None:
        image = Assumptions(nova=_release(case)).interpreted(image_of(case.image, case.definition))
        return judges.descriptions.audit(image, OPENSTACK_FILE)
    if case.flavor is not None:
        flavor = flavor_of(case.flavor, case.definition, case.booted)
        return judges.descriptions.audit(flavor, OPENSTACK_FILE)
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


def _judge_nova(judges: _Judges, case: Case) -> Audited:
    """Findings on all files of a case: on each file alone, or on the nodes compared with each
    other."""
    if case.nova_nodes:
        nodes = [node_of(config) for config in _configs(case)]
        known = [node for node in nodes if node is not None]
        audited = [judges.sites.audit(node, found) for node, found in differing_nodes(known)]
    else:
        audited = [judges.descriptions.audit(config, NOVA_FILE) for config in _configs(case)]
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


def _judge_manifest(judges: _Judges, case: Case) -> Audited:
    """Findings on everything in a file of manifests."""
    audited = []
    for found in read_manifests(
        (case.manifest or "").encode(), target=MANIFEST_FILE, file=MANIFEST_FILE
    ):
        if isinstance(found, Domain):
            audited.append(judges.domains.audit_domain(found, HostConfig(), MANIFEST_FILE))
        elif isinstance(found, Description):
            audited.append(judges.descriptions.audit(found, MANIFEST_FILE))
        else:
            raise ValueError(f"{found.file}:{found.line}: {found.message}")
    return _put_together(audited, MANIFEST_FILE, "domain")


def _judge_cluster(judges: _Judges, case: Case) -> Audited:
    """Findings on a cluster and each of its VMs. All lists were read, except those of
    ``unread``."""
    # imported here: no other case needs it
    from vnicaudit.platforms.kubevirt.cluster import NEEDED_LISTS, ClusterReading
    from vnicaudit.platforms.kubevirt.objects import decoded_object

    found = [decoded_object(each, CLUSTER) for each in case.objects]
    reading = ClusterReading(CLUSTER, "lab", _READ_AT)
    for each in found:
        reading.take(each)
    for resource in (*NEEDED_LISTS, *case.listed):
        if resource not in case.unread:
            reading.listed(resource)
    audited = [judges.descriptions.audit(reading.facts, CLUSTER)]
    domains = [domain for each in found if (domain := reading.domain(each))]
    if case.xml is not None:
        domains = [_launched(domain, case) for domain in domains]
    audited += [judges.domains.audit_domain(each, HostConfig(), CLUSTER) for each in domains]
    seen = (nics_seen(domain, CLUSTER) for domain in domains)
    audited += _sharing(judges, (encoded(nics) for nics in seen))
    return _put_together(audited, CLUSTER, "cluster")


def _launched(domain: Domain, case: Case) -> Domain:
    """A running VM with what its launcher says: ``xml``, and ``command``, split at blanks."""
    from vnicaudit.platforms.kubevirt.launched import launched_of, with_launched

    if not isinstance(domain, ClusterDomain) or not domain.guest.runs:
        return domain
    command = (case.command or "").replace(" ", "\0").encode()
    return with_launched(domain, launched_of((case.xml or "").encode(), command, domain.guest))


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


def _judge_macs(judges: _Judges, case: Case, owner: str | None) -> Audited:
    """Findings on all NICs of the case that share a MAC address."""
    text, before = document(case)
    domains = read_bytes(text.encode(), target=FILE, file=FILE)
    known = (_owned(with_facts(domain, case), owner) for domain in domains)
    audited = _sharing(judges, (encoded(nics_seen(domain, FILE)) for domain in known))
    found = (finding for one in audited for finding in one.findings)
    return Audited(FILE, FILE, findings=_moved_up(found, before))


def _sharing(judges: _Judges, nics: Iterable[list[EncodedNic]]) -> Iterator[Audited]:
    """Judgements on NICs of several guests that share a MAC address."""
    table = MacTable()
    for of_guest in nics:
        table.take(of_guest)
    return map(judges.macs.audit, table.subjects())


def _domain(text: str, case: Case) -> Domain:
    if case.command is None:
        (domain,) = read_bytes(text.encode(), target=FILE, file=FILE)
        return domain
    (qemu,) = read_text(text.encode(), target=FILE, file=FILE)
    return domain_of(qemu, FILE)
