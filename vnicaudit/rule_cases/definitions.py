"""A case of a rule: the definition that is read, and what is set on what was read."""

from __future__ import annotations

from typing import TypeVar
from xml.sax.saxutils import quoteattr

import msgspec

from vnicaudit.model.decoding import converted
from vnicaudit.model.domain import Domain, DomainState, LiveFacts, PendingChanges, StagedNic
from vnicaudit.model.nic import Nic, NicConfig, PathMtu, RunningNic
from vnicaudit.model.owner import owner_named
from vnicaudit.model.version import Version
from vnicaudit.rule_cases.cases import Case, Facts
from vnicaudit.rule_cases.servers import kept_of

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


def with_facts(domain: Domain, case: Case) -> Domain:
    """The domain with what other platforms would have added."""
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
    """What a live host would have said, where the case says any of it."""
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


def _staged(facts: Facts, nics: tuple[Nic, ...]) -> StagedNic:
    """The persistent definition of a NIC is the running one but for the fields that are named."""
    mac = facts.get("mac")
    if facts.get("gone"):
        return StagedNic(mac, gone=True)
    fields = tuple((field, running, new) for field, running, new in facts["fields"])
    declared = next((nic.declared for nic in nics if nic.mac == mac), NicConfig())
    later = msgspec.to_builtins(declared) | {field: new or None for field, _running, new in fields}
    return StagedNic(mac, fields, converted(later, NicConfig, strict=False))


def record_of(kind: type[Record], given: Facts) -> Record:
    """A record from the values of a case; versions stand there as text."""
    values: Facts = {
        name: Version.parse(str(value)) if name.endswith("_version") else value
        for name, value in given.items()
    }
    for name in {"vhost_paths", "vdpa_drivers"} & values.keys():
        values[name] = tuple((path, found) for path, found in values[name])
    return kind(**values)
