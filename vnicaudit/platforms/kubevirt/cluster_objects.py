"""One object of a cluster -> its record, with the fields that rules need and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, TypedDict

from msgspec.structs import replace

from vnicaudit.knowledge.kube_owners import Marks, OwnerReference, owners_of
from vnicaudit.model.cluster import (
    KVM,
    NETWORK_STATUS,
    POD_NETWORKS,
    SRIOV_RESOURCE,
    VHOST_NET,
    Attachment,
    ClusterNode,
    ClusterPod,
    CniPlugin,
    Condition,
    KubeVirtSettings,
    ObjectOwner,
    UserNetwork,
)
from vnicaudit.platforms.kubevirt import interfaces
from vnicaudit.platforms.kubevirt.objects import (
    Object,
    boolean_at,
    items_at,
    location_of,
    names_at,
    place_at,
    text_at,
)
from vnicaudit.text.yaml_nodes import YamlPlace

_LONGEST_CONFIG = 64 * 1024
_SHORT_CONFIG = 4096
"""The longest configuration that is kept, to be corrected."""
_QUANTITY = re.compile(r"(\d{1,12})([kMG]?)")
_SCALE = {"": 1, "k": 1000, "M": 1000_000, "G": 1000_000_000}
_KEPT = (
    "topology", "mtu", "vlan", "vlanID", "subnets", "excludeSubnets", "netAttachDefName",
    "physicalNetworkName", "role", "bridge", "device", "master", "hwaddr", "kernelpath",
    "pciBusID", "mode",
)  # fmt: skip
"""Settings of a CNI plugin that are kept."""
_SCHEDULABLE = "kubevirt.io/schedulable"
ENDED = ("Succeeded", "Failed")
"""Phases of a pod, and of an instance, that has ended."""


def metadata_of(place: YamlPlace) -> Marks:
    """Labels, annotations and owners of an object."""
    return Marks(
        texts_of(place.at("metadata", "labels")),
        texts_of(place.at("metadata", "annotations")),
        tuple(references_of(place)),
    )


def references_of(place: YamlPlace | None) -> Iterator[OwnerReference]:
    """The entries of ``ownerReferences`` of an object."""
    for each in items_at(place, "metadata", "ownerReferences"):
        kind, name, uid = (text_at(each, key) or "" for key in ("kind", "name", "uid"))
        yield OwnerReference(kind, name, uid, bool(boolean_at(each, "controller")))


class _Ownership(TypedDict):
    uid: str
    owners: tuple[ObjectOwner, ...]
    marks: tuple[str, ...]


def ownership_of(place: YamlPlace) -> _Ownership:
    """The fields of :class:`~vnicaudit.model.cluster.OwnedObject`."""
    marks, uid = metadata_of(place), text_at(place, "metadata", "uid")
    names = (*marks.labels, *marks.annotations)
    return {"uid": uid or "", "owners": owners_of(marks), "marks": names}


def node_of(found: Object, target: str) -> ClusterNode:
    """A Node."""
    offered = found.place.at("status", "allocatable")
    labels = texts_of(found.place.at("metadata", "labels"))
    return ClusterNode(
        name=found.name or "",
        location=location_of(found.place, target),
        schedulable=labels.get(_SCHEDULABLE) == "true",
        cordoned=bool(boolean_at(found.place, "spec", "unschedulable")),
        arch=labels.get("kubernetes.io/arch"),
        allocatable=None
        if offered is None
        else {name: _count(text) for name, text in texts_of(offered).items() if "/" in name},
    )


def _count(quantity: str) -> int:
    """``1k`` -> 1000. Of a form that is not known only that there is something is kept."""
    match = _QUANTITY.fullmatch(quantity)
    return 1 if match is None else int(match[1]) * _SCALE[match[2]]


def settings_of(found: Object, target: str) -> KubeVirtSettings:
    """A KubeVirt."""
    place = found.place.at("spec", "configuration")
    developer = place_at(place, "developerConfiguration")
    bindings = place_at(place, "network", "binding")
    return KubeVirtSettings(
        name=found.name or "",
        namespace=found.namespace or "",
        location=location_of(found.place, target),
        version=interfaces.settings_of(found).version,
        emulation=bool(boolean_at(developer, "useEmulation")),
        gates=frozenset(each.text or "" for each in items_at(developer, "featureGates")),
        bindings={
            name: place_at(bindings, name, "migration") is not None for name in names_at(bindings)
        },
        rollout=text_at(place, "vmRolloutStrategy"),
        eviction=text_at(place, "evictionStrategy"),
        **ownership_of(found.place),
    )


def attachment_of(found: Object, target: str) -> Attachment:
    """A NetworkAttachmentDefinition."""
    config = found.place.at("spec", "config")
    known = Attachment(
        name=found.name or "",
        namespace=found.namespace or "",
        location=location_of(config or found.place.at("metadata", "name") or found.place, target),
        resource=text_at(found.place, "metadata", "annotations", SRIOV_RESOURCE) or "",
        **ownership_of(found.place),
        is_empty=config is None or config.text == "",
        is_certain=config is None or config.text is not None,
    )
    text = None if config is None else config.text
    return _with_config(known, text) if text else known


def _with_config(known: Attachment, text: str) -> Attachment:
    known = replace(known, config=text if len(text) <= _SHORT_CONFIG else "")
    if len(text) > _LONGEST_CONFIG:
        return replace(known, is_certain=False)
    try:
        return _with_settings(known, json.loads(text))
    except json.JSONDecodeError as error:
        return replace(known, fault=f"is not JSON (line {error.lineno}, column {error.colno})")
    except (ValueError, RecursionError):  # a number of thousands of digits
        return replace(known, fault="is not JSON that can be read")


def _with_settings(known: Attachment, data: object) -> Attachment:
    if not isinstance(data, dict):
        return replace(known, fault="is no JSON object")
    plugins = data.get("plugins")
    if plugins is None:
        plugins = [data]
    if not isinstance(plugins, list):
        return replace(known, fault="has plugins that are no list")
    objects = [each for each in plugins if isinstance(each, dict)]
    if not all(isinstance(each.get("type", ""), str | None) for each in objects):
        return replace(known, fault="has a type that is no string")
    return replace(known, network=_text(data.get("name")), plugins=tuple(map(_plugin, objects)))


def _plugin(data: dict[str, object]) -> CniPlugin:
    settings = {key: _text(data[key]) for key in _KEPT if data.get(key) not in (None, "", [])}
    return CniPlugin(
        type=_text(data.get("type")) or None, settings=settings, has_ipam=bool(data.get("ipam"))
    )


def _text(value: object) -> str:
    """Text as it is; anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def migration_runs(migration: Object) -> bool:
    """True for a Migration of Forklift that has begun and not ended (``Timed`` in
    pkg/apis/forklift/v1beta1/plan)."""
    began, ended = (migration.place.at("status", key) for key in ("started", "completed"))
    return began is not None and ended is None


def pod_of(found: Object) -> ClusterPod | None:
    """A pod; None if it ends or has ended."""
    place = found.place
    leaves = place.at("metadata", "deletionTimestamp") is not None
    if leaves or text_at(place, "status", "phase") in ENDED:
        return None
    space = found.namespace or ""
    annotations = place.at("metadata", "annotations")
    told = {key: text_at(annotations, key) or "" for key in (POD_NETWORKS, NETWORK_STATUS)}
    unread = next((key for key, text in told.items() if len(text) > _LONGEST_CONFIG), "")
    return ClusterPod(
        name=found.name or "",
        namespace=space,
        node=text_at(place, "spec", "nodeName") or "",
        networks=()
        if unread == POD_NETWORKS
        else tuple(_attachments_in(told[POD_NETWORKS], space)),
        unread=unread,
    )


def _attachments_in(text: str, namespace: str) -> Iterator[str]:
    """The attachments of a pod's annotation: JSON, or ``ns/name@interface`` with commas between
    them (``parsePodNetworkAnnotation`` in Multus' pkg/k8sclient/k8sclient.go)."""
    if not any(mark in text for mark in '[{"'):
        for each in filter(None, (part.strip() for part in text.split(","))):
            name = each.partition("@")[0]
            yield name if "/" in name else f"{namespace}/{name}"
        return
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    for item in data if isinstance(data, list) else []:
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            space = item.get("namespace")
            yield f"{space if isinstance(space, str) and space else namespace}/{item['name']}"


class Launcher(NamedTuple):
    """The pod of an instance."""

    uid: str = ""
    """Of the instance."""
    node: str = ""
    name: str = ""
    vhost: bool | None = None
    """It has ``/dev/vhost-net``; None: it has no KVM either, or is not known."""
    mtus: Mapping[str, int] = {}
    """Network -> the MTU of its interface, as Multus tells it."""


def launcher_of(found: Object) -> Launcher | None:
    """The launcher that a pod is; None: it is none.

    Source: ``getRequiredResources`` in ``pkg/virt-controller/services/renderresources.go`` of
    KubeVirt 1.9: KVM is asked for unless emulation is allowed, vhost-net too for a virtio NIC.
    """
    place = found.place
    if text_at(place, "metadata", "labels", "kubevirt.io") != "virt-launcher":
        return None
    owners = references_of(place)
    uid = next((one.uid for one in owners if one.kind == "VirtualMachineInstance"), "")
    containers = items_at(place, "spec", "containers")
    limits = [each.at("resources", "limits") for each in containers]
    asked = {name for each in limits if each is not None for name in each.names()}
    text = text_at(place, "metadata", "annotations", NETWORK_STATUS) or ""
    return Launcher(
        uid=uid,
        node=text_at(place, "spec", "nodeName") or "",
        name=found.name or "",
        vhost=VHOST_NET in asked if KVM in asked else None,
        mtus=_mtus_in(text) if len(text) <= _LONGEST_CONFIG else {},
    )


def _mtus_in(text: str) -> dict[str, int]:
    """The MTUs in Multus' annotation on the interfaces of a pod; not of a network of which it has
    two that differ (``NetworkStatus`` in network-attachment-definition-client)."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    found: dict[str, set[int]] = {}
    for each in entries if isinstance(entries, list) else []:
        name, mtu = (each.get("name"), each.get("mtu")) if isinstance(each, dict) else (None, None)
        if isinstance(name, str) and isinstance(mtu, int) and mtu > 0:
            found.setdefault(name, set()).add(mtu)
    return {name: mtus.pop() for name, mtus in found.items() if len(mtus) == 1}


def user_network_of(found: Object) -> UserNetwork:
    """A UserDefinedNetwork or ClusterUserDefinedNetwork."""
    created = (each for each in conditions_of(found.place) if each.type == "NetworkCreated")
    ready = next((each.on for each in created), None)
    return UserNetwork(name=found.name or "", namespace=found.namespace or "", ready=ready)


def is_conditional(found: Object) -> bool | None:
    """True if conditions (in CEL) decide whose domains a Plugin of KubeVirt rewrites; None: it
    rewrites none."""
    hooked = items_at(found.place, "spec", "domainHooks")
    if not hooked:
        return None
    always = any(each.child("condition") is None for each in hooked)
    return found.place.at("spec", "condition") is not None or not always


def preferred_of(spec: YamlPlace | None) -> dict[str, str]:
    """The NIC fields of a preference's spec, as text."""
    found = {name: place_at(spec, "devices", name) for name in PREFERRED}
    return {name: place.text or "{}" for name, place in found.items() if place is not None}


PREFERRED = (
    "preferredInterfaceModel", "preferredNetworkInterfaceMultiQueue",
    "preferredUseVirtioTransitional", "preferredInterfaceMasquerade",
)  # fmt: skip


def conditions_of(place: YamlPlace, now: datetime | None = None) -> Iterator[Condition]:
    """The conditions of an object's status, read at a time."""
    for each in items_at(place, "status", "conditions"):
        yield Condition(
            type=text_at(each, "type") or "",
            on={"True": True, "False": False}.get(text_at(each, "status") or ""),
            reason=text_at(each, "reason") or "",
            age=seconds_between(text_at(each, "lastTransitionTime"), now),
        )


def seconds_between(created: str | None, now: datetime | None) -> int | None:
    """Seconds from a time of Kubernetes until now; None if either is not known."""
    if created is None or now is None:
        return None
    try:
        then = datetime.fromisoformat(created.replace("Z", "+00:00"))
    except ValueError:
        return None
    return None if then.tzinfo is None else int((now - then).total_seconds())


def texts_of(place: YamlPlace | None) -> dict[str, str]:
    """The texts in a mapping."""
    texts = ((name, text_at(place, name)) for name in names_at(place))
    return {name: text for name, text in texts if text is not None}
