"""A virtual machine, and its instance, of a cluster -> what is kept of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.model.cluster import (
    ClusterGuest,
    ClusterNic,
    Condition,
    NicSpec,
    NicStatus,
    Topology,
    VmSettings,
)
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import Readiness
from vnicaudit.model.nic import Nic, RunningNic
from vnicaudit.platforms.kubevirt.cluster_objects import conditions_of, references_of, texts_of
from vnicaudit.platforms.kubevirt.interfaces import METHODS, Referred, wiring_in_instance
from vnicaudit.platforms.kubevirt.objects import (
    Object,
    boolean_at,
    integer_at,
    items_at,
    names_at,
    place_at,
    readiness_of_words,
    text_at,
    with_devices,
)
from vnicaudit.text.yaml_nodes import YamlPlace


class Instance(NamedTuple):
    """A VirtualMachineInstance, as far as it is kept until its VM comes."""

    name: str = ""
    uid: str = ""
    owner: str = ""
    """UID of the VirtualMachine that controls it; empty: none does."""
    settings: VmSettings | None = None
    specs: Mapping[str, NicSpec] = {}
    status: Mapping[str, NicStatus] = {}
    current: Topology | None = None
    conditions: tuple[Condition, ...] = ()
    node: str | None = None
    created: str | None = None
    deleting: bool = False
    migrating: bool = False
    annotations: frozenset[str] = frozenset()
    phase: str | None = None
    readiness: Readiness | None = None
    """According to its guest's agent; None: that tells of no system that is known here."""


def instance_of(found: Object, now: datetime | None) -> Instance:
    """A VirtualMachineInstance, read at a time."""
    place = found.place
    spec = place.child("spec")
    settings = _vm_settings_of(spec)
    return Instance(
        name=found.display_name,
        uid=text_at(place, "metadata", "uid") or "",
        owner=owner_uid(found),
        settings=replace(settings, multiqueue=bool(settings.multiqueue)),
        specs=_specs_of(spec, found.namespace or "", model="virtio"),
        status={
            name: _status(each)
            for each in items_at(place, "status", "interfaces")
            if (name := text_at(each, "name"))
        },
        current=_topology_of(place.at("status", "currentCPUTopology")),
        conditions=tuple(conditions_of(place, now)),
        node=text_at(place, "status", "nodeName"),
        created=text_at(place, "metadata", "creationTimestamp"),
        deleting=place.at("metadata", "deletionTimestamp") is not None,
        migrating=is_migrating(place),
        annotations=frozenset(names_at(place, "metadata", "annotations")),
        phase=text_at(place, "status", "phase"),
        readiness=_told_by_agent(
            place.at("status", "guestOSInfo"), transitional=settings.transitional
        ),
    )


def _told_by_agent(system: YamlPlace | None, *, transitional: bool) -> Readiness | None:
    """The virtio readiness of a system as its agent tells of it: ``ID`` of os-release, or
    ``mswindows`` (QEMU, qga/commands-win32.c), and its kernel; None: nothing of it is known.

    Not ``transitional``, it has told so over virtio 1.0, which it drives then
    (``ControllersWithVirtioSerialModel`` in virt-launcher's converter.go)."""
    name = (text_at(system, "id") or "").removeprefix("ms")
    kernel = text_at(system, "kernelRelease") or ""
    by_name, number = readiness_of_words(name), _KERNEL.match(kernel)
    is_old = number is not None and int(number[1]) < _VIRTIO_1_0
    if by_name == "ready" and number is not None and not is_old:
        return "ready"
    build, enterprise = _BUILD.match(kernel), _ENTERPRISE.search(kernel)
    words = (f"{name}{text_at(system, 'versionId') or ''}", enterprise and f"rhel{enterprise[1]}")
    told = readiness_of_words(*words)
    if told == "ready" and is_old and (build is None or int(build[1]) < _BACKPORT):
        return "unknown"
    if told == "ready-transitional" and not transitional:
        return "ready"
    return None if told == by_name == "unknown" and not is_old else told


_KERNEL = re.compile(r"(\d{1,4})\.\d{1,4}\.")
_VIRTIO_1_0 = 4
"""The first version of Linux with a driver for virtio 1.0 (drivers/virtio/virtio_pci_modern.c)."""
_ENTERPRISE = re.compile(r"\.el(\d)(?!\d)")
_BUILD = re.compile(r"3\.10\.0-(\d{1,5})\.(?:[\d.]{0,30}\.)?el7")
_BACKPORT = 327
"""The kernel of RHEL and CentOS 7.2, the first of 7 with that driver (osinfo-db)."""


def is_migrating(instance: YamlPlace) -> bool:
    """True while an instance is being migrated: ``IsMigrating`` in KubeVirt's
    pkg/util/migrations/migrations.go."""
    state = instance.at("status", "migrationState")
    return text_at(state, "startTimestamp") is not None and text_at(state, "endTimestamp") is None


def owner_uid(found: Object) -> str:
    """The UID of the VirtualMachine that controls an instance; empty: none does."""
    owners = references_of(found.place)
    return next((one.uid for one in owners if one.kind == "VirtualMachine" and one.controls), "")


def _status(place: YamlPlace) -> NicStatus:
    sources = (text_at(place, "infoSource") or "").split(",")
    return NicStatus(
        mac=(text_at(place, "mac") or "").lower() or None,
        queues=integer_at(place, "queueCount") or None,
        sources=frozenset(each.strip() for each in sources if each.strip()),
    )


def _vm_settings_of(spec: YamlPlace | None) -> VmSettings:
    """Settings for all NICs in the spec of an instance, or in a VM's template of it."""
    cpu, devices = place_at(spec, "domain", "cpu"), place_at(spec, "domain", "devices")
    return VmSettings(
        multiqueue=boolean_at(devices, "networkInterfaceMultiqueue"),
        transitional=bool(boolean_at(devices, "useVirtioTransitional")),
        cpu=_topology_of(cpu),
        max_sockets=integer_at(cpu, "maxSockets"),
        eviction=text_at(spec, "evictionStrategy"),
        arch=text_at(spec, "architecture"),
    )


def run_strategy_of(vm: YamlPlace) -> str:
    """The run strategy of a VM; empty: unknown."""
    is_off = boolean_at(vm, "spec", "running") is False
    return text_at(vm, "spec", "runStrategy") or ("Halted" if is_off else "")


def import_of(vm: YamlPlace) -> str:
    """The UID of Forklift's migration that created a VM; empty: none did (``vmLabels`` in
    pkg/controller/plan/kubevirt.go)."""
    labels = texts_of(vm.at("metadata", "labels"))
    return labels.get("migration", "") if {"plan", "vmID"} <= labels.keys() else ""


_STATES = {
    "Paused": "it is paused",
    "Migrating": "it is being migrated",
    "Starting": "it is starting",
    "Stopping": "it is being stopped",
}
"""Value of ``status.printableStatus`` -> the words."""
_UNDER_WAY = {
    "snapshotInProgress": "a snapshot of it is being taken",
    "restoreInProgress": "it is being restored",
}


def busy_of(vm: YamlPlace) -> tuple[str, ...]:
    """Why KubeVirt does not let a VM be changed now (``validateSnapshotStatus`` and
    ``validateRestoreStatus`` in its vms-admitter.go)."""
    return tuple(words for key, words in _UNDER_WAY.items() if text_at(vm, "status", key))


def unsettled_state_of(vm: YamlPlace) -> str:
    """The state of a VM in which it is not restarted; empty: none of these."""
    return _STATES.get(text_at(vm, "status", "printableStatus") or "", "")


def anti_affinity_of(spec: YamlPlace | None) -> tuple[str, ...]:
    """The selectors of the pods that those of a VM keep away from, as text."""
    found: dict[str, None] = {}
    for way, inner in _ANTI_AFFINITY.items():
        for each in items_at(spec, "affinity", "podAntiAffinity", way):
            selector = each.at(*inner, "labelSelector")
            if selector is not None:
                found[", ".join(_selected(selector))[:_LONGEST_SELECTOR]] = None
    return tuple(found)


def _selected(selector: YamlPlace) -> Iterator[str]:
    for name, value in sorted(texts_of(selector.child("matchLabels")).items()):
        yield f"{name}={value}"
    for each in items_at(selector, "matchExpressions"):
        words = [one.text or "" for one in items_at(each, "values")]
        yield f"{text_at(each, 'key')} {text_at(each, 'operator')} {' '.join(words)}".rstrip()


_LONGEST_SELECTOR = 200
_ANTI_AFFINITY = {
    "requiredDuringSchedulingIgnoredDuringExecution": (),
    "preferredDuringSchedulingIgnoredDuringExecution": ("podAffinityTerm",),
}
"""Terms of ``podAntiAffinity`` -> the way to the term itself."""


def _says_multiqueue(spec: YamlPlace | None) -> bool:
    """True if a spec sets ``networkInterfaceMultiqueue``, whatever to."""
    return place_at(spec, "domain", "devices", "networkInterfaceMultiqueue") is not None


def left_to_preference(spec: YamlPlace) -> list[str]:
    """Those of ``PREFERRED`` that a VM's template leaves to its preference."""
    left, devices = [], spec.at("domain", "devices")
    items = items_at(devices, "interfaces")
    if any(each.child("model") is None and each.child("sriov") is None for each in items):
        left.append("preferredInterfaceModel")
    if not _says_multiqueue(spec):
        left.append("preferredNetworkInterfaceMultiQueue")
    if place_at(devices, "useVirtioTransitional") is None:
        left.append("preferredUseVirtioTransitional")
    if any(not {*METHODS, "binding"}.intersection(each.names()) for each in items):
        left.append("preferredInterfaceMasquerade")
    return left


def _topology_of(cpu: YamlPlace | None) -> Topology | None:
    """Sockets, cores and threads; None if none of them is set, or one is not certain."""
    parts = [place_at(cpu, name) for name in ("sockets", "cores", "threads")]
    counts = [1 if part is None else part.integer for part in parts]
    if all(part is None for part in parts) or None in counts:
        return None
    sockets, cores, threads = (count or 1 for count in counts)
    return Topology(sockets=sockets, cores=cores, threads=threads)


def _specs_of(spec: YamlPlace | None, namespace: str, *, model: str | None) -> dict[str, NicSpec]:
    """The interfaces of a spec by name. ``model``: that of an interface without one."""
    by_name = {text_at(each, "name"): each for each in items_at(spec, "networks")}
    return {
        name: _spec(each, by_name.get(name), namespace, model)
        for each in items_at(spec, "domain", "devices", "interfaces")
        if (name := text_at(each, "name"))
    }


def _spec(
    place: YamlPlace, network: YamlPlace | None, namespace: str, default: str | None
) -> NicSpec:
    plugin = text_at(place, "binding", "name")
    model, mac = place.child("model"), text_at(place, "macAddress")
    names = place.names()
    method = next((key for key in METHODS if key in names), None)
    return NicSpec(
        model=default if model is None else model.text,
        binding=plugin or method,
        is_plugin=plugin is not None,
        mac=None if mac is None else mac.lower().replace("-", ":"),
        pci=text_at(place, "pciAddress"),
        acpi_index=integer_at(place, "acpiIndex"),
        network=_network(network, namespace),
        state=text_at(place, "state"),
        claim=network is not None and network.child("resourceClaim") is not None,
    )


def _network(place: YamlPlace | None, namespace: str) -> str | None:
    if place is None:
        return None
    if "pod" in place.names():
        return "pod"
    name = text_at(place, "multus", "networkName")
    return name if name is None or "/" in name else f"{namespace}/{name}"


def template_settings(spec: YamlPlace | None, prefers: dict[str, str] | None) -> VmSettings:
    """Settings that a VM's template and its preference give the next instance. vCPUs of an instance
    type, or of resources, are not counted."""
    own = _vm_settings_of(spec)
    multiqueue = own.multiqueue
    if multiqueue is None and not _says_multiqueue(spec) and prefers is not None:
        multiqueue = prefers.get("preferredNetworkInterfaceMultiQueue") == "true"
    return replace(own, multiqueue=multiqueue)


def template_specs(
    spec: YamlPlace | None, namespace: str, prefers: dict[str, str] | None
) -> dict[str, NicSpec]:
    """The interfaces that the next instance gets, by name."""
    model = None if prefers is None else prefers.get("preferredInterfaceModel", "virtio")
    return _specs_of(spec, namespace, model=model)


def joined_nics(
    template: dict[str, NicSpec], instance: Instance, mtus: Mapping[str, int]
) -> tuple[ClusterNic, ...]:
    """All interfaces, of the VM or of its instance."""
    has = instance.specs
    return tuple(
        ClusterNic(
            name=name,
            template=template.get(name),
            has=has.get(name),
            status=instance.status.get(name),
            mtu=mtus.get(has[name].network or "") if name in has else None,
        )
        for name in dict.fromkeys([*template, *has])
    )


# What a cluster knows of a guest beyond its manifest.


def declared_in_cluster(
    declared: DomainConfig, guest: ClusterGuest, by_agent: Readiness | None
) -> DomainConfig:
    """The configuration in a manifest, with what the guest's agent tells, the revision that the VM
    keeps, and the vCPUs that run."""
    if (manifest := declared.manifest) is not None:
        if by_agent is not None:
            judged = with_devices(by_agent, transitional=manifest.transitional)
            declared = replace(declared, readiness=judged)
        keeps = guest.preference is not None and bool(guest.preference.revision)
        manifest = replace(
            manifest,
            has_one_queue=_has_one_queue(guest),
            by_image=manifest.by_image and by_agent is None,
            preference_judged=manifest.preference_judged and not keeps,
        )
        declared = replace(declared, described_by=manifest)
    if not guest.runs or guest.has is None:
        return declared
    seen = guest.current or guest.has.cpu
    count = declared.vcpus if seen is None else seen.count
    return replace(declared, vcpus=count, vcpus_max=count)


def as_it_runs(nic: Nic, guest: ClusterGuest, vm: VmSettings, known: list[Referred]) -> Nic:
    """The NIC of a VM with how its instance has it. The model is empty if the two are connected in
    ways that cannot be compared."""
    one = next((each for each in guest.nics if each.name == nic.alias), None)
    if one is None or one.has is None:
        return nic
    has, status = one.has, one.status or NicStatus()
    wiring = wiring_in_instance(has.binding, has.network, known, plugin=has.is_plugin)
    model = has.model or "virtio"
    if model == "virtio" and vm.transitional:
        model = "virtio-transitional"
    running = RunningNic(
        driver="",
        model=model if wiring.type == nic.declared.actual_type else "",
        mac=status.mac or has.mac,
        queues=status.queues or (None if vm.multiqueue else 1),
        vhost=guest.vhost,
        evidence="instance",
    )
    return replace(nic, wiring=wiring.name, running=running)


def _has_one_queue(guest: ClusterGuest) -> bool:
    """True if a virtio NIC of the running instance has one queue pair."""
    return guest.runs and any(
        nic.has is not None
        and nic.has.model in (None, "virtio")
        and nic.has.binding != "sriov"
        and nic.status is not None
        and nic.status.queues == 1
        for nic in guest.nics
    )
