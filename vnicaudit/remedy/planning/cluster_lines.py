"""Findings on objects of a cluster -> the fields to patch, and the same patch for their owner."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.kube_changes import corrected
from vnicaudit.knowledge.kube_owners import route
from vnicaudit.knowledge.to_virtio import MAY_LACK_DRIVER
from vnicaudit.model.cluster import Attachment, ClusterFacts, KubeVirtSettings, ObjectOwner
from vnicaudit.model.domain import ClusterDomain
from vnicaudit.model.finding import VIRTIO, Change, Finding
from vnicaudit.model.kubevirt import MODELS, Preference
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import ClusterUnit, OwnerFile, PatchLine
from vnicaudit.remedy.cluster_patch import json_patch

_MULTIQUEUE = "networkInterfaceMultiqueue"
_PREFERRED = "/spec/devices/preferredInterfaceModel"
_EMULATION = "/spec/configuration/developerConfiguration/useEmulation"
_READY = "the guest supports virtio"
_MEASURE = "it changes the number of queues: measure before and after"
_ALL_NEW = "every virtual machine created with it from then on gets it"
_TODAY = "its preference has it today"


class ProposedLine(NamedTuple):
    """One field to patch, and its change for people. ``nic``: whose field it is; None: it is for
    all of them, or the object is no virtual machine."""

    line: PatchLine
    change: Change
    nic: Nic | None = None


# A virtual machine.


def lines_for(finding: Finding, domain: ClusterDomain) -> Iterator[ProposedLine]:
    """The fields of a virtual machine that a finding proposes to change; none: nothing that can be
    planned."""
    change = finding.change
    if change is None:
        return
    if change.field == "preference":
        yield from _as_today(domain)
    elif change.field == "model":
        at = finding.about.index
        nic = None if at is None else next(iter(domain.nics[at : at + 1]), None)
        if nic is not None and nic.alias and change.new in MODELS:
            reason = _READY if change.safe else change.reason
            yield _model(nic, replace(change, old=nic.declared.model, reason=reason))
    elif change.field == "multiqueue":
        yield from _multiqueue(domain, change)


def _model(nic: Nic, change: Change) -> ProposedLine:
    pointer, name = f"{nic.location.pointer}/model", nic.alias or ""
    line = PatchLine(pointer, name, nic.declared.model, change.new)
    return ProposedLine(line, replace(change, field=f"{name}/model"), nic)


def _multiqueue(domain: ClusterDomain, change: Change) -> Iterator[ProposedLine]:
    """The switch, wherever it is, or would be."""
    places = (place for nic in domain.nics for field, place in nic.places if field == "multiqueue")
    pointer = next(places, domain.location).pointer
    manifest, new = domain.declared.manifest, change.new == "true"
    if pointer.endswith(f"/{_MULTIQUEUE}") and manifest is not None:
        yield ProposedLine(PatchLine(pointer, "", manifest.multiqueue, new), change)
    elif pointer.endswith("/devices"):
        yield ProposedLine(PatchLine(f"{pointer}/{_MULTIQUEUE}", "", None, new), change)


def _as_today(domain: ClusterDomain) -> Iterator[ProposedLine]:
    """The NIC settings of a virtual machine's preference as it is today, set on the virtual machine
    itself: they count, whatever it recorded, and nothing else of the preference comes with them."""
    recorded = domain.guest.preference
    if recorded is None or recorded.then is None or recorded.now is None:
        return
    then, now = recorded.then, recorded.now
    old, new = (each.get("preferredInterfaceModel", "virtio") for each in (then, now))
    if old != new and new in VIRTIO:  # never to an emulated one
        ready = domain.declared.readiness == "ready"
        reason = f"{_TODAY}; {_READY if ready else MAY_LACK_DRIVER}"
        for nic in domain.nics:
            if nic.alias and nic.declared.model is None and nic.declared.type != "hostdev":
                yield _model(nic, Change("model", None, new, safe=ready, reason=reason))
    key = "preferredNetworkInterfaceMultiQueue"
    if then.get(key, "false") != now.get(key, "false"):
        reason = f"{_TODAY}; {_MEASURE}"
        change = Change("multiqueue", None, now.get(key, "false"), safe=False, reason=reason)
        yield from _multiqueue(domain, change)


# Preferences, the KubeVirt object, and networks.


def preference_line(finding: Finding, preference: Preference) -> ProposedLine | None:
    """The field of a preference that a finding proposes to change; None: nothing that can be
    planned."""
    change = finding.change
    if change is None or change.field != "model" or change.new not in VIRTIO:
        return None
    line = PatchLine(_PREFERRED, "", preference.interface_model, change.new)
    return ProposedLine(line, replace(change, safe=False, reason=_ALL_NEW))


def cluster_line(
    change: Change, cluster: ClusterFacts
) -> tuple[KubeVirtSettings | Attachment, ProposedLine] | None:
    """The KubeVirt object or the network that a change is of, and the field; None: nothing that can
    be planned."""
    if change.field == "useEmulation" and cluster.kubevirt is not None:
        return cluster.kubevirt, ProposedLine(PatchLine(_EMULATION, before=True), change)
    path, _slash, field = change.field.rpartition("/")
    network = cluster.attachments_by_path.get(path) if field == "config" else None
    new = None if network is None else corrected(network)
    if network is None or new is None:
        return None
    line = PatchLine("/spec/config", "", network.config, new.config)
    return network, ProposedLine(line, replace(change, field=field))


# The same patch for a repository.


_POOL = "/spec/virtualMachineTemplate"
_TARGETS = {
    "kube-vm": ("kubevirt.io", "VirtualMachine", "vm"),
    "kube-preference": ("instancetype.kubevirt.io", "VirtualMachinePreference", "preference"),
    "kube-nad": ("k8s.cni.cncf.io", "NetworkAttachmentDefinition", "nad"),
    "kube-config": ("kubevirt.io", "KubeVirt", "kubevirt"),
}
"""Kind of a unit -> group and kind of its object, and the beginning of the file's name."""
_HOW_TO = (
    "Add this to the kustomization.yaml that builds it (of Helm: that of its post-renderer). A "
    "`test` that fails says that the source has something else than the cluster."
)
_SEVERAL = "If the source has several of that name, add {} to `target`."


def owners_file(unit: ClusterUnit, owner: ObjectOwner, *, pool: bool) -> OwnerFile:
    """The patch of an object as Kustomize takes it; ``pool``: of the pool that made it."""
    group, kind, short = _TARGETS[unit.kind]
    name, patch = unit.name, unit.patch
    if pool:
        group, kind, short, name = "pool.kubevirt.io", "VirtualMachinePool", "pool", owner.of
        patch = tuple(replace(each, path=f"{_POOL}{each.path}") for each in patch)
    elif unit.kind == "kube-preference" and not unit.namespace:
        kind = "VirtualMachineClusterPreference"
    target = {"group": group, "kind": kind, "name": name}
    text = "".join(f"{line}\n" for line in _lines(target, unit.namespace, owner, patch))
    folder = f"{unit.namespace}/" if unit.namespace else ""
    return OwnerFile(f"{folder}{short}-{name}.yaml", text)


def _lines(
    target: dict[str, str], namespace: str, owner: ObjectOwner, patch: Iterable[PatchLine]
) -> Iterator[str]:
    """Values are written as JSON, which is YAML without surprises; so is the value of a mark, which
    may have line breaks. The target names no namespace: most sources have none themselves, and
    Kustomize (5.5.0, run) leaves out, without an error, a patch whose target names one."""
    space = json.dumps(namespace)
    where = f" in namespace {space}" if namespace else ""
    yield f"# {target['kind']} {json.dumps(target['name'])}{where}"
    yield f"# {owner.mark}: {json.dumps(owner.of)}. {' '.join(route(owner).split())}"
    namespaced = f'"namespace": {space}'
    yield f"# {_HOW_TO} {_SEVERAL.format(namespaced)}" if namespace else f"# {_HOW_TO}"
    yield "patches:"
    yield f"- target: {json.dumps(target)}"
    yield "  patch: |-"
    for operation in json_patch(patch):
        yield f"    - {json.dumps(operation)}"
