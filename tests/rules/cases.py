"""The cases of ``VNICxxx.yaml`` (format: README.md beside this file), from data to judgement."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from xml.sax.saxutils import quoteattr

import msgspec
from ruamel.yaml import YAML

from tests.rules.openstack_cases import OPENSTACK_FILE, flavor_of, image_of
from tests.rules.server_cases import CLOUD, kept_of, server_of
from vnicaudit.audit.catalogue import judges
from vnicaudit.audit.descriptions import DescriptionJudge
from vnicaudit.audit.engine import Engine
from vnicaudit.audit.macs import MacJudge, MacTable, seen
from vnicaudit.audit.site import SiteJudge, compared, node_of
from vnicaudit.audit.work import Assumptions
from vnicaudit.model.domain import Domain, DomainState, StagedNic
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nic import Nic, NicConfig, PathMtu, RunningNic
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.nova_options import Release
from vnicaudit.model.report import Audited
from vnicaudit.model.version import Version
from vnicaudit.platforms.domain_xml.read import read_bytes
from vnicaudit.platforms.kubevirt.read import read_bytes as read_manifests
from vnicaudit.platforms.nova_conf.options import release_of
from vnicaudit.platforms.nova_conf.read import read_bytes as read_nova
from vnicaudit.platforms.nova_conf.resolve import as_of
from vnicaudit.platforms.qemu.domain import domain_of
from vnicaudit.platforms.qemu.read import read_text

HERE = Path(__file__).parent
FILE = "case.xml"
NOVA_FILE = "nova.conf"
MANIFEST_FILE = "vm.yaml"

Facts = dict[str, Any]
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


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One finding that must come out. What is UNSET is not compared."""

    message: str
    severity: str
    confidence: str | msgspec.UnsetType = msgspec.UNSET
    line: int | msgspec.UnsetType | None = msgspec.UNSET
    column: int | msgspec.UnsetType | None = msgspec.UNSET
    file: str | msgspec.UnsetType = msgspec.UNSET
    related: list[str] | msgspec.UnsetType = msgspec.UNSET
    xpath: str | msgspec.UnsetType = msgspec.UNSET
    owner: str | msgspec.UnsetType = msgspec.UNSET
    change: Facts | msgspec.UnsetType | None = msgspec.UNSET
    reason: str | msgspec.UnsetType = msgspec.UNSET
    fix: str | msgspec.UnsetType = msgspec.UNSET
    fix_has: str | list[str] = []
    fix_lacks: str | list[str] = []


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One case as it stands in the file."""

    name: str
    xml: str | None = None
    command: str | None = None
    nova_conf: str | None = None
    manifest: str | None = None
    nova_confs: dict[str, str] = {}
    nova_nodes: dict[str, str] = {}
    nova_release: str | None = None
    image: Facts | None = None
    flavor: Facts | None = None
    server: Facts | None = None
    definition: Facts = {}
    booted: list[Facts] = []
    domain: Facts = {}
    owner: str | None = None
    readiness: str | None = None
    actual: str | None = None
    path: Facts = {}
    host: Facts = {}
    running: Facts | list[Facts | None] = []
    state: Facts | None = None
    staged: list[Facts] = []
    coming: list[str] = []
    uses: list[str] = []
    fail: list[Expected] = []
    passes: bool = msgspec.field(default=False, name="pass")
    skip: str = ""


def cases(rule_id: str) -> list[Case]:
    """The cases of one rule. Raises msgspec.ValidationError, naming the key, when the file does
    not follow the format."""
    data = YAML(typ="safe", pure=True).load((HERE / f"{rule_id}.yaml").read_text("utf-8"))
    found = msgspec.convert(data, list[Case])
    for case in found:
        if bool(case.fail) + case.passes + bool(case.skip) != 1:
            raise msgspec.ValidationError(f"{case.name}: exactly one of fail, pass, skip")
    return found


def judge(rule_id: str, case: Case, owner: str | None = None) -> Audited:
    """What an engine with only this rule says of the case. Lines count from the first line of
    ``case.xml``, ``case.command`` or ``case.nova_conf``. ``owner`` replaces the owner of what was
    read."""
    if case.nova_conf is not None or case.nova_confs or case.nova_nodes:
        return _judge_nova(rule_id, case)
    if case.manifest is not None:
        return _judge_manifest(rule_id, case.manifest)
    if case.image is not None:
        image = Assumptions(nova=_release(case)).made_for(image_of(case.image, case.definition))
        return DescriptionJudge([rule_id]).audit(image, OPENSTACK_FILE)
    if case.flavor is not None:
        flavor = flavor_of(case.flavor, case.definition, case.booted)
        return DescriptionJudge([rule_id]).audit(flavor, OPENSTACK_FILE)
    host = _record(HostConfig, case.host)
    if case.server is not None and case.xml is None:
        return _engine(rule_id).audit_domain(server_of(case.server), host, CLOUD)
    if case.xml is None and case.command is None:
        return _engine(rule_id).audit_host(Host("host", host), frozenset(case.uses), "host")
    if "mac" in judges(rule_id):
        return _judge_macs(rule_id, case, owner)
    text, before = document(case)
    domain = _with_facts(_domain(text, case), case)
    if owner is not None:
        declared = msgspec.structs.replace(domain.declared, owner=owner)
        domain = msgspec.structs.replace(domain, declared=declared)
    audited = _engine(rule_id).audit_domain(domain, host, FILE)
    findings = tuple(
        msgspec.structs.replace(
            finding,
            location=msgspec.structs.replace(
                finding.location, line=(finding.location.line or 0) - before
            ),
        )
        for finding in audited.findings
    )
    return msgspec.structs.replace(audited, findings=findings)


def _judge_nova(rule_id: str, case: Case) -> Audited:
    """What is said of all its files: of each alone, or of nodes beside one another."""
    if case.nova_nodes:
        nodes = [node_of(config) for config in _configs(case)]
        known = [node for node in nodes if node is not None]
        judge = SiteJudge([rule_id])
        audited = [judge.audit(node, found) for node, found in compared(known)]
    else:
        audited = [
            DescriptionJudge([rule_id]).audit(config, NOVA_FILE) for config in _configs(case)
        ]
    return Audited(
        NOVA_FILE,
        NOVA_FILE,
        scope="config",
        findings=tuple(finding for one in audited for finding in one.findings),
        skipped=tuple(skipped for one in audited for skipped in one.skipped),
        crashed=tuple(crashed for one in audited for crashed in one.crashed),
    )


def _configs(case: Case) -> list[NovaConfig]:
    """The configuration files of a case: one, some that Nova reads together, or one per node."""
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


def _judge_manifest(rule_id: str, text: str) -> Audited:
    """What is said of everything in a file of manifests."""
    audited = []
    for found in read_manifests(text.encode(), target=MANIFEST_FILE, file=MANIFEST_FILE):
        if isinstance(found, Domain):
            audited.append(_engine(rule_id).audit_domain(found, HostConfig(), MANIFEST_FILE))
        elif isinstance(found, Preference):
            audited.append(DescriptionJudge([rule_id]).audit(found, MANIFEST_FILE))
        else:
            raise ValueError(f"{found.file}:{found.line}: {found.message}")
    return Audited(
        MANIFEST_FILE,
        MANIFEST_FILE,
        findings=tuple(finding for one in audited for finding in one.findings),
        skipped=tuple(skipped for one in audited for skipped in one.skipped),
        crashed=tuple(crashed for one in audited for crashed in one.crashed),
    )


def _judge_macs(rule_id: str, case: Case, owner: str | None) -> Audited:
    """What is said of all NICs of the case that share a MAC address."""
    text, before = document(case)
    table = MacTable()
    for domain in read_bytes(text.encode(), target=FILE, file=FILE):
        whole = _with_facts(domain, case)
        if owner is not None:
            declared = msgspec.structs.replace(whole.declared, owner=owner)
            whole = msgspec.structs.replace(whole, declared=declared)
        table.take(seen(whole, FILE))
    judge = MacJudge([rule_id])
    audited = [judge.audit(subject) for subject in table.shared()]
    findings = [
        msgspec.structs.replace(
            finding,
            location=msgspec.structs.replace(
                finding.location, line=(finding.location.line or 0) - before
            ),
        )
        for one in audited
        for finding in one.findings
    ]
    return Audited(FILE, FILE, findings=tuple(findings))


@cache
def _engine(rule_id: str) -> Engine:
    return Engine([rule_id])


def _domain(text: str, case: Case) -> Domain:
    if case.command is None:
        (domain,) = read_bytes(text.encode(), target=FILE, file=FILE)
        return domain
    (qemu,) = read_text(text.encode(), target=FILE, file=FILE)
    return domain_of(qemu, FILE)


def document(case: Case) -> tuple[str, int]:
    """The text to read, and how many lines stand before the case's own."""
    if case.command is not None:
        return case.command, 0
    xml = case.xml or ""
    if "<devices" in xml or "<domain" in xml:
        if case.domain or case.owner in _OWNERS:
            raise ValueError(f"{case.name}: `domain` and `owner` are for the short form of `xml`")
        return xml, 0
    head, tail = _frame(dict(case.domain), case.owner)
    return f"{head}\n{xml}\n{tail}", head.count("\n") + 1


def _frame(given: Facts, owner: str | None) -> tuple[str, str]:
    """The standard domain around the devices of a case."""
    arch = given.pop("arch", "x86_64")
    machine = given.pop("machine", _MACHINES.get(arch or ""))
    vcpus = given.pop("vcpus", 2)
    vcpus_max = given.pop("vcpus_max", vcpus)
    disk = given.pop("disk", "virtio")
    system = given.pop("os", "http://debian.org/debian/12")
    form = given.pop("form", "raw")
    kind, identity = given.pop("type", "kvm"), "1" if form == "live" else None
    lines = [
        _DUMPED if form == "dump" else "",
        f"<domain{_attribute('type', kind)}{_attribute('id', identity)}>",
        "<name>guest</name><uuid>6e1f1c2e-6a0f-4d53-a1f2-0d8f3f0a4a01</uuid>",
        f"<vcpu current='{vcpus}'>{vcpus_max}</vcpu>" if vcpus else "",
        f"<os><type{_attribute('arch', arch)}{_attribute('machine', machine)}>hvm</type></os>",
        given.pop("extra", ""),
        _metadata(owner, system),
        "<devices>",
        f"<disk type='file' device='disk'><target dev='da' bus='{disk}'/></disk>" if disk else "",
    ]
    if given:
        raise ValueError(f"unknown keys of `domain`: {', '.join(given)}")
    return "\n".join(line for line in lines if line), "</devices></domain>"


def _metadata(owner: str | None, system: str | None) -> str:
    """Who keeps the guest, and what runs in it. Of several libvirt takes the first."""
    parts = [_OWNERS.get(owner or "", ""), _SYSTEM.format(system) if system else ""]
    return f"<metadata>{''.join(parts)}</metadata>" if any(parts) else ""


def _attribute(name: str, value: str | None) -> str:
    return "" if value is None else f" {name}={quoteattr(value)}"


def _with_facts(domain: Domain, case: Case) -> Domain:
    """The domain with what other platforms would have added."""
    declared = domain.declared
    if case.owner is not None and (case.command is not None or case.owner not in _OWNERS):
        declared = msgspec.structs.replace(declared, owner=case.owner)
    if case.server is not None:
        declared = msgspec.structs.replace(declared, server=kept_of(case.server))
    if case.readiness is not None:
        declared = msgspec.structs.replace(declared, readiness=case.readiness)
    running = case.running if isinstance(case.running, list) else [case.running]
    running = running + [None] * (len(domain.nics) - len(running))
    pairs = zip(domain.nics, running, strict=True)
    return msgspec.structs.replace(
        domain,
        declared=declared,
        nics=tuple(_nic(nic, facts, case) for nic, facts in pairs),
        state=None if case.state is None else _record(DomainState, case.state),
        staged=tuple(_staged(facts, domain.nics) for facts in case.staged),
        coming=tuple(case.coming),
    )


def _nic(nic: Nic, running: Facts | None, case: Case) -> Nic:
    declared = nic.declared
    if case.actual is not None and declared.type == "network":
        declared = msgspec.structs.replace(declared, actual_type=case.actual)
    seen = nic.running if running is None else _record(RunningNic, running)
    path = _record(PathMtu, case.path) if case.path else None
    return msgspec.structs.replace(nic, declared=declared, running=seen, path=path)


def _staged(facts: Facts, nics: tuple[Nic, ...]) -> StagedNic:
    """The persistent definition of a NIC is the running one but for the fields that are named."""
    mac = facts.get("mac")
    if facts.get("gone"):
        return StagedNic(mac, gone=True)
    fields = tuple((field, running, new) for field, running, new in facts["fields"])
    declared = next((nic.declared for nic in nics if nic.mac == mac), NicConfig())
    later = msgspec.to_builtins(declared) | {field: new or None for field, _running, new in fields}
    return StagedNic(mac, fields, msgspec.convert(later, NicConfig, strict=False))


def _record(kind: type[Record], given: Facts) -> Record:
    """A record from the values of a case; versions stand there as text."""
    values: Facts = {
        name: Version.parse(str(value)) if name.endswith("_version") else value
        for name, value in given.items()
    }
    for name in {"vhost_paths", "vdpa_drivers"} & values.keys():
        values[name] = tuple((path, found) for path, found in values[name])
    return kind(**values)
