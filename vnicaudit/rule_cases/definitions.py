"""The definition of a case, and the facts that the case sets on the domain read from it."""

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
